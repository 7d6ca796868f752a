#include "textlog/letters_place.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "tabular/column_roles.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

// What letters right before digits count in terse logs: "E0 B20", "ep1 it100".
enum class Counted : std::uint8_t { kNothing, kEpoch, kStep };
Counted KindOfLetters(std::string_view letters) {
  constexpr std::array<std::string_view, 3> kEpochs = {"e", "ep", "epoch"};
  const bool is_epoch = std::any_of(kEpochs.begin(), kEpochs.end(),
                                    [&](std::string_view word) { return EqualsIgnoringCase(letters, word); });
  if (is_epoch) return Counted::kEpoch;
  return tabular::StepWordPriority(letters) != 0 ? Counted::kStep : Counted::kNothing;
}

}  // namespace

void TakePlaceInLetters(std::string_view text, MetricLine& line) {
  constexpr std::size_t kDayDigits = 4;
  constexpr std::size_t kWholeWord = 4;  // "Epoch15" says what it counts, "E15" may
  if (line.numbers.empty() || line.lead >= 0) return;
  const std::size_t end = std::min<std::size_t>(line.numbers.front().at, text.size());
  std::size_t at = 0;
  while (at < end) {
    if (!IsLetter(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < end && IsLetter(text[at])) ++at;
    const std::string_view letters = text.substr(begin, at - begin);
    std::size_t digits = 0;
    const std::int64_t count = ReadDigits(text.substr(at, end - at), digits);
    at += digits;
    const bool apart = begin == 0 || std::string_view(" [(|,\t-").find(text[begin - 1]) != std::string_view::npos;
    const bool ends = at < end && std::string_view(" ])|,:\t-").find(text[at]) != std::string_view::npos;
    if (!apart || !ends || count < 0 || (begin == 0 && letters.size() == 1 && digits == kDayDigits)) continue;
    const Counted kind = KindOfLetters(letters);
    if (kind == Counted::kEpoch && line.epoch < 0) line.epoch = static_cast<double>(count);
    if (kind == Counted::kStep && line.step < 0) line.step = count;
    if (kind == Counted::kNothing) continue;
    line.guessed = line.guessed || letters.size() < kWholeWord;
    line.irregular = true;  // what is learned of a line has its places set apart
  }
}

}  // namespace vigil::textlog
