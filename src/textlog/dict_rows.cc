#include "textlog/dict_rows.h"

#include <algorithm>
#include <cmath>

#include "textlog/row_place.h"

namespace vigil::textlog {
namespace {

// The step interval and first step of rows that were logged at regular steps.
struct Schedule {
  std::int64_t interval = 0;  // 0: unknown
  std::int64_t skipped = 0;   // intervals before the first row (a resumed run)
  bool first_step = false;    // step 1 was logged before the regular ones
};

// Epochs of the training rows, as far as a schedule needs them.
struct Epochs {
  std::size_t count = 0;
  double first = -1;
  double second = -1;
  double last = -1;
};

// Rows k = 1..n stand at k * interval, and the last one not behind `reached`: interval = floor(reached / n). A run
// that logged its first step has one row more; one that was resumed begins at a late epoch.
Schedule GuessSchedule(const Epochs& epochs, std::int64_t reached, std::int64_t stated) {
  Schedule schedule;
  const auto rows = static_cast<std::int64_t>(epochs.count);
  schedule.first_step = epochs.second >= 0.05 && epochs.first >= 0 && epochs.first < 0.3 * epochs.second;
  const std::int64_t regular = std::max<std::int64_t>(1, rows - (schedule.first_step ? 1 : 0));
  schedule.interval = stated > 0 ? stated : reached / regular;
  const bool resumed = rows >= 2 && reached > 0 && epochs.last > epochs.first &&
                       epochs.first > 3 * epochs.last / static_cast<double>(rows);
  if (!resumed) return schedule;
  schedule.first_step = false;
  const double steps_per_epoch = static_cast<double>(reached) / epochs.last;
  if (stated <= 0) {
    const double covered = steps_per_epoch * (epochs.last - epochs.first);
    schedule.interval = std::llround(covered / static_cast<double>(rows - 1));
  }
  if (schedule.interval <= 0) return schedule;
  const double first = steps_per_epoch * epochs.first / static_cast<double>(schedule.interval);
  schedule.skipped = std::max<std::int64_t>(0, std::llround(first) - 1);
  return schedule;
}

// Steps that an epoch has: of the training that ended, or as planned. 0 when unknown.
double StepsPerEpoch(double ended_epoch, std::int64_t ended_steps, const RowContext& context) {
  if (ended_epoch > 0 && ended_steps > 0) return static_cast<double>(ended_steps) / ended_epoch;
  return context.epochs > 0 ? static_cast<double>(context.total_steps) / context.epochs : 0;
}

// A straight line through points, by least squares.
struct Line {
  std::size_t count = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  void Add(double at, double value) {
    ++count;
    x += at;
    y += value;
    xx += at * at;
    xy += at * value;
  }
  // Its height at 0; that of the mean where the points stand above one another.
  double AtZero() const {
    const auto n = static_cast<double>(count);
    const double spread = n * xx - x * x;
    const double slope = spread > 0 ? (n * xy - x * y) / spread : 0;
    return (y - slope * x) / n;
  }
};

double Median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool TrainingBar::Observe(const ProgressBar& bar) {
  if (current_.total == 0 || bar.total == current_.total) {
    if (bar.count < current_.count) ++session_;
    current_ = {bar.count, bar.total};
    other_ = {};
    return true;
  }
  other_ = {bar.count, bar.total};
  return false;
}

void TrainingBar::ObserveTrainingRow() {
  if (other_.total == 0) return;
  // An evaluation that ran to its end behind a longer training is no new training.
  const bool is_running = other_.count < other_.total;
  const bool is_longer = other_.count > 2 * current_.count;
  if (!is_running && !is_longer) return;
  current_ = other_;
  other_ = {};
  ++session_;
}

void DictRows::Add(RowKind kind, double epoch, bool cleared, const TrainingBar& bar) {
  // Without bars, an epoch that falls back is a restart.
  const bool fell_back = kind == RowKind::kTraining && epoch >= 0 && epoch < last_epoch_ - 1e-9;
  if ((fell_back && bar.count() < 0) || (is_over_ && kind == RowKind::kTraining)) ++finished_;
  if (kind == RowKind::kTraining) {
    last_epoch_ = epoch;
    is_over_ = false;
  }
  Row row;
  row.bar_before = bar.count();
  row.epoch = epoch;
  row.session = bar.session() + finished_;
  row.kind = kind;
  row.cleared = cleared;
  rows_.push_back(row);
}

void DictRows::ObserveBar(std::int64_t count) {
  for (; awaiting_bar_ < rows_.size(); ++awaiting_bar_) rows_[awaiting_bar_].bar_after = count;
}

void DictRows::EndSession(double epoch, std::int64_t steps) {
  if (rows_.empty()) return;
  ends_.push_back({rows_.back().session, epoch, steps});
  is_over_ = true;
  last_epoch_ = -1;
  awaiting_bar_ = rows_.size();
}

std::int64_t DictRows::PositionOf(const Row& row) {
  return row.cleared && row.bar_after >= row.bar_before ? row.bar_after : row.bar_before;
}

// Rows written as they were logged find the bar at another count each time; buffered ones come in heaps.
bool DictRows::AreBetweenBars(std::size_t begin, std::size_t end) const {
  std::size_t pairs = 0;
  std::size_t stuck = 0;
  std::int64_t previous = -1;
  for (std::size_t i = begin; i < end; ++i) {
    if (rows_[i].kind != RowKind::kTraining) continue;
    const std::int64_t position = PositionOf(rows_[i]);
    if (position < 0) return false;
    if (i + 1 == end && rows_[i].cleared && rows_[i].bar_after < rows_[i].bar_before) break;
    if (previous >= 0) {
      ++pairs;
      if (position <= previous) ++stuck;
    }
    previous = position;
  }
  return stuck * 5 <= pairs;
}

const DictRows::End* DictRows::FindEnd(std::uint32_t session) const {
  const auto at = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) { return end.session == session; });
  return at == ends_.end() ? nullptr : &*at;
}

