#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/base.h"
#include "ingest/secret_shapes.h"
#include "ingest/secrets.h"

namespace vigil::ingest {
namespace {

enum class NameKind : std::uint8_t {
  kNone,
  kPassword,  // whatever is assigned to it
  kKey,       // the same, but for small numbers
  kVague,     // names settings as well: what is no word
  kToken,     // names tokens of text as well: what looks random
};

struct SecretName {
  std::string_view words;  // the last words of a name, without what stands between them
  NameKind kind;
};
constexpr std::array kNames = {
    SecretName{"password", NameKind::kPassword},   SecretName{"passwd", NameKind::kPassword},
    SecretName{"passphrase", NameKind::kPassword}, SecretName{"pwd", NameKind::kPassword},
    SecretName{"apikey", NameKind::kKey},          SecretName{"apitoken", NameKind::kKey},
    SecretName{"apisecret", NameKind::kKey},       SecretName{"secretkey", NameKind::kKey},
    SecretName{"secretaccesskey", NameKind::kKey}, SecretName{"accesskey", NameKind::kKey},
    SecretName{"accesskeyid", NameKind::kKey},     SecretName{"accesstoken", NameKind::kKey},
    SecretName{"authtoken", NameKind::kKey},       SecretName{"refreshtoken", NameKind::kKey},
    SecretName{"bearertoken", NameKind::kKey},     SecretName{"hubtoken", NameKind::kKey},
    SecretName{"hftoken", NameKind::kKey},         SecretName{"privatekey", NameKind::kKey},
    SecretName{"accountkey", NameKind::kKey},      SecretName{"clientsecret", NameKind::kKey},
    SecretName{"appsecret", NameKind::kKey},       SecretName{"secret", NameKind::kVague},
    SecretName{"secrets", NameKind::kVague},       SecretName{"credential", NameKind::kVague},
    SecretName{"credentials", NameKind::kVague},   SecretName{"token", NameKind::kToken},
    SecretName{"sig", NameKind::kToken},           SecretName{"signature", NameKind::kToken},
    SecretName{"secrettoken", NameKind::kKey},     SecretName{"sessiontoken", NameKind::kKey},
    SecretName{"securitytoken", NameKind::kKey},
};
constexpr std::size_t kMostWords = 3;
constexpr std::size_t kLongestName = 64;
// Values are judged by their beginning, so that a text of many names and no end of a value costs no more.
constexpr std::size_t kJudged = 1024;

bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }

// A new word begins at a capital behind a small letter, and at the last of several capitals: apiKey, APIKey.
bool BeginsWordInName(std::string_view name, std::size_t at) {
  if (at == 0 || !IsAlphanumeric(name[at - 1])) return true;
  if (!IsUpperCase(name[at])) return false;
  return !IsUpperCase(name[at - 1]) || (at + 1 < name.size() && IsLowerCase(name[at + 1]));
}

// By the last one, two and three words of the name; the longest that is known decides.
NameKind KindOf(std::string_view name) {
  NameKind kind = NameKind::kNone;
  std::string joined;
  std::size_t words = 0;
  for (std::size_t at = name.size(); at-- > 0 && words < kMostWords;) {
    if (!IsAlphanumeric(name[at])) continue;
    joined.insert(joined.begin(), IsUpperCase(name[at]) ? static_cast<char>(name[at] + ('a' - 'A')) : name[at]);
    if (!BeginsWordInName(name, at)) continue;
    ++words;
    const auto known = std::find_if(kNames.begin(), kNames.end(), [&](const auto& row) { return row.words == joined; });
    if (known != kNames.end()) kind = known->kind;
  }
  return kind;
}

// Nearly every name ends with another letter.
bool MayEndAName(char c) {
  constexpr std::string_view kLast = "yYtTsSdDeEnNlLgG";
  return kLast.find(c) != std::string_view::npos;
}

// The name that ends before `end`, quoted or not; "API key" is one of two words.
std::string_view NameBefore(std::string_view text, std::size_t end) {
  constexpr std::size_t kMostBetween = 6;
  const std::size_t furthest = end > kMostBetween ? end - kMostBetween : 0;
  while (end > furthest &&
         (IsSpace(text[end - 1]) || IsQuote(text[end - 1]) || text[end - 1] == '\\' || text[end - 1] == ']'))
    --end;
  if (end == 0 || !MayEndAName(text[end - 1])) return {};
  const std::size_t first = end > kLongestName ? end - kLongestName : 0;
  std::size_t begin = end;
  bool spaced = false;
  while (begin > first) {
    const char c = text[begin - 1];
    if (c == ' ' && !spaced && begin < end) {
      spaced = true;
    } else if (!IsNameCharacter(c)) {
      break;
    }
    --begin;
  }
  return text.substr(begin, end - begin);
}

struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool quoted = false;
  std::string_view in(std::string_view text) const { return text.substr(begin, std::min(end - begin, kJudged)); }
};

