#include "textlog/metric_sink.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/base.h"
#include "tabular/digits.h"

namespace vigil::textlog {

const NamedNumber* FindNumber(const NamedNumbers& numbers, std::string_view name) {
  const auto at = std::find_if(numbers.begin(), numbers.end(), [&](const NamedNumber& n) { return n.name == name; });
  return at == numbers.end() ? nullptr : &*at;
}

double NumberOr(const NamedNumbers& numbers, std::string_view name, double otherwise) {
  const NamedNumber* number = FindNumber(numbers, name);
  return number == nullptr || !std::isfinite(number->value) ? otherwise : number->value;
}

std::string_view MetricSink::NameOf(std::string_view name, bool evaluation) {
  if (!evaluation || StartsWithIgnoringCase(name, "val") || StartsWithIgnoringCase(name, "eval") ||
      StartsWithIgnoringCase(name, "test") || StartsWithIgnoringCase(name, "train"))
    return name;  // it says itself what it was measured on
  if (name == "lm loss value") return "lm loss validation";
  name_ = "val/";
  name_ += name;
  return name_;
}

bool MetricSink::Find(const NamedNumbers& numbers, const RowPlace& place) {
  std::uint32_t first_metric = 0;
  bool twice = false;
  found_.clear();
  for (const NamedNumber& number : numbers) {
    const std::uint32_t index =
        table_.Find(NameOf(number.name, place.evaluation || number.evaluation), place.rank, place.origin, false);
    found_.push_back(index);
    if (index == 0 || !table_.entry(index).is_metric) continue;
    // A metric that comes twice: several lines quoted in one.
    twice = twice || index == first_metric;
    if (first_metric == 0) first_metric = index;
  }
  return first_metric != 0 && !twice;
}

// "dt: 123.45ms" under a name whose unit is the second, "mem 512MiB" under one whose unit is the gibibyte, "acc 81%".
double MetricSink::FactorOf(std::uint32_t index, const NamedNumber& number) const {
  if (index == 0) return 0;
  const SeriesTable::Entry& entry = table_.entry(index);
  if (entry.in_seconds) return number.seconds;
  if (entry.in_gibibytes) return number.gibibytes;
  constexpr double kPercent = 0.01;
  return entry.is_share && number.percent ? kPercent : 0;
}

void MetricSink::BringToUnits(NamedNumbers& numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double factor = FactorOf(found_[i], numbers[i]);
    if (factor == 0) continue;
    numbers[i].value *= factor;
    numbers[i].name_scale *= factor;
  }
}

// The place in the table of a number that is kept, 0 for one that is dropped: a name that is doubtful and unknown, or a
// number at the end of an unfinished line that may lack digits.
std::uint32_t MetricSink::PlaceOf(std::size_t i, const NamedNumber& number, const RowPlace& place) {
  std::uint32_t index = found_[i];
  if (index == 0 && !number.weak)
    index = table_.Find(NameOf(number.name, place.evaluation || number.evaluation), place.rank, place.origin, true);
  if (index == 0 || (number.weak && !table_.entry(index).known)) return 0;
  return number.at_cut.empty() || IsWholeNumber(number.at_cut, index) ? index : 0;
}

void MetricSink::Add(const NamedNumbers& numbers, const RowPlace& place) {
  bool has_loss = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].missing) {
      AddNull(found_[i], place);
      continue;
    }
    const std::uint32_t index = PlaceOf(i, numbers[i], place);
    found_[i] = index;
    if (index == 0) continue;
    if (table_.entry(index).is_loss) {
      has_loss = true;
      if (loss_name_ != numbers[i].name) loss_name_ = std::string(numbers[i].name);
    }
    AddValue(index, numbers[i].value, place);
  }
  if (!has_loss && !place.evaluation) AddMissingLoss(numbers, place);
}

bool MetricSink::FoundLoss() const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](std::uint32_t index) { return index != 0 && table_.entry(index).is_loss; });
}

// Whether a number that an unfinished line ends with has all its digits, by those that its series had before.
bool MetricSink::IsWholeNumber(std::string_view text, std::uint32_t index) const {
  const SeriesTable::Entry& entry = table_.entry(index);
  return tabular::HasAllDigits(text,
                               entry.is_open ? std::span(builder_.series(entry.series).values) : std::span<double>());
}

void MetricSink::MarkRunningMeans() {
  for (const std::uint32_t index : found_) {
    if (index == 0 || !table_.entry(index).is_open) continue;
    model::Series& series = builder_.series(table_.entry(index).series);
    if (series.signal == "loss" || series.signal == "accuracy") series.aggregation = model::Aggregation::kRunningMean;
  }
}

// JSON has no NaN, so some loggers write null for it. Only where the same name had a number before: a value that was
// never there is merely not measured.
void MetricSink::AddNull(std::uint32_t index, const RowPlace& place) {
  constexpr std::size_t kMostHeld = 100'000;
  if (index == 0 || !table_.entry(index).is_loss) return;
  if (table_.entry(index).is_open) return AddValue(index, model::kNoValue, place);
  if (nulls_.size() < kMostHeld) nulls_.push_back({index, place});
}

// A loss that was written as None all along is not finite: what has no value yet at the beginning gets one later.
void MetricSink::Finish() {
  constexpr std::size_t kFewNulls = 3;
  const std::vector<HeldNull> held = std::exchange(nulls_, {});
  if (held.size() < kFewNulls || table_.HasOpenLoss()) return;
  for (const HeldNull& null : held) AddValue(null.index, model::kNoValue, null.place);
}

// Megatron leaves a loss out of its line when it is NaN. A line of steps that the loss scaler skipped has none either,
// for a better reason, unless it counts NaN iterations. In other trainers a gradient norm that is not finite is the
// sign.
void MetricSink::AddMissingLoss(const NamedNumbers& numbers, const RowPlace& place) {
  const bool complete = FindNumber(numbers, "number of nan iterations") != nullptr;
  const bool skipped = NumberOr(numbers, "number of skipped iterations", 1) != 0;
  const bool counted = NumberOr(numbers, "number of nan iterations", 0) > 0;
  const bool megatron = complete && (!skipped || counted);
  const std::uint32_t known = table_.Find(loss_name_, place.rank, place.origin, false);
  const bool had_one = known != 0 && table_.entry(known).is_open;
  if (!megatron && !(had_one && HasBadGradient(numbers))) return;
  const std::uint32_t index = table_.Find(loss_name_, place.rank, place.origin, true);
  if (index != 0) AddValue(index, model::kNoValue, place);
}

bool MetricSink::HasBadGradient(const NamedNumbers& numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (found_[i] != 0 && table_.entry(found_[i]).is_grad_norm && !std::isfinite(numbers[i].value)) return true;
  }
  return false;
}

}  // namespace vigil::textlog