// Epochs are printed with two to four digits, so a step read off them is rough; rows that come at regular steps stand
// at the multiple of their interval that is nearest.
bool DictRows::CountByEpochs(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps) const {
  const End* const finish = FindEnd(rows_[begin].session);
  const double per_epoch =
      finish == nullptr ? StepsPerEpoch(0, 0, context) : StepsPerEpoch(finish->epoch, finish->steps, context);
  if (per_epoch < 1) return false;
  std::vector<double> gaps;
  double before = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (rows_[i].kind != RowKind::kTraining) continue;
    if (rows_[i].epoch < before) return false;
    if (rows_[i].epoch > before && before > 0) gaps.push_back((rows_[i].epoch - before) * per_epoch);
    before = rows_[i].epoch;
  }
  if (before <= 0 || gaps.empty()) return false;
  const double interval =
      context.logging_steps > 0 ? static_cast<double>(context.logging_steps) : std::max(1.0, std::round(Median(gaps)));
  std::int64_t latest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double step = std::max(0.0, rows_[i].epoch) * per_epoch;
    const bool training = rows_[i].kind == RowKind::kTraining;
    // The first step, logged before the regular ones, and evaluations stand where they stand.
    const double nearest = training && step >= interval / 2 ? std::round(step / interval) * interval : std::round(step);
    latest = std::max({latest, std::int64_t{1}, static_cast<std::int64_t>(std::llround(nearest))});
    steps.push_back(latest);
  }
  return true;
}

// "{'epoch': 3, 'train_loss': 0.5}" once in each epoch. An epoch with its fraction, or with two rows, is a place that
// several rows share.
bool DictRows::AreEpochs(std::size_t begin, std::size_t end) const {
  constexpr std::size_t kFewest = 3;
  double latest = -1;
  std::size_t trained = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double epoch = rows_[i].epoch;
    const bool training = rows_[i].kind == RowKind::kTraining;
    const bool goes_on = training && trained > 0 ? epoch > latest : epoch >= latest;
    if (epoch < 0 || epoch >= kLargestStep || epoch != std::floor(epoch) || !goes_on) return false;
    trained += training ? 1 : 0;
    latest = epoch;
  }
  return trained >= kFewest;
}

void DictRows::CountRows(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps) {
  Epochs epochs;
  std::int64_t reached = -1;
  for (std::size_t i = begin; i < end; ++i) {
    if (rows_[i].kind != RowKind::kTraining) continue;
    ++epochs.count;
    if (epochs.count == 1) epochs.first = rows_[i].epoch;
    if (epochs.count == 2) epochs.second = rows_[i].epoch;
    epochs.last = rows_[i].epoch;
    reached = rows_[i].bar_before;
  }
  if (const End* const finish = FindEnd(rows_[begin].session); reached <= 0 && finish != nullptr) {
    reached = finish->steps > 0 ? finish->steps : context.total_steps;
  }
  const Schedule schedule = GuessSchedule(epochs, std::max<std::int64_t>(reached, 0), context.logging_steps);
  const bool by_rows = schedule.interval <= 0;
  if (by_rows && CountByEpochs(begin, end, context, steps)) return;
  if (by_rows && AreEpochs(begin, end)) {
    for (std::size_t i = begin; i < end; ++i) steps.push_back(static_cast<std::int64_t>(rows_[i].epoch));
    counted_as_epochs_ = true;
    return;
  }
  counted_as_rows_ = counted_as_rows_ || by_rows;
  const std::int64_t interval = by_rows ? 1 : schedule.interval;
  std::int64_t index = by_rows ? 0 : schedule.skipped - (schedule.first_step ? 1 : 0);
  std::int64_t step = 0;
  double epoch = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (rows_[i].kind == RowKind::kTraining) {
      // Logged points are counted from 0, as those of tables are.
      step = by_rows ? index++ : std::max<std::int64_t>(1, ++index * interval);
      epoch = rows_[i].epoch;
      steps.push_back(step);
    } else {
      // An evaluation follows the training row of its step, or falls between two.
      const bool same = by_rows || epoch <= 0 || rows_[i].epoch <= epoch;
      const double ahead = same ? 0 : (rows_[i].epoch / epoch - 1) * static_cast<double>(step);
      steps.push_back(step + std::min(std::llround(ahead), static_cast<long long>(interval)));
    }
  }
}

