#include <algorithm>
#include <array>
#include <cstdint>

#include "ingest/secret_shapes.h"

namespace vigil::ingest {
namespace {

enum class Alphabet : std::uint8_t { kAlphanumeric, kWithUnderscore, kWithDash, kCapitals };

bool IsIn(Alphabet alphabet, char c) {
  switch (alphabet) {
    case Alphabet::kAlphanumeric:
      return IsAlphanumeric(c);
    case Alphabet::kWithUnderscore:
      return IsAlphanumeric(c) || c == '_';
    case Alphabet::kWithDash:
      return IsAlphanumeric(c) || c == '_' || c == '-';
    case Alphabet::kCapitals:
      return IsUpperCase(c) || IsDecimal(c);
  }
  return false;
}

enum class Proof : std::uint8_t { kPrefix, kRandom, kDigit };

struct TokenShape {
  std::string_view prefix;
  Alphabet alphabet;
  std::size_t shortest;  // characters behind the prefix
  std::size_t longest;   // 0: any number
  Proof proof;           // what else is asked for, where names of files and data sets begin with the prefix too
};

// Of one beginning, the longer prefix comes first.
constexpr std::array kShapes = {
    TokenShape{"hf_", Alphabet::kAlphanumeric, 20, 0, Proof::kRandom},
    TokenShape{"api_org_", Alphabet::kAlphanumeric, 20, 0, Proof::kRandom},
    TokenShape{"sk-proj-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"sk-ant-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"sk-or-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"sk-svcacct-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"sk-admin-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"sk-", Alphabet::kAlphanumeric, 20, 0, Proof::kRandom},
    TokenShape{"ghp_", Alphabet::kAlphanumeric, 30, 0, Proof::kPrefix},
    TokenShape{"gho_", Alphabet::kAlphanumeric, 30, 0, Proof::kPrefix},
    TokenShape{"ghu_", Alphabet::kAlphanumeric, 30, 0, Proof::kPrefix},
    TokenShape{"ghs_", Alphabet::kAlphanumeric, 30, 0, Proof::kPrefix},
    TokenShape{"ghr_", Alphabet::kAlphanumeric, 30, 0, Proof::kPrefix},
    TokenShape{"github_pat_", Alphabet::kWithUnderscore, 30, 0, Proof::kPrefix},
    TokenShape{"glpat-", Alphabet::kWithDash, 20, 0, Proof::kPrefix},
    TokenShape{"AKIA", Alphabet::kCapitals, 16, 16, Proof::kPrefix},
    TokenShape{"ASIA", Alphabet::kCapitals, 16, 16, Proof::kDigit},
    TokenShape{"AIza", Alphabet::kWithDash, 35, 0, Proof::kPrefix},
    TokenShape{"xoxa-", Alphabet::kWithDash, 10, 0, Proof::kPrefix},
    TokenShape{"xoxb-", Alphabet::kWithDash, 10, 0, Proof::kPrefix},
    TokenShape{"xoxp-", Alphabet::kWithDash, 10, 0, Proof::kPrefix},
    TokenShape{"xoxr-", Alphabet::kWithDash, 10, 0, Proof::kPrefix},
    TokenShape{"xoxs-", Alphabet::kWithDash, 10, 0, Proof::kPrefix},
    TokenShape{"npm_", Alphabet::kAlphanumeric, 36, 0, Proof::kRandom},
    TokenShape{"pypi-", Alphabet::kWithDash, 50, 0, Proof::kRandom},
    TokenShape{"wandb_v1_", Alphabet::kWithUnderscore, 20, 0, Proof::kRandom},
    TokenShape{"nvapi-", Alphabet::kWithDash, 20, 0, Proof::kRandom},
    TokenShape{"gsk_", Alphabet::kAlphanumeric, 20, 0, Proof::kRandom},
    TokenShape{"r8_", Alphabet::kAlphanumeric, 30, 0, Proof::kRandom},
};

// One look at a character says for nearly every place of a text that no token begins there.
constexpr std::array<bool, 256> FirstCharacters() {
  std::array<bool, 256> first = {};
  for (const TokenShape& shape : kShapes) first[static_cast<unsigned char>(shape.prefix.front())] = true;
  first[static_cast<unsigned char>('e')] = true;  // JWTs
  return first;
}
constexpr std::array<bool, 256> kFirst = FirstCharacters();

std::size_t EndOf(std::string_view text, std::size_t at, Alphabet alphabet) {
  while (at < text.size() && IsIn(alphabet, text[at])) ++at;
  return at;
}

// Whether a word can begin here; behind an escaped new line too, as in JSON.
bool BeginsWord(std::string_view text, std::size_t at) {
  if (at == 0 || !IsIn(Alphabet::kWithUnderscore, text[at - 1])) return true;
  constexpr std::string_view kEscaped = "nrt";
  return at > 1 && text[at - 2] == '\\' && kEscaped.find(text[at - 1]) != std::string_view::npos;
}

bool IsProven(const TokenShape& shape, std::string_view token) {
  if (token.size() < shape.shortest || (shape.longest != 0 && token.size() > shape.longest)) return false;
  if (shape.proof == Proof::kDigit) return std::any_of(token.begin(), token.end(), IsDecimal);
  return shape.proof == Proof::kPrefix || HasRandomStretch(token);
}

// Where the token that begins here ends, or `at`.
std::size_t TokenEnd(std::string_view text, std::size_t at) {
  for (const TokenShape& shape : kShapes) {
    if (!text.substr(at).starts_with(shape.prefix)) continue;
    // Only the first dash of a chain: a text of nothing but prefixes would be searched again from each of them.
    if (shape.alphabet == Alphabet::kWithDash && at > 0 && text[at - 1] == '-') continue;
    const std::size_t begin = at + shape.prefix.size();
    const std::size_t end = EndOf(text, begin, shape.alphabet);
    if (IsProven(shape, text.substr(begin, end - begin))) return end;
  }
  return at;
}

// Three parts in base64, the first of them a JSON object.
std::size_t JwtEnd(std::string_view text, std::size_t at) {
  constexpr std::array<std::size_t, 3> kShortest = {12, 10, 5};
  if (!text.substr(at).starts_with("eyJ") || (at > 0 && (text[at - 1] == '.' || text[at - 1] == '-'))) return at;
  std::size_t end = at;
  for (std::size_t part = 0; part < kShortest.size(); ++part) {
    if (part > 0 && (end >= text.size() || text[end] != '.')) return at;
    const std::size_t begin = part == 0 ? end : end + 1;
    end = EndOf(text, begin, Alphabet::kWithDash);
    if (end - begin < kShortest[part]) return at;
  }
  return end;
}

// The address is the secret.
void FindWebhooks(std::string_view text, TextSpans& found) {
  for (const std::string_view address : {"hooks.slack.com/services/", "discord.com/api/webhooks/"}) {
    for (std::size_t at = text.find(address); at != std::string_view::npos; at = text.find(address, at + 1)) {
      const std::size_t begin = at + address.size();
      std::size_t end = begin;
      while (end < text.size() && (IsIn(Alphabet::kWithDash, text[end]) || text[end] == '/')) ++end;
      if (end > begin) found.push_back({begin, end});
    }
  }
}

bool EndsAuthority(char c) {
  constexpr std::string_view kEnds = "/\"'<>`\\";
  return static_cast<unsigned char>(c) <= ' ' || kEnds.find(c) != std::string_view::npos;
}

// `authority`: what stands between :// and the path. A name and a password end at its last @, since passwords may hold
// one; but what follows a port is a query, which may hold one too.
void FindPassword(std::string_view authority, std::size_t offset, TextSpans& found) {
  constexpr std::size_t kShortestToken = 20;
  const std::size_t last = authority.rfind('@');
  if (last == std::string_view::npos) return;
  const std::size_t colon = authority.substr(0, last).find(':');
  if (colon == std::string_view::npos) {
    if (last >= kShortestToken && LooksRandom(authority.substr(0, last))) found.push_back({offset, offset + last});
    return;
  }
  const std::size_t query = authority.find_first_of("?#");
  if (query < last) {
    const std::string_view port = authority.substr(colon + 1, query < colon ? 0 : query - colon - 1);
    if (query < colon || std::all_of(port.begin(), port.end(), IsDecimal)) return;
  }
  if (last > colon + 1) found.push_back({offset + colon + 1, offset + last});
}

}  // namespace

bool LooksRandom(std::string_view text) {
  const auto class_of = [](char c) { return IsLowerCase(c) ? 1 : IsUpperCase(c) ? 2 : IsDecimal(c) ? 3 : 0; };
  std::size_t changes = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const int before = class_of(text[i - 1]);
    const int here = class_of(text[i]);
    changes += before != 0 && here != 0 && before != here ? 1 : 0;
  }
  return changes > 0 && changes * 4 >= text.size();
}

bool HasRandomStretch(std::string_view text) {
  constexpr std::size_t kShortest = 12;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = EndOf(text, begin, Alphabet::kAlphanumeric);
    if (end - begin >= kShortest && LooksRandom(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

void FindTokens(std::string_view text, TextSpans& found) {
  for (std::size_t at = 0; at < text.size();) {
    if (!kFirst[static_cast<unsigned char>(text[at])] || !BeginsWord(text, at)) {
      ++at;
      continue;
    }
    const std::size_t end = std::max(TokenEnd(text, at), JwtEnd(text, at));
    if (end > at) found.push_back({at, end});
    at = std::max(end, at + 1);
  }
}

void FindPrivateKeys(std::string_view text, TextSpans& found) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::string_view kDashes = "-----";
  constexpr std::size_t kLongestTitle = 60;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    const std::string_view title = text.substr(at + kBegin.size(), kLongestTitle);
    const std::size_t begin = at;
    at += kBegin.size();
    if (title.substr(0, title.find(kDashes)).find("PRIVATE KEY") == std::string_view::npos) continue;
    // One that is cut off is a secret as far as it goes.
    const std::size_t end = text.find(kEnd, at);
    const std::size_t dashes = end == std::string_view::npos ? end : text.find(kDashes, end + kEnd.size());
    at = dashes == std::string_view::npos ? text.size() : dashes + kDashes.size();
    found.push_back({begin, at});
  }
}

void FindInUrls(std::string_view text, TextSpans& found) {
  constexpr std::string_view kMark = "://";
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    const std::size_t begin = at + kMark.size();
    std::size_t end = begin;
    while (end < text.size() && !EndsAuthority(text[end])) ++end;
    if (at > 0 && IsAlphanumeric(text[at - 1])) FindPassword(text.substr(begin, end - begin), begin, found);
    at = begin;
  }
  FindWebhooks(text, found);
}

}  // namespace vigil::ingest
