#include "assemble/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "catalogue/catalogue.h"

namespace vigil::assemble {
namespace {

// A value that is hardly larger than its rounding agrees with anything near zero.
constexpr double kErrorsToCompare = 5;
constexpr std::size_t kValuesForRounding = 64;
constexpr int kMostDigits = 6;
constexpr double kFloatError = 1e-6;  // relative: event files hold floats
// So many different numbers in the same places are no chance.
constexpr std::size_t kCertain = 3;
constexpr double kAgreeingShare = 0.9;
// Points looked at before all are: most pairs of runs differ at once.
constexpr std::size_t kSamples = 16;

constexpr std::array<std::string_view, 10> kDistinctive = {"loss",        "eval_loss", "reward",        "grad_norm",
                                                           "policy_loss", "accuracy",  "eval_accuracy", "kl",
                                                           "entropy",     "value_loss"};
// The same in every run of one recipe, or in every run on one machine.
constexpr std::array<std::string_view, 18> kShared = {"lr",
                                                      "epoch",
                                                      "num_tokens",
                                                      "tokens_per_s",
                                                      "step_time_s",
                                                      "mfu",
                                                      "mem_allocated",
                                                      "mem_reserved",
                                                      "loss_scale",
                                                      "skipped_steps",
                                                      "nan_steps",
                                                      "truncated_share",
                                                      "samples_per_s",
                                                      "tflops",
                                                      "data_time_s",
                                                      "compute_time_s",
                                                      "comm_time_s",
                                                      "host_memory"};

// A time or a memory under any name: one logger takes the mean of a window and the other the latest value, and both
// are right.
bool IsOfMachine(std::string_view name) {
  const std::string quantity = catalogue::TakeApart(name).quantity;
  return quantity == "time" || quantity == "memory";
}

int Rank(const model::Series& series) {
  const auto at = std::find(kDistinctive.begin(), kDistinctive.end(), series.signal);
  if (at != kDistinctive.end()) return static_cast<int>(at - kDistinctive.begin());
  const bool shared = std::find(kShared.begin(), kShared.end(), series.signal) != kShared.end();
  return shared || IsOfMachine(series.raw) ? -1 : static_cast<int>(kDistinctive.size());
}

bool IsWhole(double value) { return std::abs(value - std::round(value)) < 1e-5; }

// The power of ten of the first digit: 0 for 1 to 9.99.
double Magnitude(double value) { return std::floor(std::log10(std::abs(value))); }

Curve CurveOf(const model::Series& series) {
  Curve curve{SignalKey(series), series.axis, series.steps, series.values, RoundingOf(series.values)};
  if (series.segment_starts.size() <= 1) return curve;
  std::vector<std::size_t> order(series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return series.steps[a] < series.steps[b]; });
  curve.steps.clear();
  curve.values.clear();
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Of several points at one step the last one given stands.
    if (i + 1 < order.size() && series.steps[order[i + 1]] == series.steps[order[i]]) continue;
    curve.steps.push_back(series.steps[order[i]]);
    curve.values.push_back(series.values[order[i]]);
  }
  return curve;
}

// Counts agreement over points met in step order.
class Tally {
 public:
  Tally(const Rounding& of_a, const Rounding& of_b) : of_a_(of_a), of_b_(of_b) {}

  std::size_t common = 0;
  std::size_t agree = 0;
  std::size_t distinct = 0;
  std::size_t agree_at_start = 0;  // before the first disagreement
  std::int64_t last_agreeing = model::kNoStep;
  std::int64_t first_differing = model::kNoStep;

  void See(std::int64_t step, double a, double b) {
    if (!IsComparable(a, b)) return;
    ++common;
    if (!SameButForRounding(a, b, of_a_, of_b_)) {
      if (first_differing == model::kNoStep) first_differing = step;
      return;
    }
    ++agree;
    if (first_differing == model::kNoStep) {
      ++agree_at_start;
      last_agreeing = step;
    }
    if (std::isfinite(a) && a != latest_) {
      ++distinct;
      latest_ = a;
    }
  }

 private:
  bool IsComparable(double a, double b) const {
    if (!std::isfinite(a) || !std::isfinite(b)) return true;
    return std::max(std::abs(a), std::abs(b)) > kErrorsToCompare * std::max(of_a_.Error(a), of_b_.Error(b));
  }

