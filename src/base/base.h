// base: what every module stands on. Results that cannot be dropped, errors that say what to do, small text and number
// helpers. No I/O, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace vigil {

// What kind of failure it is. Code decides by this, never by the message.
enum class ErrorCode : std::uint8_t {
  kInvalid,       // an argument, option or setting that cannot be used
  kNotFound,      // no such file, directory or id
  kPermission,    // not allowed to read or write it
  kIo,            // the system failed to read or write
  kEmpty,         // a file of no bytes
  kUnrecognised,  // content that no reader recognises
  kUnsupported,   // recognised, and not read by this version
  kNoData,        // read to its end without a metric, event or setting
  kCorrupt,       // damaged or truncated content
  kLimit,         // larger, deeper or more than the limits allow
  kBusy,          // held by another process
  kInternal,      // anything else
};
std::string_view Name(ErrorCode code);

// An expected failure. The message says what was expected, what was found, and what to do about it; the file and the
// place in it are fields of their own, so that callers need not take sentences apart.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string path;                     // empty when it is about no file
  std::optional<std::uint64_t> offset;  // in bytes from the start of the file
  std::string message;

  // "train.log: byte 4096: message": for people.
  std::string Text() const;
};

// A value or an Error. Dropping one is a compile error (warnings are errors).
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, {}, std::nullopt, std::move(message)});
}
inline tl::unexpected<Error> Fail(ErrorCode code, std::string path, std::string message,
                                  std::optional<std::uint64_t> offset = std::nullopt) {
  return tl::unexpected<Error>(Error{code, std::move(path), offset, std::move(message)});
}
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// ---- text

std::string_view Trim(std::string_view text);
bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix);
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
std::string ToLower(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// `text` with invalid UTF-8 bytes replaced by U+FFFD, everything else kept: safe for JSON.
std::string ValidUtf8(std::string_view text);
// `text` with invalid UTF-8 bytes replaced by U+FFFD, control characters other than tab removed, and so the characters
// that reorder or break a line without being seen: safe for a terminal.
std::string Printable(std::string_view text);

// Columns that `text` (UTF-8) takes on a terminal; East Asian wide characters count two, combining marks none.
std::size_t DisplayWidth(std::string_view text);

// The candidates nearest to `wanted` by edit distance, best first, at most `most`, none that share nothing with it.
std::vector<std::string> NearestNames(std::string_view wanted, const std::vector<std::string>& candidates,
                                      std::size_t most = 3);

struct LineFault {
  std::size_t line = 0;  // from 1
  std::string_view what;
};
// What no TOML has and what the parser that we use takes for granted not to meet (its assertions would end the
// process), or what is nested so deep that the stack might not hold it. Text that passes can still be no TOML: the
// parser says so.
struct TomlLimits {
  std::size_t most_key_parts = 32;  // a.b.c has three
  std::size_t most_brackets = 32;   // open at once
};
std::optional<LineFault> FaultOfToml(std::string_view text, const TomlLimits& limits = {});

// ---- numbers

// The whole of `text` (trimmed) as a number. Accepts what trainers print: 1e-5, 1,234.5 (thousands), nan, NaN, inf,
// -Infinity, +3. A number too large for a double is +-infinity; anything else is nullopt.
std::optional<double> ParseNumber(std::string_view text);
// The longest prefix of `text` that is a number in plain C notation or a non-finite word (also nan(ind), as Windows
// writes it); `used` is its length. Too large or too small for a double is +-infinity or 0.
std::optional<double> ParseNumberPrefix(std::string_view text, std::size_t& used);
std::optional<std::int64_t> ParseInteger(std::string_view text);
// The whole of `text` as hexadecimal digits, at most 16 that count.
std::optional<std::uint64_t> ParseHex(std::string_view text);

// Four significant digits, the way people read metrics: 2.557, 0.0009519, 5e-05, 1.2e+06, nan, inf, -inf.
std::string FormatNumber(double value);
// Shortest text that reads back to the same double; non-finite as nan, inf, -inf.
std::string FormatExact(double value);
// 1234567 -> "1,234,567".
std::string FormatCount(std::uint64_t value);
// 1536 -> "1.5 KiB".
std::string FormatBytes(std::uint64_t bytes);

// a + b or a * b, nullopt when the result does not fit.
std::optional<std::uint64_t> CheckedAdd(std::uint64_t a, std::uint64_t b);
std::optional<std::uint64_t> CheckedMultiply(std::uint64_t a, std::uint64_t b);

}  // namespace vigil
