#include "tabular/thinning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vigil::tabular {
namespace {

template <typename T>
void Move(std::vector<T>& column, std::size_t from, std::size_t to) {
  if (!column.empty()) column[to] = column[from];
}

template <typename T>
void Cut(std::vector<T>& column, std::size_t size) {
  if (!column.empty()) column.resize(size);
}

}  // namespace

bool LeavesLevel(double value, double before) {
  if (!std::isfinite(value) || !std::isfinite(before)) return std::isfinite(value) != std::isfinite(before);
  constexpr double kFar = 3;
  return std::max(std::abs(value), std::abs(before)) > kFar * std::min(std::abs(value), std::abs(before));
}

void KeepEverySecond(model::Series& series, bool spikes) {
  const std::vector<std::uint32_t> starts = std::move(series.segment_starts);
  series.segment_starts.clear();
  std::size_t next = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool starts_segment = next < starts.size() && starts[next] == i;
    next += starts_segment ? 1 : 0;
    const bool stands_out =
        spikes && (starts_segment || (kept > 0 && LeavesLevel(series.values[i], series.values[kept - 1])));
    if (i % 2 != 0 && !stands_out) continue;
    if (starts_segment || kept == 0 || series.steps[i] <= series.steps[kept - 1])
      series.segment_starts.push_back(static_cast<std::uint32_t>(kept));
    series.steps[kept] = series.steps[i];
    series.values[kept] = series.values[i];
    Move(series.times, i, kept);
    Move(series.lines, i, kept);
    ++kept;
  }
  series.steps.resize(kept);
  series.values.resize(kept);
  Cut(series.times, kept);
  Cut(series.lines, kept);
}

std::string ThinnedNote(std::uint64_t stride) {
  return fmt::format("too many points to keep: every {}th of each metric, and those that stand out",
                     FormatCount(stride));
}

bool Thinning::Keeps(ingest::PartBuilder::SeriesId id, double value) {
  if (latest_.size() <= id) latest_.resize(id + std::size_t{1});
  Latest& latest = latest_[id];
  const bool first = latest.seen == 0;
  const bool due = latest.seen++ % stride_ == 0;
  const bool stands_out =
      spikes_ ? LeavesLevel(value, latest.kept) : std::isfinite(value) != std::isfinite(latest.kept);
  if (!due && !first && !stands_out) return false;
  latest.kept = value;
  return true;
}

std::uint64_t Thinning::CountPoints() const {
  std::uint64_t points = 0;
  for (const model::Series& series : builder_.part().series) points += series.size();
  return points;
}

void Thinning::MakeRoom() {
  if (CountPoints() <= most_points_) return;
  Thin(true);
  // A series that jumps all the time is nothing but spikes.
  spikes_ = CountPoints() <= most_points_ / 4 * 3;
  if (!spikes_) Thin(false);
}

void Thinning::Thin(bool spikes) {
  stride_ *= 2;
  std::vector<model::Series>& all = builder_.part().series;
  latest_.resize(std::max(latest_.size(), all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Before the first thinning nobody counted: all of them were kept.
    if (stride_ == 2) latest_[i].seen = all[i].size();
    KeepEverySecond(all[i], spikes);
    if (!all[i].empty()) latest_[i].kept = all[i].values.back();
  }
}

}  // namespace vigil::tabular