  Rounding of_a_;
  Rounding of_b_;
  double latest_ = model::kNoValue;
};

// The first point that is not before `step`.
std::size_t PointAt(const Curve& curve, std::int64_t step) {
  return static_cast<std::size_t>(std::lower_bound(curve.steps.begin(), curve.steps.end(), step) - curve.steps.begin());
}

// A few points of `a`, spread over it, found in `b`.
Tally Sample(const Curve& a, const Curve& b) {
  Tally tally(a.rounding, b.rounding);
  const std::size_t stride = std::max<std::size_t>(1, a.steps.size() / kSamples);
  for (std::size_t i = 0; i < a.steps.size(); i += stride) {
    const std::size_t at = PointAt(b, a.steps[i]);
    if (at == b.steps.size() || b.steps[at] != a.steps[i]) continue;
    tally.See(a.steps[i], a.values[i], b.values[at]);
  }
  return tally;
}

Tally LayOver(const Curve& a, const Curve& b) {
  Tally tally(a.rounding, b.rounding);
  if (a.steps.empty() || b.steps.empty()) return tally;
  // A short curve may lie at the end of a long one.
  std::size_t j = PointAt(b, a.steps.front());
  for (std::size_t i = PointAt(a, b.steps.front()); i < a.steps.size(); ++i) {
    while (j < b.steps.size() && b.steps[j] < a.steps[i]) ++j;
    if (j == b.steps.size()) break;
    if (b.steps[j] == a.steps[i]) tally.See(a.steps[i], a.values[i], b.values[j]);
  }
  return tally;
}

const Curve* FindCurve(const std::vector<Curve>& curves, const Curve& like) {
  const auto at = std::find_if(curves.begin(), curves.end(),
                               [&](const Curve& curve) { return curve.key == like.key && curve.axis == like.axis; });
  return at == curves.end() ? nullptr : &*at;
}

bool Agrees(const Tally& tally) {
  return static_cast<double>(tally.agree) >= kAgreeingShare * static_cast<double>(tally.common);
}

// The same at the start, another later: what stands after the fork in one of them overwrote the other.
bool IsFork(const Tally& tally) {
  return tally.agree_at_start >= kCertain && tally.distinct >= kCertain && tally.agree_at_start * 10 >= tally.common;
}

// Whether row i of `rows` has the value of point `offset` + i of `curve`, for as many as both have.
bool MatchesAt(const Curve& rows, const Curve& curve, std::size_t offset) {
  Tally tally(rows.rounding, curve.rounding);
  const std::size_t count = std::min(rows.values.size(), curve.values.size() - offset);
  for (std::size_t i = 0; i < count; ++i) tally.See(rows.steps[i], rows.values[i], curve.values[offset + i]);
  return tally.distinct >= kCertain && Agrees(tally);
}

RowMatch StepsOfRows(const Curve& rows, const Curve& curve, std::size_t offset) {
  RowMatch match;
  match.axis = curve.axis;
  const std::int64_t interval =
      curve.steps.size() < 2 ? 1 : std::max<std::int64_t>(1, curve.steps.back() - curve.steps[curve.steps.size() - 2]);
  for (std::size_t i = 0; i < rows.steps.size(); ++i) {
    match.rows.push_back(rows.steps[i]);
    const std::size_t at = offset + i;
    // Rows beyond the curve (the log outlived the last checkpoint) go on at its pace.
    match.steps.push_back(at < curve.steps.size() ? curve.steps[at] : match.steps.back() + interval);
  }
  return match;
}

}  // namespace

std::string SignalKey(const model::Series& series) {
  std::string key = series.signal;
  for (const auto& [name, value] : series.labels) {
    key += '\x1f';
    key += name;
    key += '=';
    key += value;
  }
  return key;
}

std::vector<Curve> DistinctiveCurves(const model::Run& part) {
  std::vector<const model::Series*> candidates;
  for (const model::Series& series : part.series) {
    if (!series.empty() && Rank(series) >= 0) candidates.push_back(&series);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const model::Series* a, const model::Series* b) {
    return Rank(*a) != Rank(*b) ? Rank(*a) < Rank(*b) : a->size() > b->size();
  });
  std::vector<Curve> curves;
  for (const model::Series* series : candidates) {
    if (curves.size() == kMostCurves) break;
    Curve curve = CurveOf(*series);
    if (FindCurve(curves, curve) == nullptr) curves.push_back(std::move(curve));
  }
  return curves;
}

