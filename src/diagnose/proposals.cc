// What the proposals of remedies share, and the table of all of them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {

std::string Rounded(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 2);
  return {digits.data(), end.ptr};
}

std::string Whole(double value) { return std::to_string(std::llround(value)); }

std::string StatedValue(const RunView& run, std::string_view key) {
  const model::Fact* fact = run.FindFact(key);
  return fact == nullptr ? std::string() : fact->value;
}

Propose FindProposal(std::string_view name) {
  for (const auto table : {RateProposals(), MemoryProposals(), OtherProposals()}) {
    const auto at =
        std::find_if(table.begin(), table.end(), [&](const NamedProposal& named) { return named.name == name; });
    if (at != table.end()) return at->propose;
  }
  return nullptr;
}

std::vector<std::string_view> ProposalNames() {
  std::vector<std::string_view> names;
  for (const auto table : {RateProposals(), MemoryProposals(), OtherProposals()}) {
    for (const NamedProposal& named : table) names.push_back(named.name);
  }
  return names;
}

}  // namespace vigil::diagnose
