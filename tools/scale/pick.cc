#include "scale/pick.h"

#include <algorithm>
#include <array>
#include <map>

namespace vigil::scale {
namespace {

enum Stratum : std::uint8_t { kWithError, kWithWarning, kSilent };

Stratum StratumOf(const Verdict& verdict) {
  if (verdict.findings.empty() || verdict.findings.front().severity < model::Severity::kWarning) return kSilent;
  return verdict.findings.front().severity >= model::Severity::kError ? kWithError : kWithWarning;
}

// By the most severe finding.
using Kinds = std::map<std::string, std::vector<std::string>>;

void TakeInTurn(const Kinds& kinds, std::size_t count, std::vector<std::string>& ids) {
  const std::size_t most = ids.size() + count;
  std::size_t longest = 0;
  for (const auto& [kind, members] : kinds) longest = std::max(longest, members.size());
  for (std::size_t turn = 0; turn < longest; ++turn) {
    for (const auto& [kind, members] : kinds) {
      if (ids.size() == most) return;
      // Neighbours share a group: the members are taken from the whole length of the set.
      if (turn < members.size()) ids.push_back(members[turn * 7919 % members.size()]);
    }
  }
}

}  // namespace

std::vector<std::string> PickForTwins(const std::vector<Candidate>& candidates, std::size_t count) {
  std::array<Kinds, 3> strata;
  for (const Candidate& candidate : candidates) {
    const Stratum stratum = StratumOf(candidate.verdict);
    const std::string kind = stratum == kSilent ? "" : candidate.verdict.findings.front().id;
    strata[stratum][kind].push_back(candidate.id);
  }
  std::vector<std::string> ids;
  TakeInTurn(strata[kWithError], count - count / 2, ids);
  TakeInTurn(strata[kWithWarning], count / 4, ids);
  TakeInTurn(strata[kSilent], count / 2 - count / 4, ids);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace vigil::scale
