#include "textlog/repetition.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "tabular/column_roles.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

// Lines of one shape that are believed: with a step by name, with a count in front, with nothing that places them.
constexpr std::uint32_t kBelievedFrom = 3;
constexpr std::uint32_t kCountedFrom = 5;
constexpr std::uint32_t kUnplacedFrom = 8;
constexpr std::size_t kSureNames = 2;                  // so many metrics that are known in one line are no accident
constexpr std::int64_t kLargestCount = 1'000'000'000;  // beyond it are seconds since 1970
constexpr std::size_t kMostShapes = 64;
constexpr std::size_t kLongestLine = 500;

// The length of "nan" or "inf" as a word of its own at text[at], 0 for anything else.
std::size_t NonFiniteLength(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 3;
  const std::string_view word = text.substr(at, kLength);
  const bool named = EqualsIgnoringCase(word, "nan") || EqualsIgnoringCase(word, "inf");
  const bool begins = at == 0 || !IsLetter(text[at - 1]);
  const bool ends = at + kLength >= text.size() || !IsLetter(text[at + kLength]);
  return named && begins && ends ? kLength : 0;
}

// The letter of "1.9e-06": a number has it or not, as its size demands.
bool IsExponent(std::string_view text, std::size_t at) {
  if ((text[at] | 0x20) != 'e' || at == 0 || !IsDigit(text[at - 1]) || at + 1 >= text.size()) return false;
  const char next = text[at + 1];
  return IsDigit(next) || ((next == '-' || next == '+') && at + 2 < text.size() && IsDigit(text[at + 2]));
}

// The length of a unit of time at text[at], right behind digits: "979ms" and later "1.01s" are one form.
std::size_t TimeUnitLength(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 5> kUnits = {"ms", "us", "s", "m", "h"};
  std::size_t end = at;
  while (end < text.size() && IsLetter(text[end])) ++end;
  const bool known = std::find(kUnits.begin(), kUnits.end(), text.substr(at, end - at)) != kUnits.end();
  return known && at > 0 && IsDigit(text[at - 1]) ? end - at : 0;
}

// The words of a line without its numbers and their units of time.
void ShapeOf(std::string_view text, std::string& key) {
  key.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::size_t word = c == 'n' || c == 'N' || c == 'i' || c == 'I' ? NonFiniteLength(text, i) : 0;
    if (word == 0 && IsLetter(c) && !key.empty() && key.back() == '#') word = TimeUnitLength(text, i);
    const bool number = IsDigit(c) || c == '.' || c == '+' || c == '-' || word != 0 || IsExponent(text, i);
    if (word != 0) i += word - 1;
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

// "After 100 updates": letters alone ("100 s") are units.
bool CountsSteps(std::string_view word) { return word.size() > 2 && tabular::StepWordPriority(word) != 0; }

// Whether a number of the text may count steps by the word behind it. Most lines have none, and need not be taken
// apart.
bool MayCountSteps(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!IsDigit(text[i])) continue;
    while (i < text.size() && (IsDigit(text[i]) || text[i] == ',')) ++i;
    if (CountsSteps(WordAt(text, i))) return true;
  }
  return false;
}

bool IsFiller(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {"is", "was",    "of",    "at",  "to",      "now",
                                                       "a",  "equals", "about", "are", "reached", "being"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
}

bool IsMetric(std::string_view signal) { return !signal.empty() && signal != "epoch"; }

// "and the learning rate is" -> "learning rate": the longest end of the words that the vocabulary knows.
std::string_view KnownEnd(NameMemo& names, std::string_view words) {
  for (words = Trim(words); !words.empty();) {
    const std::size_t space = words.rfind(' ');
    const std::string_view last = space == std::string_view::npos ? words : words.substr(space + 1);
    if (!IsFiller(last)) break;
    words = space == std::string_view::npos ? std::string_view() : Trim(words.substr(0, space));
  }
  while (!words.empty()) {
    if (IsMetric(names.SignalOf(words))) return words;
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) break;
    words = Trim(words.substr(space + 1));
  }
  return {};
}

// "[10]\t" and "100:\t".
bool OpensWithCount(std::string_view text) {
  const bool in_brackets = text.starts_with('[');
  std::size_t digits = 0;
  if (ReadDigits(text.substr(in_brackets ? 1 : 0), digits) < 0) return false;
  return text.substr((in_brackets ? 1 : 0) + digits).starts_with(in_brackets ? "]\t" : ":\t");
}

bool NamesMetric(NameMemo& names, const NamedNumbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](const NamedNumber& number) { return !number.weak && IsMetric(names.SignalOf(number.name)); });
}

bool IsCount(double value) { return value >= 0 && value < 9e15 && value == std::floor(value); }

}  // namespace

// Names of any kind, as long as one of the numbers is a measurement and not a count.
bool Repetition::ReadParsed(const MetricLine& parsed, LearnedRow& row) {
  if (parsed.step < 0) return false;
  bool measured = false;
  for (const NamedNumber& number : parsed.numbers) {
    if (number.weak) continue;
    // "we saw a loss of 2.3": the end of the words may be a name that is known.
    const bool words = number.name.find(' ') != std::string_view::npos && !names_.Knows(number.name);
    const std::string_view known = words ? KnownEnd(names_, number.name) : std::string_view();
    measured = measured || !known.empty() || !IsCount(number.value);
    row.numbers.push_back({std::string(known.empty() ? number.name : known), number});
  }
  row.step = parsed.step;
  return measured || NamesMetric(names_, parsed.numbers);  // a loss of 1.0000 is no count
}

