#include "import/log/repetition.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "import/log/line.h"

namespace vigil::import::log {
namespace {

constexpr std::uint32_t kBelievedFrom = 3;  // lines of one shape
constexpr std::size_t kMostShapes = 64;
constexpr std::size_t kLongestLine = 500;

// The words of a line without its numbers.
void ShapeOf(std::string_view text, std::string& key) {
  key.clear();
  for (const char c : text) {
    const bool number = IsDigit(c) || c == '.' || c == '+' || c == '-';
    if (!number) {
      key += c;
    } else if (key.empty() || key.back() != '#') {
      key += '#';
    }
  }
}

std::string_view WordAt(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  std::size_t end = at;
  while (end < text.size() && IsLetter(text[end])) ++end;
  return text.substr(at, end - at);
}

bool CountsSteps(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"updates", "steps", "iterations", "batches",
                                                      "iters",   "step",  "update",     "iteration"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

bool IsFiller(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {"is", "was",    "of",    "at",  "to",      "now",
                                                       "a",  "equals", "about", "are", "reached", "being"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

// "and the learning rate is" -> "learning rate": the longest end of the words that the vocabulary knows.
std::string_view KnownEnd(std::string_view words) {
  for (words = Trim(words); !words.empty();) {
    const std::size_t space = words.rfind(' ');
    const std::string_view last = space == std::string_view::npos ? words : words.substr(space + 1);
    if (!IsFiller(last)) break;
    words = space == std::string_view::npos ? std::string_view() : Trim(words.substr(0, space));
  }
  while (!words.empty()) {
    if (const auto meaning = catalogue::Interpret(words); meaning && meaning->signal != "epoch") return words;
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) break;
    words = Trim(words.substr(space + 1));
  }
  return {};
}

bool IsCount(double value) { return value >= 0 && value < 9e15 && value == std::floor(value); }

}  // namespace

// Names of any kind, as long as one of the numbers is a measurement and not a count.
bool Repetition::ReadParsed(const MetricLine& parsed, LearnedRow& row) const {
  if (parsed.step < 0) return false;
  bool measured = false;
  for (const NamedNumber& number : parsed.numbers) {
    if (number.weak) continue;
    measured = measured || !IsCount(number.value);
    row.numbers.push_back({std::string(number.name), number.value});
  }
  row.step = parsed.step;
  return measured;
}

// "After 100 updates the training loss is 2.31 and the learning rate is 0.0003."
bool Repetition::ReadSentence(std::string_view text, LearnedRow& row) {
  ParseNamedNumbers(text, numbers_);
  for (const NamedNumber& number : numbers_) {
    std::size_t end = number.at;
    while (end < text.size() && (IsDigit(text[end]) || text[end] == ',')) ++end;
    if (row.step < 0 && IsCount(number.value) && CountsSteps(WordAt(text, end))) {
      row.step = static_cast<std::int64_t>(number.value);
    } else if (const std::string_view name = KnownEnd(number.name); !name.empty()) {
      row.numbers.push_back({std::string(name), number.value});
    }
  }
  return row.step >= 0 && !row.numbers.empty();
}

const std::vector<LearnedRow>& Repetition::Take(std::string_view text, const MetricLine* parsed, std::int32_t rank,
                                                std::uint32_t line) {
  believed_.clear();
  if (text.size() > kLongestLine) return believed_;
  LearnedRow row;
  row.line = line;
  row.rank = rank;
  const bool read =
      (parsed != nullptr && ReadParsed(*parsed, row)) || (row.numbers.clear(), row.step = -1, ReadSentence(text, row));
  if (!read) return believed_;
  ShapeOf(text, key_);
  if (shapes_.size() >= kMostShapes && !shapes_.contains(key_)) return believed_;
  Shape& shape = shapes_[key_];
  // Another start of the loop counts as much as the first.
  const bool rises = row.step > shape.last_step || shape.seen >= kBelievedFrom;
  shape.last_step = row.step;
  if (!rises) {
    shape.seen = 0;
    shape.held_back.clear();
  }
  if (++shape.seen < kBelievedFrom) {
    shape.held_back.push_back(std::move(row));
    return believed_;
  }
  believed_ = std::move(shape.held_back);
  shape.held_back.clear();
  believed_.push_back(std::move(row));
  return believed_;
}

}  // namespace vigil::import::log