// Where the bar writes lines of its own, the one of a row's step can stand behind the row: then no bar comes before the
// first row, or the counts behind the rows fit their epochs and those before them lag.
bool DictRows::AreBeforeTheirBars(std::size_t begin, std::size_t end) const {
  Line before;
  Line behind;
  std::int64_t last = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Row& row = rows_[i];
    if (row.kind != RowKind::kTraining) continue;
    if (row.cleared || row.bar_after <= last) return false;
    last = row.bar_after;
    before.Add(row.epoch, static_cast<double>(row.bar_before));
    behind.Add(row.epoch, static_cast<double>(row.bar_after));
  }
  if (behind.count < 3) return false;
  if (rows_[begin].bar_before < 0) return true;
  const double interval = static_cast<double>(last - rows_[begin].bar_after) / static_cast<double>(behind.count - 1);
  return std::abs(behind.AtZero()) < interval / 2 && before.AtZero() < -interval / 2;
}

void DictRows::ResolveSession(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps) {
  if (AreBeforeTheirBars(begin, end)) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool training = rows_[i].kind == RowKind::kTraining;
      const std::int64_t step = training || i == begin ? rows_[i].bar_after : rows_[i].bar_before;
      steps.push_back(i == begin ? step : std::max(step, steps.back()));
    }
    return;
  }
  if (!AreBetweenBars(begin, end)) return CountRows(begin, end, context, steps);
  std::int64_t latest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    latest = std::max({latest, PositionOf(rows_[i]), WithoutABarBehind(i, begin, steps)});
    steps.push_back(latest);
  }
}

// The step of a row behind which the log was cut, or another training began, before the bar was drawn again: the
// display before it lags, so the row's epoch, or the interval of the rows before it, decides. `steps` are theirs.
std::int64_t DictRows::WithoutABarBehind(std::size_t row, std::size_t begin, const Steps& steps) const {
  const Row& lost = rows_[row];
  if (!lost.cleared || lost.kind != RowKind::kTraining || lost.bar_after >= lost.bar_before) return -1;
  const std::size_t first = steps.size() - (row - begin);
  std::int64_t last = -1;
  std::int64_t before = -1;
  double epoch = 0;
  for (std::size_t i = begin; i < row; ++i) {
    if (rows_[i].kind != RowKind::kTraining) continue;
    before = last;
    last = steps[first + (i - begin)];
    epoch = rows_[i].epoch;
  }
  if (last <= 0) return -1;
  const std::int64_t interval = before < 0 ? last : last - before;
  if (epoch <= 0 || lost.epoch <= epoch) return last + std::max<std::int64_t>(1, interval);
  const auto rough = static_cast<double>(last) * lost.epoch / epoch;
  // Within the rounding of the epoch the interval is the better guess.
  if (std::abs(rough - static_cast<double>(last + interval)) <= 0.5 * static_cast<double>(interval) + 1)
    return last + std::max<std::int64_t>(1, interval);
  return rough < 9e15 ? std::max(last + 1, static_cast<std::int64_t>(std::llround(rough))) : last + 1;
}

std::vector<std::int64_t> DictRows::Resolve(const RowContext& context) {
  Steps steps;
  steps.reserve(rows_.size());
  counted_as_rows_ = false;
  counted_as_epochs_ = false;
  for (std::size_t begin = 0; begin < rows_.size();) {
    std::size_t end = begin + 1;
    while (end < rows_.size() && rows_[end].session == rows_[begin].session) ++end;
    ResolveSession(begin, end, context, steps);
    begin = end;
  }
  return steps;
}

}  // namespace vigil::textlog