// "After 100 updates the training loss is 2.31 and the learning rate is 0.0003."
bool Repetition::ReadSentence(std::string_view text, LearnedRow& row) {
  if (!MayCountSteps(text)) return false;
  ParseNamedNumbers(text, numbers_);
  for (const NamedNumber& number : numbers_) {
    std::size_t end = number.at;
    while (end < text.size() && (IsDigit(text[end]) || text[end] == ',')) ++end;
    if (row.step < 0 && IsCount(number.value) && CountsSteps(WordAt(text, end))) {
      row.step = static_cast<std::int64_t>(number.value);
    } else if (const std::string_view name = KnownEnd(names_, number.name); !name.empty()) {
      row.numbers.push_back({std::string(name), number});
    }
  }
  return row.step >= 0 && !row.numbers.empty();
}

// "[00120] Loss=2.3 PSNR=31.2", "E0 | 120 | loss 2.3": a number that nothing names, before a metric that is known. In
// "[10]\tvalid_0's l2: 0.23" and "100:\tlearn: 0.31" it is set apart so clearly that any measurement will do.
bool Repetition::ReadCounted(std::string_view text, const MetricLine& parsed, LearnedRow& row) {
  if (parsed.lead < 0 || parsed.lead > kLargestCount) return false;
  row.step = parsed.lead;
  const bool set_apart = OpensWithCount(text);
  bool known = false;
  std::size_t names = 0;
  for (const NamedNumber& number : parsed.numbers) {
    const bool is_known = names_.Knows(number.name);
    if (number.weak && !is_known) continue;
    names += is_known ? 1 : 0;
    known = known || is_known || (set_apart && !number.weak && !IsCount(number.value));
    row.numbers.push_back({std::string(number.name), number});
  }
  row.is_sure = names >= kSureNames;
  return known;
}

// "loss tensor(2.31, device='cuda:0')", "loss: 0.31 accuracy: 0.98": a loss, and no number in front of it.
// A loss is hardly ever a whole number; a code or a count of errors is.
bool Repetition::ReadUnplaced(const MetricLine& parsed, LearnedRow& row) {
  row.unplaced = true;
  std::size_t losses = 0;
  for (const NamedNumber& number : parsed.numbers) {
    const std::string_view signal = names_.SignalOf(number.name);
    const bool whole = number.value == std::floor(number.value);
    const bool is_loss = !whole && signal == "loss";
    losses += is_loss ? 1 : 0;
    if (is_loss || signal == "accuracy") row.numbers.push_back({std::string(number.name), number});
  }
  return parsed.lead < 0 && losses == 1;
}

std::uint32_t Repetition::Read(std::string_view text, const MetricLine& parsed, bool placed, LearnedRow& row) {
  const LearnedRow empty = row;
  if (placed && ReadParsed(parsed, row)) return kBelievedFrom;
  row = empty;
  if (ReadSentence(text, row)) return kBelievedFrom;
  if (placed) return 0;
  row = empty;
  if (ReadCounted(text, parsed, row)) return row.is_sure ? kBelievedFrom : kCountedFrom;
  row = empty;
  return ReadUnplaced(parsed, row) ? kUnplacedFrom : 0;
}

const std::vector<LearnedRow>& Repetition::Take(std::string_view text, const MetricLine& parsed, bool placed,
                                                std::int32_t rank, std::uint32_t line) {
  believed_.clear();
  if (text.size() > kLongestLine) return believed_;
  LearnedRow row;
  row.line = line;
  row.rank = rank;
  std::uint32_t believed_from = Read(text, parsed, placed, row);
  if (believed_from == 0) return believed_;
  // "[50] loss=2.1, eval_loss=2.3" among "[40] loss=2.2": what goes on where such lines are is believed at once. Held
  // back, it would come behind the steps that follow it.
  const bool is_counted = !placed && row.is_sure;
  if (is_counted && latest_counted_ >= 0 && row.step > latest_counted_) believed_from = 1;
  ShapeOf(text, key_);
  if (shapes_.size() >= kMostShapes && !shapes_.contains(key_)) return believed_;
  Shape& shape = shapes_[key_];
  if (row.unplaced) row.step = shape.lines++;
  // Another start of the loop counts as much as the first.
  const bool rises = row.step > shape.last_step || shape.seen >= believed_from;
  shape.last_step = row.step;
  if (!rises) {
    shape.seen = 0;
    shape.held_back.clear();
  }
  if (++shape.seen < believed_from) {
    shape.held_back.push_back(std::move(row));
    return believed_;
  }
  if (is_counted) latest_counted_ = row.step;
  believed_ = std::move(shape.held_back);
  shape.held_back.clear();
  believed_.push_back(std::move(row));
  return believed_;
}

}  // namespace vigil::textlog
