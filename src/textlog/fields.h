// The fields of a line of text, left to right: a name, and the number it stands before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace vigil::textlog {

struct Field {
  std::string_view name;
  double value = 0;
  std::int64_t total = 0;
  char before = ' ';      // the character that the number follows
  char sign = ' ';        // the same, but for blanks: the ':' of "it: 5"
  bool trailing = false;  // the name stands behind the number: "9577 tok/s"
  bool at_end = false;    // the number touches the end of the text
  bool thousands = false;
  bool after_arrow = false;  // "3.1 -> 8.9": what became of the number before
  std::uint32_t at = 0;
  double unit_scale = 1;
  double seconds = 0;
  double gibibytes = 0;
  std::string_view rate = {};  // "36.2 samples/sec", "4ms/step": the unit, where it is one thing by another
  bool percent = false;        // "81.2%"
  bool missing = false;        // "None", "N/A": the value is model::kNoValue
  bool in_brackets = false;    // "[  50/1251": a bracket opens before it
  std::int64_t second = -1;    // "[1,  2000]" at the front of the text: 2000
  std::uint32_t second_at = 0;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view text);
  bool Next(Field& field);
  // What stands behind the field that was read last.
  std::string_view Rest() const { return text_.substr(std::min(at_, text_.size())); }

 private:
  char At(std::size_t i) const { return i < text_.size() ? text_[i] : ' '; }
  bool IsDigitAt(std::size_t i) const { return At(i) >= '0' && At(i) <= '9'; }
  bool StartsValue(std::size_t at) const;
  bool StartsNonFinite(std::size_t at) const;
  bool StartsWord(std::size_t at) const;
  void SkipWord();
  void SkipToken();
  bool ReadField(Field& field);
  std::size_t ReadThousands(std::size_t begin, std::size_t end, double& value) const;
  std::size_t ReadTotal(std::size_t end, std::int64_t& total) const;
  std::size_t ReadThirdCount(std::size_t end, Field& field) const;
  std::size_t ReadRange(std::size_t begin, std::size_t end, Field& field) const;
  std::size_t ReadUnit(std::size_t end, double& scale) const;
  std::size_t ReadUnitApart(std::size_t end, Field& field) const;
  std::size_t SkipAside(std::size_t end) const;
  bool IsPartOfWord(std::size_t end) const;
  std::size_t ReadList(std::size_t end, Field& field) const;
  void TakeTrailingName(Field& field);
  bool ReadMissing(Field& field);
  bool ReadCountedWord(std::size_t end, Field& field);
  bool IsDate(std::size_t end, std::int64_t total) const;
  bool EndsPart(std::size_t end) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t name_start_ = 0;
};

// The last word of a name, also behind an opening bracket.
std::string_view LastWord(std::string_view name);

}  // namespace vigil::textlog
