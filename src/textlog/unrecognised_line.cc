#include "textlog/unrecognised_line.h"

#include <algorithm>

#include "base/base.h"
#include "catalogue/says.h"
#include "textlog/line.h"

namespace vigil::textlog {

// Decimal points between digits: counts and dates have none. Without any, a line with digits, or the first one, is what
// can be shown.
void UnrecognisedLine::Observe(std::string_view text, std::uint32_t line) {
  constexpr std::size_t kLongestExample = 100;
  constexpr std::size_t kPerMeasurement = 4;
  if (IsBlank(text)) return;
  std::size_t closeness = std::any_of(text.begin(), text.end(), IsDigit) ? 2 : 1;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && IsDigit(text[i - 1]) && IsDigit(text[i + 1])) closeness += kPerMeasurement;
  }
  if (closeness <= closeness_) return;
  closeness_ = closeness;
  line_ = line;
  text_ = std::string(Trim(text).substr(0, kLongestExample));
}

model::Statement UnrecognisedLine::Note() const {
  if (text_.empty()) return {};
  return says::NoteUnrecognisedLine{.line = line_, .text = model::Quote{Printable(text_), {}, line_}};
}

}  // namespace vigil::textlog
