// ingest/secret_shapes: where in a text secrets of known shapes are. Private to ingest/secrets. Linear in the length of
// the text, whatever it holds.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace vigil::ingest {

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};
using TextSpans = std::vector<TextSpan>;

// Tokens by the prefixes of those who issue them, JWTs, private keys, webhooks, and passwords in URLs.
void FindTokens(std::string_view text, TextSpans& found);
void FindPrivateKeys(std::string_view text, TextSpans& found);
void FindInUrls(std::string_view text, TextSpans& found);
// What is assigned to a name like api_key or password, passed to an option of such a name, or follows Bearer or
// `wandb login`.
void FindNamed(std::string_view text, TextSpans& found);

// Whether the key of a setting is the name of a secret, and the value one: not null, a path, or a special token.
bool IsSecretSetting(std::string_view key, std::string_view value);

// ---- what random text looks like

constexpr bool IsLowerCase(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpperCase(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAlphanumeric(char c) { return IsLowerCase(c) || IsUpperCase(c) || IsDecimal(c); }

// Whether small letters, capitals and digits alternate as they do in keys, and not in words: in random text every
// second character is of another class than the one before, in hexadecimal digits nearly so; in names of models and
// folders one of five or six.
bool LooksRandom(std::string_view text);
// The same of one stretch of at least 12 letters and digits in it: what stands between two dashes is too short in
// names.
bool HasRandomStretch(std::string_view text);

}  // namespace vigil::ingest