std::size_t SkipSpaces(std::string_view text, std::size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

bool EndsValue(char c, NameKind kind) {
  constexpr std::string_view kEnds = "\"'`;&<>{}()[]|\\";
  if (static_cast<unsigned char>(c) <= ' ' || kEnds.find(c) != std::string_view::npos) return true;
  return c == ',' && kind != NameKind::kPassword;
}

// A value in quotes goes up to the same quotes, which are escaped in JSON within JSON.
bool TakeQuoted(std::string_view text, Value& value) {
  const std::size_t escapes = text.substr(value.begin).find_first_not_of('\\');
  if (escapes > 3 || !IsQuote(text[value.begin + escapes])) return false;
  const std::string_view quotes = text.substr(value.begin, escapes + 1);
  const std::size_t begin = value.begin + quotes.size();
  const std::string_view inside = text.substr(begin, kJudged);
  const std::size_t line = inside.find('\n');
  for (std::size_t end = inside.find(quotes); end < line; end = inside.find(quotes, end + 1)) {
    if (escapes == 0 && end > 0 && inside[end - 1] == '\\') continue;
    value = {begin, begin + end, true};
    return true;
  }
  value.begin = begin;  // cut off
  return false;
}

Value ValueAt(std::string_view text, std::size_t at, NameKind kind) {
  Value value = {at, at, false};
  if (TakeQuoted(text, value)) return value;
  value.end = value.begin;
  const std::size_t furthest = std::min(text.size(), value.begin + kJudged);
  while (value.end < furthest && !EndsValue(text[value.end], kind)) ++value.end;
  while (value.end > value.begin && (text[value.end - 1] == ',' || text[value.end - 1] == '.')) --value.end;
  return value;
}

bool IsNothing(std::string_view value) {
  constexpr std::array<std::string_view, 5> kNothing = {"none", "null", "true", "false", "undefined"};
  const std::string lower = ToLower(Trim(value));
  if (lower.empty() || lower == kMasked) return true;
  if (std::find(kNothing.begin(), kNothing.end(), lower) != kNothing.end()) return true;
  if (lower.front() == '<' && lower.back() == '>') return true;  // a placeholder, or a special token
  // Stars, or as many x: masked by others.
  return std::all_of(lower.begin(), lower.end(), [&](char c) { return c == lower.front() && !IsDecimal(c); });
}

// Keys in base64 hold slashes and may begin with one, but look random.
bool IsPath(std::string_view value) {
  constexpr std::size_t kShortestKey = 32;
  if (value.find("://") != std::string_view::npos) return true;
  const bool begins = value.starts_with('/') || value.starts_with("./") || value.starts_with("../") ||
                      value.starts_with("~/") || (value.size() > 2 && value.substr(1, 2) == ":\\");
  if (!begins) return false;
  return value.size() < kShortestKey || value.find('.') != std::string_view::npos || !LooksRandom(value);
}

// Letters with few capitals, then at most a short number: tensor, TensorParallel, gpt2, v100.
bool IsWord(std::string_view part) {
  constexpr std::size_t kMostDigits = 4;
  std::size_t letters = part.size();
  while (letters > 0 && IsDecimal(part[letters - 1])) --letters;
  if (part.size() - letters > kMostDigits) return false;
  part = part.substr(0, letters);
  if (!std::all_of(part.begin(), part.end(), [](char c) { return IsLowerCase(c) || IsUpperCase(c); })) return false;
  return !LooksRandom(part);
}

bool AreWords(std::string_view value, std::string_view between) {
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find_first_of(between, begin), value.size());
    if (!IsWord(value.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

// A variable of the shell or of a configuration, a comparison, or a member of an object.
bool IsExpression(std::string_view written) {
  if (written.starts_with('$') || written.starts_with('=')) return true;
  return written.find('.') != std::string_view::npos && AreWords(written, "._");
}

// An expression instead of a value: in tracebacks and in the source that they quote.
bool IsCode(std::string_view text, const Value& value) {
  if (value.quoted) return false;
  const std::string_view written = value.in(text);
  if (value.end < text.size() && std::string_view("([{").find(text[value.end]) != std::string_view::npos) return true;
  return IsExpression(written) || (AreWords(written, "._") && KindOf(written) != NameKind::kNone);
}

// "password: authentication failed for user": a sentence goes on behind the colon.
bool IsProse(std::string_view text, const Value& value) {
  const std::string_view written = value.in(text);
  if (value.quoted || !std::all_of(written.begin(), written.end(), IsLowerCase)) return false;
  if (value.end >= text.size()) return false;
  if (text[value.end] == '.') return true;
  return text[value.end] == ' ' && value.end + 1 < text.size() && IsAlphanumeric(text[value.end + 1]);
}

bool HasTokenAlphabet(std::string_view value) {
  constexpr std::string_view kOthers = "_-.%+/=~";
  return std::all_of(value.begin(), value.end(),
                     [&](char c) { return IsAlphanumeric(c) || kOthers.find(c) != std::string_view::npos; });
}

bool IsSecretValue(NameKind kind, std::string_view value) {
  constexpr std::size_t kShortestVague = 8;
  constexpr std::size_t kShortestToken = 16;
  constexpr std::size_t kShortestKey = 6;
  if (IsNothing(value) || IsPath(value)) return false;
  switch (kind) {
    case NameKind::kNone:
      return false;
    case NameKind::kPassword:
      return true;
    case NameKind::kKey:
      return value.size() >= kShortestKey;
    case NameKind::kVague:
      return value.size() >= kShortestVague && !ParseNumber(value) && !AreWords(value, "_-. ");
    case NameKind::kToken:
      return value.size() >= kShortestToken && HasTokenAlphabet(value) &&
             (LooksRandom(value) || HasRandomStretch(value));
  }
  return false;
}

// Looks for names and what is assigned to them, from the beginning to the end of a text.
class NamedSecrets {
 public:
  NamedSecrets(std::string_view text, TextSpans& found) : text_(text), found_(found) {}

  void Find() {
    for (std::size_t at = 0; at < text_.size();) {
      const char c = text_[at];
      std::size_t next = at + 1;
      if (c == '=' || c == ':') next = std::max(next, Assigned(at));
      if (c == '-' && text_.substr(at, 2) == "--") next = std::max(next, Option(at));
      at = next;
    }
    FindBearers();
    FindLogins();
  }

 private:
  // Each returns where to go on: behind what was masked, or 0.
  std::size_t Assigned(std::size_t separator) {
    const std::string_view name = NameBefore(text_, separator);
    if (name.empty()) return 0;
    const NameKind kind = KindOf(name);
    std::size_t at = SkipSpaces(text_, separator + 1);
    if (kind == NameKind::kNone) return EndsWithWord(name, "authorization") ? Header(at) : 0;
    const Value value = ValueAt(text_, at, kind);
    if (text_[separator] == ':' && IsProse(text_, value)) return 0;
    return MaskIfSecret(kind, value);
  }

  // `--api-key VALUE`, also as elements of a list: "--api-key", "VALUE".
  std::size_t Option(std::size_t dashes) {
    if (dashes > 0 && (IsNameCharacter(text_[dashes - 1]))) return 0;
    const std::size_t begin = dashes + 2;
    std::size_t end = begin;
    while (end < text_.size() && end - begin < kLongestName && IsNameCharacter(text_[end])) ++end;
    if (end == begin || !MayEndAName(text_[end - 1])) return 0;
    const NameKind kind = KindOf(text_.substr(begin, end - begin));
    if (kind == NameKind::kNone) return 0;
    std::size_t at = end;
    while (at < text_.size() && at - end < 3 && (IsQuote(text_[at]) || text_[at] == '\\')) ++at;
    if (at < text_.size() && text_[at] == ',') ++at;
    const std::size_t value = SkipSpaces(text_, at);
    if (value == end || text_.substr(value, 1) == "-" || text_.substr(value, 1) == "=") return 0;
    return MaskIfSecret(kind, ValueAt(text_, value, kind));
  }

  std::size_t MaskIfSecret(NameKind kind, const Value& value) {
    constexpr std::size_t kShortest = 4;  // below it stand types and units
    const std::string_view written = value.in(text_);
    if (!value.quoted && written.size() < kShortest) return 0;
    if (IsCode(text_, value) || !IsSecretValue(kind, written)) return 0;
    std::size_t end = value.end;
    while (!value.quoted && written.size() == kJudged && end < text_.size() && !EndsValue(text_[end], kind)) ++end;
    return Mask(value.begin, end);
  }

  std::size_t Mask(std::size_t begin, std::size_t end) {
    found_.push_back({begin, end});
    return end;
  }

  static bool EndsWithWord(std::string_view name, std::string_view word) {
    return name.size() >= word.size() && ToLower(name.substr(name.size() - word.size())) == word;
  }

  // "Authorization: Bearer VALUE": the scheme stays.
  std::size_t Header(std::size_t at) {
    constexpr std::size_t kShortest = 8;
    while (at < text_.size() && (IsQuote(text_[at]) || text_[at] == '\\')) ++at;
    std::size_t scheme = at;
    while (scheme < text_.size() && (IsLowerCase(text_[scheme]) || IsUpperCase(text_[scheme]))) ++scheme;
    if (scheme < text_.size() && text_[scheme] == ' ') at = SkipSpaces(text_, scheme);
    const Value value = ValueAt(text_, at, NameKind::kKey);
    if (value.end - value.begin < kShortest || IsCode(text_, value) || AreWords(value.in(text_), "_-. ")) return 0;
    return Mask(value.begin, value.end);
  }

  void FindBearers() {
    constexpr std::string_view kBearer = "earer ";
    for (std::size_t at = text_.find(kBearer); at != std::string_view::npos; at = text_.find(kBearer, at + 1)) {
      const Value value = ValueAt(text_, SkipSpaces(text_, at + kBearer.size()), NameKind::kToken);
      if (!IsCode(text_, value) && IsSecretValue(NameKind::kToken, value.in(text_))) Mask(value.begin, value.end);
    }
  }

  // `wandb login [--relogin] KEY`.
  void FindLogins() {
    constexpr std::string_view kLogin = "wandb login ";
    constexpr int kMostOptions = 4;
    constexpr std::size_t kShortestKey = 32;  // what else stands there are words of a sentence
    for (std::size_t at = text_.find(kLogin); at != std::string_view::npos; at = text_.find(kLogin, at + 1)) {
      std::size_t begin = SkipSpaces(text_, at + kLogin.size());
      for (int options = 0; options < kMostOptions && text_.substr(begin, 1) == "-"; ++options)
        begin = SkipSpaces(text_, std::min(text_.find(' ', begin), text_.size()));
      const Value value = ValueAt(text_, begin, NameKind::kKey);
      const std::string_view written = value.in(text_);
      if (written.size() >= kShortestKey && HasTokenAlphabet(written) && IsSecretValue(NameKind::kKey, written))
        Mask(value.begin, value.end);
    }
  }

  std::string_view text_;
  TextSpans& found_;
};

}  // namespace

void FindNamed(std::string_view text, TextSpans& found) { NamedSecrets(text, found).Find(); }

bool IsSecretSetting(std::string_view key, std::string_view value) {
  if (key.empty() || !MayEndAName(key.back())) return false;
  const std::string_view written = Trim(value);
  const NameKind kind = KindOf(key);
  if (kind == NameKind::kNone || IsExpression(written)) return false;
  constexpr std::size_t kShortestNumber = 8;
  if (kind == NameKind::kKey && written.size() < kShortestNumber && ParseNumber(written)) return false;
  return IsSecretValue(kind, written.substr(0, kJudged));
}

}  // namespace vigil::ingest
