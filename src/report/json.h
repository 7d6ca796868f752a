// report/json: JSON as vigil writes it: valid UTF-8 whatever the input, null for what is unknown, non-finite numbers as
// strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::report {

// Writes one document. Commas, indentation and escapes are its own; that keys stand in objects only, and that what is
// opened is closed, is the caller's.
class JsonWriter {
 public:
  enum class Layout : std::uint8_t { kPretty, kDense };
  explicit JsonWriter(Layout layout) : pretty_(layout == Layout::kPretty) {}

  void Open() { OpenWith('{'); }
  void Close() { CloseWith('}'); }
  void OpenList() { OpenWith('['); }
  void CloseList() { CloseWith(']'); }
  void Key(std::string_view key);

  void Text(std::string_view text);
  void TextOrNull(std::string_view text) { text.empty() ? Null() : Text(text); }
  void Null() { Bare("null"); }
  void Boolean(bool value) { Bare(value ? "true" : "false"); }
  void Integer(std::int64_t value);
  void Count(std::uint64_t value);
  void StepOrNull(std::int64_t step);
  // Shortest digits that read back to the same double.
  void Number(double value);
  // Seven digits: enough for a plot, a third of the bytes.
  void Rounded(double value);

  std::string Take() { return std::move(out_); }

 private:
  void OpenWith(char bracket);
  void CloseWith(char bracket);
  void Bare(std::string_view token);
  void Quote(std::string_view text);
  // What stands before a value or a key: a comma, a new line, or nothing after a key.
  void Separate();
  void NewLine();

  bool pretty_;
  bool after_key_ = false;
  std::vector<bool> holds_something_;  // one per open bracket
  std::string out_;
};

}  // namespace vigil::report
