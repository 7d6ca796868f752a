#include "detect/log_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/base.h"

namespace vigil::detect {
namespace {

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

bool HasWord(std::string_view text, std::string_view sign) {
  // A dash belongs to the number behind it: the 9 of "-9" is not a 9.
  const auto is_part = [](char c) { return IsAlphanumeric(c) || c == '_' || c == '-'; };
  for (std::size_t at = text.find(sign); at != std::string_view::npos; at = text.find(sign, at + 1)) {
    const std::size_t end = at + sign.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

bool NamesSignal(std::string_view text, int signal) {
  const std::string number = std::to_string(signal);
  return HasWord(text, "got signal: " + number) || HasWord(text, number + " death signal");
}

bool MentionsNonFinite(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"nan", "nans", "inf", "infs", "isnan", "isinf"};
  const std::string lower = ToLower(text);
  for (const std::string_view part : {"infinit", "finite"}) {
    if (lower.find(part) != std::string::npos) return true;
  }
  for (auto begin = lower.begin(); begin != lower.end();) {
    begin = std::find_if(begin, lower.end(), IsAlphanumeric);
    const auto end = std::find_if_not(begin, lower.end(), IsAlphanumeric);
    if (std::find(kWords.begin(), kWords.end(), std::string_view(begin, end)) != kWords.end()) return true;
    begin = end;
  }
  return false;
}

std::string CollectiveIn(std::string_view text) {
  const auto word = [&](std::string_view lead) {
    const std::size_t at = text.find(lead);
    if (at == std::string_view::npos) return std::string_view();
    const std::string_view rest = text.substr(at + lead.size());
    return rest.substr(0, rest.find_first_of(",) "));
  };
  const std::string_view number = word("SeqNum=");
  if (number.empty()) return {};
  return std::string(number).append(" ").append(word("OpType="));
}

std::optional<double> GibibytesBehind(std::string_view text, std::string_view words) {
  constexpr double kMebibytes = 1024;
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = Trim(text.substr(at + words.size()));
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(rest, used);
  const std::string_view unit = Trim(rest.substr(std::min(used, rest.size())));
  if (!value || unit.starts_with("GiB")) return value;
  if (unit.starts_with("MiB")) return *value / kMebibytes;
  return std::nullopt;
}

}  // namespace vigil::detect
