#include "textlog/plain_header.h"

#include <vector>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestHeader = 400;

}  // namespace

void PlainHeader::Note(std::string_view text, std::uint32_t line) {
  if (text.size() > kLongestHeader) return;
  text_ = text;
  line_ = line;
}

std::deque<std::string> PlainHeader::NamesOf(std::uint32_t first, std::size_t count) const {
  constexpr std::uint32_t kFarthest = 2;  // a rule may stand between
  if (line_ == 0 || line_ >= first || first - line_ > kFarthest) return {};
  std::deque<std::string> names;
  for (const std::string_view word : Split(text_, ' ')) {
    if (Trim(word).empty()) continue;
    if (!IsLetter(Trim(word).front())) return {};
    names.emplace_back(Trim(word));
  }
  if (names.size() == count + 1) names.pop_front();
  return names.size() == count ? names : std::deque<std::string>();
}

}  // namespace vigil::textlog