double Rounding::Error(double value) const {
  const double by_digits = significant_digits == 0 || value == 0 || !std::isfinite(value)
                               ? 0
                               : std::pow(10.0, Magnitude(value) - significant_digits + 1);
  return 0.51 * std::max(decimal_step, by_digits) + kFloatError * std::abs(value);
}

Rounding RoundingOf(std::span<const double> values) {
  std::vector<double> sample;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kValuesForRounding);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    if (std::isfinite(values[i]) && values[i] != 0) sample.push_back(values[i]);
  }
  const auto all = [&](auto&& scale) {
    return std::all_of(sample.begin(), sample.end(), [&](double value) { return IsWhole(value * scale(value)); });
  };
  Rounding rounding;
  if (sample.empty()) return rounding;
  for (int digits = kMostDigits; digits >= 0 && all([&](double) { return std::pow(10.0, digits); }); --digits)
    rounding.decimal_step = std::pow(10.0, -digits);
  for (int digits = kMostDigits; digits >= 1; --digits) {
    if (!all([&](double value) { return std::pow(10.0, digits - 1 - Magnitude(value)); })) break;
    rounding.significant_digits = digits;
  }
  return rounding;
}

bool SameButForRounding(double a, double b, const Rounding& of_a, const Rounding& of_b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  // Rounded alike, one number is one text.
  if (of_a == of_b) return std::abs(a - b) <= kFloatError * std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= std::max(of_a.Error(a), of_b.Error(b));
}

Comparison Compare(const std::vector<Curve>& a, const std::vector<Curve>& b) {
  Comparison result;
  for (const Curve& curve : a) {
    const Curve* const other = FindCurve(b, curve);
    if (other == nullptr || curve.axis == model::Axis::kRow) continue;
    const Tally sample = Sample(curve, *other);
    if (sample.common >= kCertain && sample.agree == 0) return {Likeness::kDifferent, {}, 0, true, 0, 0};
    const Tally tally = LayOver(curve, *other);
    if (tally.common == 0) continue;
    if (!Agrees(tally)) {
      if (!IsFork(tally)) return {Likeness::kDifferent, {}, 0, true, 0, 0};
      const model::Position last(curve.axis, tally.last_agreeing);  // there is one in every fork
      return {Likeness::kForked, last, tally.distinct, true, tally.common, tally.agree};
    }
    result.common += tally.common;
    result.agree += tally.agree;
    result.distinct += tally.distinct;
  }
  if (result.common == 0) return result;
  result.likeness = Likeness::kSame;
  result.certain = result.distinct >= kCertain && result.agree == result.common;
  return result;
}

std::optional<RowMatch> MatchRows(const std::vector<Curve>& rows, const std::vector<Curve>& placed) {
  for (const Curve& curve : rows) {
    if (curve.axis != model::Axis::kRow) continue;
    for (const Curve& other : placed) {
      if (other.key != curve.key || other.axis == model::Axis::kRow || other.steps.empty()) continue;
      if (MatchesAt(curve, other, 0)) return StepsOfRows(curve, other, 0);
      const std::size_t tail = other.values.size() - std::min(curve.values.size(), other.values.size());
      if (MatchesAt(curve, other, tail)) return StepsOfRows(curve, other, tail);
    }
  }
  return std::nullopt;
}

std::optional<StepRange> RangeOf(const std::vector<Curve>& curves) {
  std::optional<StepRange> range;
  for (const Curve& curve : curves) {
    if (curve.steps.empty() || curve.axis != model::Axis::kStep) continue;
    const model::StepAt first(curve.steps.front());
    const model::StepAt last(curve.steps.back());
    if (!range) range = StepRange{first, last};
    range->first = std::min(range->first, first);
    range->last = std::max(range->last, last);
  }
  return range;
}

model::Position LastOn(model::Axis axis, const std::vector<Curve>& curves) {
  model::Position furthest;
  for (const Curve& curve : curves) {
    if (curve.steps.empty() || curve.axis != axis) continue;
    const model::Position last(axis, curve.steps.back());
    if (!furthest.known() || std::is_gt(CompareOnAxis(last, furthest))) furthest = last;
  }
  return furthest;
}

}  // namespace vigil::assemble
