#include "textlog/unrecognised_line.h"

#include "base/base.h"
#include "catalogue/says.h"
#include "textlog/line.h"

namespace vigil::textlog {

// Decimal points between digits: counts and dates have none.
void UnrecognisedLine::Observe(std::string_view text, std::uint32_t line) {
  constexpr std::size_t kLongestExample = 100;
  std::size_t numbers = 0;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && IsDigit(text[i - 1]) && IsDigit(text[i + 1])) ++numbers;
  }
  if (numbers <= numbers_) return;
  numbers_ = numbers;
  line_ = line;
  text_ = std::string(Trim(text).substr(0, kLongestExample));
}

model::Statement UnrecognisedLine::Note() const {
  if (text_.empty()) return {};
  return says::NoteUnrecognisedLine{.line = line_, .text = model::Quote{Printable(text_), {}, line_}};
}

}  // namespace vigil::textlog
