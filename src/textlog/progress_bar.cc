#include "textlog/progress_bar.h"

#include <array>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

// "284/873 [" at the front of `text`; the length up to and with the bracket, 0 when it is something else.
std::size_t ReadCounts(std::string_view text, ProgressBar& bar) {
  std::size_t used = 0;
  bar.count = ReadDigits(text, used);
  if (bar.count < 0 || used >= text.size() || text[used] != '/') return 0;
  std::size_t digits = 0;
  bar.total = ReadDigits(text.substr(used + 1), digits);
  used += 1 + digits;
  if (bar.total <= 0 || !text.substr(used).starts_with(" [")) return 0;
  return used + 2;
}

// The description stands before the percentage: "Epoch 1:  37%".
std::string_view DescriptionOf(std::string_view before_bar) {
  if (before_bar.ends_with('%')) {
    before_bar.remove_suffix(1);
    while (!before_bar.empty() && (IsDigit(before_bar.back()) || before_bar.back() == '.')) before_bar.remove_suffix(1);
  }
  before_bar = Trim(before_bar);
  if (before_bar.ends_with(':')) before_bar.remove_suffix(1);
  return Trim(before_bar);
}

// "25:49<45:20,  4.62s/it, loss=2.31": what follows the second comma is the postfix.
std::string_view PostfixOf(std::string_view inside) {
  const std::size_t rate = inside.find(',');
  if (rate == std::string_view::npos) return {};
  const std::size_t postfix = inside.find(',', rate + 1);
  return postfix == std::string_view::npos ? std::string_view() : Trim(inside.substr(postfix + 1));
}

// alive-progress closes its counts with the share, "10/400 [2%] in 0.2s (46.6/s, eta: 8s)", where tqdm has its times.
// The length of what stands behind the bracket, npos for another bar.
std::size_t AliveTimesLength(std::string_view inside, std::string_view behind) {
  constexpr std::string_view kIn = " in ";
  const std::size_t close = behind.find(')');
  const bool is_alive = inside.ends_with('%') && behind.starts_with(kIn) && close != std::string_view::npos &&
                        behind.substr(0, close).find("/s") != std::string_view::npos;
  return is_alive ? close + 1 : std::string_view::npos;
}

// "loss: 0.1234: 5%|...": people put the loss where the name of the bar would be.
void TakeLossForPostfix(ProgressBar& bar) {
  if (bar.postfix.empty() && ContainsIgnoringCase(bar.description, "loss") &&
      (bar.description.find_first_of("0123456789") != std::string_view::npos ||
       ContainsIgnoringCase(bar.description, "nan") || ContainsIgnoringCase(bar.description, "inf")))
    std::swap(bar.postfix, bar.description);
}

// The first bar in `text`.
std::optional<ProgressBar> ParseFirst(std::string_view text) {
  const std::size_t open = text.find('|');
  if (open == std::string_view::npos) return std::nullopt;
  for (std::size_t close = text.find("| ", open + 1); close != std::string_view::npos;
       close = text.find("| ", close + 1)) {
    ProgressBar bar;
    const std::string_view counts = text.substr(close + 2);
    const std::size_t used = ReadCounts(counts, bar);
    if (used == 0) continue;
    const std::size_t end = counts.find(']', used);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = counts.substr(used, end - used);
    bar.rest = counts.substr(end + 1);
    const std::size_t times = AliveTimesLength(inside, bar.rest);
    const bool is_alive = times != std::string_view::npos;
    if (!is_alive && inside.find("it/s") == std::string_view::npos && inside.find("s/it") == std::string_view::npos)
      continue;
    bar.description = DescriptionOf(text.substr(0, open));
    if (is_alive)
      bar.rest = bar.rest.substr(times);
    else
      bar.postfix = PostfixOf(inside);
    TakeLossForPostfix(bar);
    return bar;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProgressBar> ParseProgressBar(std::string_view segment) {
  std::optional<ProgressBar> bar = ParseFirst(segment);
  while (bar) {
    const std::optional<ProgressBar> later = ParseFirst(bar->rest);
    if (!later) break;
    bar = later;
  }
  return bar;
}

// Written as ParseProgressBar would see it, but in one pass: a bar is drawn for every step.
std::size_t ReadPlainBar(std::string_view text, ProgressBar& bar) {
  constexpr std::size_t kLongest = 400;
  text = text.substr(0, kLongest);
  std::size_t at = 0;
  const auto skip = [&](auto is_part) {
    const std::size_t begin = at;
    while (at < text.size() && is_part(text[at])) ++at;
    return at - begin;
  };
  skip([](char c) { return c == ' '; });
  if (skip(IsDigit) == 0 || !text.substr(at).starts_with("%|")) return 0;
  at += 2;
  // Blocks of UTF-8, or '#' and a digit.
  skip([](char c) { return c == ' ' || c == '#' || IsDigit(c) || (static_cast<unsigned char>(c) & 0x80U) != 0; });
  if (!text.substr(at).starts_with("| ")) return 0;
  at += 2;
  const std::size_t counts = ReadCounts(text.substr(at), bar);
  if (counts == 0) return 0;
  at += counts;
  skip([](char c) { return IsDigit(c) || c == ':' || c == '<' || c == '?'; });
  if (!text.substr(at).starts_with(',')) return 0;
  ++at;
  skip([](char c) { return IsDigit(c) || c == ' ' || c == '.' || c == '?'; });
  if (!text.substr(at).starts_with("it/s]") && !text.substr(at).starts_with("s/it]")) return 0;
  at += 5;
  return at < text.size() && (text[at] == '\r' || text[at] == '\n') ? at : 0;
}

BarKind KindOf(const ProgressBar& bar) {
  if (bar.description.empty()) return BarKind::kPlain;
  constexpr std::array<std::string_view, 4> kTrainingWords = {"epoch", "train", "step", "iter"};
  constexpr std::array<std::string_view, 7> kOtherWords = {"dataset", "token", "eval",  "valid",
                                                           "test",    "load",  "sanity"};
  for (const std::string_view word : kOtherWords) {
    if (ContainsIgnoringCase(bar.description, word)) return BarKind::kOther;
  }
  for (const std::string_view word : kTrainingWords) {
    if (ContainsIgnoringCase(bar.description, word)) return BarKind::kTraining;
  }
  // Whatever the bar is called: what is measured behind it is measured in a training.
  constexpr std::array<std::string_view, 4> kMeasured = {"loss", "reward", "grad_norm", "lr="};
  for (const std::string_view word : kMeasured) {
    if (ContainsIgnoringCase(bar.postfix, word)) return BarKind::kTraining;
  }
  return BarKind::kOther;
}

}  // namespace vigil::textlog
