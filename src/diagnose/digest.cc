#include "diagnose/digest.h"

#include <algorithm>
#include <cmath>

#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-30;

double MedianOf(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  end = std::min(end, values.size());
  begin = std::min(begin, end);
  return Median(
      {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)});
}

// Means of neighbouring points: an eighth of the curve, 25 points at most, so that one lucky batch is no best level.
std::vector<double> Smooth(const std::vector<double>& values) {
  const std::size_t width = std::clamp<std::size_t>(values.size() / 8, 1, 25);
  std::vector<double> smooth;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if (i >= width) sum -= values[i - width];
    if (i + 1 >= width) smooth.push_back(sum / static_cast<double>(width));
  }
  return smooth;
}

void TakeLevels(Digest& digest) {
  const std::vector<double>& values = digest.values;
  const std::size_t count = values.size();
  digest.first = values.front();
  digest.start = MedianOf(values, 0, std::clamp<std::size_t>(count / 5, 1, 3));
  digest.late = MedianOf(values, count - std::max<std::size_t>(1, count / 4), count);
  digest.end = MedianOf(values, count - std::min(count, std::max<std::size_t>(3, count / 10)), count);
  digest.noise = count < 5 ? 0 : stats::NoiseSigma(values);
  digest.scale = std::max({std::abs(digest.first), std::abs(digest.start), kTiny});
  const std::vector<double> smooth = Smooth(values);
  const auto [low, high] = std::minmax_element(smooth.begin(), smooth.end());
  digest.best = *low;
  digest.top = *high;
  const auto last = static_cast<double>(std::max<std::size_t>(1, smooth.size() - 1));
  digest.best_at = static_cast<double>(low - smooth.begin()) / last;
}

// The level of the values before the last few, which may be part of what led to the first bad one.
double LevelBefore(const std::vector<double>& before) {
  constexpr std::size_t kLast = 3;
  constexpr std::size_t kReach = 20;
  const std::size_t count = before.size();
  if (count <= 8) return MedianOf(before, 0, count - 1);
  return MedianOf(before, count - std::min(count, kReach), count - kLast);
}

void TakeNonFinite(Digest& digest, std::span<const double> all) {
  const auto bad = std::find_if(all.begin(), all.end(), [](double value) { return !std::isfinite(value); });
  if (bad == all.end()) return;
  const auto lost = std::count_if(bad, all.end(), [](double value) { return !std::isfinite(value); });
  digest.non_finite_at = static_cast<double>(bad - all.begin()) / static_cast<double>(all.size());
  digest.non_finite_rest = static_cast<double>(lost) / static_cast<double>(all.end() - bad);
  constexpr std::ptrdiff_t kReach = 64;
  const std::vector<double> before(bad - std::min(kReach, bad - all.begin()), bad);
  if (before.size() < 4) return;
  const double last = std::max(std::abs(before[before.size() - 1]), std::abs(before[before.size() - 2]));
  digest.grew_before = last / std::max(std::abs(LevelBefore(before)), kTiny);
}

bool IsInPercent(const RunView& run, std::string_view signal) {
  const model::Series* series = run.Find(signal);
  return series != nullptr && series->unit == "%";
}

Digest DigestOf(const RunView& run, std::string_view signal) {
  Digest digest;
  const Course course = LastCourse(run, signal);
  digest.points = course.size();
  digest.values = FiniteValues(course.View());
  if (IsInPercent(run, signal)) {
    for (double& value : digest.values) value /= 100;
  }
  TakeNonFinite(digest, course.values);
  if (!digest.empty()) TakeLevels(digest);
  return digest;
}

}  // namespace

std::size_t Digest::PointOf(std::size_t value) const {
  if (values.size() < 2 || values.size() == points) return value;
  const auto share = static_cast<double>(value) / static_cast<double>(values.size() - 1);
  return static_cast<std::size_t>(std::lround(share * static_cast<double>(points - 1)));
}

double Digest::Level(double from, double to) const {
  const auto count = static_cast<double>(values.size());
  const auto begin = std::min(static_cast<std::size_t>(from * count), values.size() - 1);
  return MedianOf(values, begin, std::max(begin + 1, static_cast<std::size_t>(to * count) + 1));
}

double Digest::ShareAtEnd(double value) const {
  const std::size_t begin = values.size() / 2;
  const auto same = std::count(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end(), value);
  return static_cast<double>(same) / static_cast<double>(values.size() - begin);
}

const Digest* RunDigest::Of(std::string_view signal) const {
  auto at = digests_.find(signal);
  if (at == digests_.end()) at = digests_.emplace(signal, DigestOf(*run_, signal)).first;
  return at->second.points == 0 ? nullptr : &at->second;
}

const Digest* RunDigest::OfAny(std::initializer_list<std::string_view> signals) const {
  for (const std::string_view signal : signals) {
    if (const Digest* digest = Of(signal)) return digest;
  }
  return nullptr;
}

bool RunDigest::IsReinforcement() const { return diagnose::IsReinforcement(*run_); }

std::optional<double> RunDigest::Choices() const {
  if (Logged(*run_, "preference_margin")) return 2;
  for (const std::string_view key : {"num_classes", "vocab_size"}) {
    const auto choices = Setting(key);
    if (choices && *choices >= 2 && *choices < 1e9) return choices;
  }
  return std::nullopt;
}

std::optional<double> RunDigest::PeakRate() const {
  const double peak = PeakLr(*run_);
  return std::isnan(peak) ? std::nullopt : std::optional(peak);
}

}  // namespace vigil::diagnose
