#include "textlog/metric_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "tabular/tabular.h"
#include "textlog/digits.h"

namespace vigil::textlog {
namespace {

// A line of many metrics takes some thousand characters; longer ones quote something else.
constexpr std::size_t kLongestMetricLine = 16384;
// Training, evaluation, and the same with an odd number in them.
constexpr std::size_t kMostShapes = 8;
// Rows without a step are kept until the end tells theirs.
constexpr std::size_t kMostDictRows = 1'000'000;
// What numbers without names are called.
constexpr std::array<std::string_view, PlainNumbers::kMostValues> kColumnNames = {
    "column 2", "column 3", "column 4", "column 5", "column 6", "column 7", "column 8", "column 9"};
// Beyond it a number in text is no count of steps.
constexpr double kLargestStep = 9e15;

const NamedNumber* FindNumber(const NamedNumbers& numbers, std::string_view name) {
  const auto at = std::find_if(numbers.begin(), numbers.end(), [&](const NamedNumber& n) { return n.name == name; });
  return at == numbers.end() ? nullptr : &*at;
}

double NumberOr(const NamedNumbers& numbers, std::string_view name, double otherwise) {
  const NamedNumber* number = FindNumber(numbers, name);
  return number == nullptr || !std::isfinite(number->value) ? otherwise : number->value;
}

std::int64_t ExplicitStep(const NamedNumbers& numbers) {
  constexpr std::array<std::string_view, 9> kNames = {
      "step",          "global_step",          "iteration",   "iter",      "train/global_step",
      "current_steps", "training/global_step", "num_updates", "train_step"};
  for (const std::string_view name : kNames) {
    const double step = NumberOr(numbers, name, -1);
    if (step >= 0 && step <= kLargestStep) return static_cast<std::int64_t>(step);
  }
  return -1;
}

// {'train_runtime': ..., 'train_samples_per_second': ..., 'train_loss': ...}: the summary at the end.
bool IsSummary(const NamedNumbers& numbers) {
  return FindNumber(numbers, "train_runtime") != nullptr && FindNumber(numbers, "loss") == nullptr &&
         (FindNumber(numbers, "train_loss") != nullptr || FindNumber(numbers, "train_samples_per_second") != nullptr);
}

RowKind KindOfRow(const NamedNumbers& numbers) {
  if (FindNumber(numbers, "loss") != nullptr) return RowKind::kTraining;
  const bool evaluates = std::any_of(numbers.begin(), numbers.end(), [](const NamedNumber& number) {
    return number.name.starts_with("eval") || number.name.starts_with("test_");
  });
  return evaluates ? RowKind::kEvaluation : RowKind::kTraining;
}

// "5120/10000 [=====>....] - ETA: 10s - loss: 0.65" and the same with the bar of Keras 3.
bool IsKerasBar(const MetricLine& line, std::string_view text) {
  if (!line.step_opens_line) return false;
  return text.find(" [=") != std::string_view::npos || text.find("\xE2\x94\x81") != std::string_view::npos;
}

void RebuildSegments(model::Series& series) {
  series.segment_starts.clear();
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (i == 0 || series.steps[i] <= series.steps[i - 1])
      series.segment_starts.push_back(static_cast<std::uint32_t>(i));
  }
}

}  // namespace

std::string_view MetricRows::NameOf(std::string_view name, bool evaluation) {
  if (!evaluation || StartsWithIgnoringCase(name, "val") || StartsWithIgnoringCase(name, "eval") ||
      StartsWithIgnoringCase(name, "test"))
    return name;
  if (name == "lm loss value") return "lm loss validation";
  name_ = "val/";
  name_ += name;
  return name_;
}

bool MetricRows::FindNames(const NamedNumbers& numbers, const Place& place) {
  std::uint32_t first_metric = 0;
  bool twice = false;
  found_.clear();
  for (const NamedNumber& number : numbers) {
    const std::uint32_t index = table_.Find(NameOf(number.name, place.evaluation), place.rank, place.origin, false);
    found_.push_back(index);
    if (index == 0 || !table_.entry(index).is_metric) continue;
    // A metric told twice: several lines quoted in one.
    twice = twice || index == first_metric;
    if (first_metric == 0) first_metric = index;
  }
  return first_metric != 0 && !twice;
}

// "dt: 123.45ms" under a name whose unit is the second, "mem 512MiB" under one whose unit is the gibibyte.
void MetricRows::BringToUnits(NamedNumbers& numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (found_[i] == 0) continue;
    const auto& entry = table_.entry(found_[i]);
    const double factor = entry.in_seconds ? numbers[i].seconds : entry.in_gibibytes ? numbers[i].gibibytes : 0;
    if (factor == 0) continue;
    numbers[i].value *= factor;
    numbers[i].name_scale *= factor;
  }
}

void MetricRows::AddPoints(const NamedNumbers& numbers, const Place& place) {
  bool has_loss = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint32_t index = found_[i];
    if (numbers[i].missing) {
      AddNull(index, place);
      continue;
    }
    if (index == 0 && !numbers[i].weak)
      index = table_.Find(NameOf(numbers[i].name, place.evaluation), place.rank, place.origin, true);
    const bool unknown = index == 0 || (numbers[i].weak && !table_.entry(index).known);
    if (unknown || (!numbers[i].at_cut.empty() && !IsWholeNumber(numbers[i].at_cut, index))) {
      found_[i] = 0;
      continue;
    }
    found_[i] = index;
    if (table_.entry(index).is_loss) {
      has_loss = true;
      if (loss_name_ != numbers[i].name) loss_name_ = std::string(numbers[i].name);
    }
    table_.Add(index, place.step, numbers[i].value, place.line, place.axis);
  }
  if (!has_loss && !place.evaluation) AddMissingLoss(numbers, place);
  if (!has_loss) AddSumOfLosses(numbers, place);
  if (running_mean_) MarkRunningMeans();
}

// Whether a number that an unfinished line ends with has all its digits, by those that its series had before.
bool MetricRows::IsWholeNumber(std::string_view text, std::uint32_t index) const {
  const SeriesTable::Entry& entry = table_.entry(index);
  return HasAllDigits(text, entry.is_open ? std::span(builder_.series(entry.series).values) : std::span<double>());
}

// Detectors of objects print the parts of their loss and not the whole ("box_loss", "cls_loss", "dfl_loss"). Parts that
// pull against each other (of GANs) have no sum that says anything.
void MetricRows::AddSumOfLosses(const NamedNumbers& numbers, const Place& place) {
  double sum = 0;
  std::string name;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (found_[i] == 0 || numbers[i].missing || !numbers[i].name.ends_with("_loss")) continue;
    if (table_.entry(found_[i]).known || tabular::IsOfAdversary(numbers[i].name)) return;
    if (parts++ != 0) name += '+';
    name += numbers[i].name;
    sum += numbers[i].value;
  }
  if (parts < 2) return;
  const std::uint32_t index = table_.FindSum(name, place.rank, place.origin, place.evaluation);
  if (index != 0) table_.Add(index, place.step, sum, place.line, place.axis);
}

void MetricRows::MarkRunningMeans() {
  for (const std::uint32_t index : found_) {
    if (index == 0 || !table_.entry(index).is_open) continue;
    model::Series& series = builder_.series(table_.entry(index).series);
    if (series.signal == "loss" || series.signal == "accuracy") series.aggregation = model::Aggregation::kRunningMean;
  }
}

// JSON has no NaN, so some loggers write null for it. Only where the same name had a number before: a value that was
// never there is merely not measured.
void MetricRows::AddNull(std::uint32_t index, const Place& place) {
  if (index == 0 || !table_.entry(index).is_open || !table_.entry(index).is_loss) return;
  table_.Add(index, place.step, model::kNoValue, place.line, place.axis);
}

// Megatron leaves a loss out of its line when it is NaN. A line of steps that the loss scaler skipped has none either,
// for a better reason, unless it says that they were NaN. In other trainers a gradient norm that is not finite tells.
void MetricRows::AddMissingLoss(const NamedNumbers& numbers, const Place& place) {
  const bool complete = FindNumber(numbers, "number of nan iterations") != nullptr;
  const bool skipped = NumberOr(numbers, "number of skipped iterations", 1) != 0;
  const bool said = NumberOr(numbers, "number of nan iterations", 0) > 0;
  const bool megatron = complete && (!skipped || said);
  const std::uint32_t known = table_.Find(loss_name_, place.rank, place.origin, false);
  const bool had_one = known != 0 && table_.entry(known).is_open;
  if (!megatron && !(had_one && HasBadGradient(numbers))) return;
  const std::uint32_t index = table_.Find(loss_name_, place.rank, place.origin, true);
  if (index != 0) table_.Add(index, place.step, model::kNoValue, place.line, place.axis);
}

bool MetricRows::HasBadGradient(const NamedNumbers& numbers) const {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (found_[i] != 0 && table_.entry(found_[i]).is_grad_norm && !std::isfinite(numbers[i].value)) return true;
  }
  return false;
}

// Steps that begin anew in every epoch are counted through: "Epoch 2, step 10", "Epoch [2][40/500]", Keras' bars.
std::int64_t MetricRows::StepWithinEpochs(const MetricLine& line) {
  const double epoch = line.epoch >= 0 ? line.epoch : header_epoch_;
  if (epoch < 0 || line.step_is_global) return line.step;
  if (first_epoch_ < 0) first_epoch_ = epoch == 0 ? 0 : 1;
  const bool counted_in_epoch = line.step_within_epoch || (line.step_opens_line && line.epoch < 0);
  if (counted_in_epoch && line.total_steps > 0) {
    const double start = std::max(0.0, std::floor(epoch) - first_epoch_) * static_cast<double>(line.total_steps);
    epoch_start_ = start < kLargestStep ? static_cast<std::int64_t>(start) : 0;
  } else if (epoch < epoch_) {
    epoch_start_ = 0;
  } else if (epoch > epoch_ && epoch_ >= 0 && line.step <= raw_step_) {
    epoch_start_ += line.total_steps > 0 ? line.total_steps : raw_step_ + raw_gap_;
  }
  epoch_ = epoch;
  return epoch_start_ + line.step;
}

// The step through all epochs, remembered for the next line.
std::int64_t MetricRows::CountedStep(const MetricLine& line) {
  const std::int64_t step = StepWithinEpochs(line);
  if (line.step > raw_step_ && raw_step_ >= 0) raw_gap_ = line.step - raw_step_;
  raw_step_ = line.step;
  return step;
}

void MetricRows::PlaceLine(const MetricLine& line, Place& place) {
  if (line.counted) {
    place.step = line.step;
    return;
  }
  if (line.step < 0) {
    place.step = line.epoch < kLargestStep ? static_cast<std::int64_t>(line.epoch) : 0;
    place.axis = model::Axis::kEpoch;
    return;
  }
  place.step = CountedStep(line);
  if (line.total_steps > 0 && line.epoch < 0 && header_epoch_ < 0) total_steps_ = line.total_steps;
}

bool MetricRows::TakeTable(std::string_view text, std::int32_t rank, std::uint32_t line_number) {
  const TableReader::Place where = tables_.Consume(text, table_row_);
  if (where != TableReader::Place::kRow) return where == TableReader::Place::kInside;
  Place place = {table_row_.step, rank, line_number, Origin::kTable, table_row_.evaluation};
  if (table_row_.step < 0) {
    place.step = static_cast<std::int64_t>(table_row_.epoch);
    place.axis = model::Axis::kEpoch;
  } else if (table_row_.total > 0) {
    total_steps_ = table_row_.total;
  }
  FindNames(table_row_.numbers, place);
  AddPoints(table_row_.numbers, place);
  last_step_ = place.step;
  return true;
}

bool MetricRows::TakeRepeated(const CleanLine& line, bool cut, std::uint32_t line_number) {
  if (cut) return false;
  const bool parsed = ParseMetricLine(line.text, cut, metric_line_);
  if (parsed && metric_line_.step >= 0 && metric_line_.epoch >= 0) metric_line_.step = CountedStep(metric_line_);
  const auto& rows = repetition_.Take(line.text, metric_line_, parsed, line.rank, line_number);
  for (const LearnedRow& row : rows) {
    postfix_.clear();
    for (const LearnedRow::Number& number : row.numbers) postfix_.push_back({number.name, number.value});
    Place place = {row.step, row.rank, row.line};
    if (row.unplaced) {
      place.origin = Origin::kUnplaced;
      place.axis = model::Axis::kRow;
    }
    FindNames(postfix_, place);
    AddPoints(postfix_, place);
    last_step_ = row.step;
  }
  if (!rows.empty() && !parsed && !rows.back().unplaced && metric_line_.lead >= 0) RememberCounted(line);
  return !rows.empty();
}

bool MetricRows::TakePlain(const CleanLine& line, bool cut, bool has_word, std::uint32_t line_number) {
  const std::size_t first = line.text.find_first_not_of(' ');
  if (cut || first == std::string_view::npos) return false;
  const char c = line.text[first];
  if (!IsDigit(c) && c != '[' && c != '|' && c != '(') return false;
  if (!plain_numbers_.is_believed() && TakeLineByShape(line, line_number)) return true;
  if (!has_word && !plain_numbers_.is_believed() && c != '|' && TakeRepeated(line, cut, line_number)) {
    is_plain_ = true;
    return true;
  }
  const auto& rows = plain_numbers_.Take(line.text, line_number);
  for (const PlainNumbers::Row& row : rows) {
    const Place place = {row.step, line.rank, row.line, Origin::kPlain};
    postfix_.clear();
    for (std::size_t i = 0; i < row.count; ++i) postfix_.push_back({kColumnNames[i], row.values[i]});
    FindNames(postfix_, place);
    AddPoints(postfix_, place);
    last_step_ = row.step;
    is_plain_ = true;
  }
  return !rows.empty();
}

// Nothing names the numbers of such lines; a script that prints one number a step prints its loss.
void MetricRows::NamePlainLoss() {
  for (model::Series& series : builder_.part().series) {
    if (series.raw != "column 2" || series.empty() || !GoesLikeALoss(series)) continue;
    series.signal = "loss";
    builder_.AddNote("the lines hold nothing but numbers: the second is taken for the loss, by the way it goes");
    return;
  }
}

bool MetricRows::TakeLine(const CleanLine& line, bool cut, std::uint32_t line_number) {
  if (TakeResultLine(line, line_number)) return true;
  if (block_step_ >= 0 && TakeBlockLine(line, line_number)) return true;
  if (OpenEvaluationBlock(line.text)) return true;
  if (!cut && TakeLineByShape(line, line_number)) return true;
  if (line.text.size() > kLongestMetricLine || !ParseMetricLine(line.text, cut, metric_line_)) return false;
  if (metric_line_.guessed) return false;  // until such lines come again and again
  const Origin origin = metric_line_.is_summary ? Origin::kSummary : Origin::kLine;
  Place place = {0, line.rank, line_number, origin, metric_line_.evaluation};
  for (NamedNumber& number : metric_line_.numbers) {
    // A time in milliseconds is that of one step; one in seconds mostly that since the start.
    if (number.seconds == 1e-3 && EqualsIgnoringCase(number.name, "time")) number.name = "time (ms)";
  }
  if (!FindNames(metric_line_.numbers, place)) {
    if (metric_line_.step < 0 && metric_line_.numbers.empty()) header_epoch_ = metric_line_.epoch;
    return OpenBlock(line.text);
  }
  PlaceLine(metric_line_, place);
  BringToUnits(metric_line_.numbers);
  running_mean_ = IsKerasBar(metric_line_, line.text);
  AddPoints(metric_line_.numbers, place);
  running_mean_ = false;
  last_step_ = place.step;
  if (by_shape_ && !cut && !metric_line_.irregular) RememberShape(line);
  return true;
}

bool MetricRows::TakeLineByShape(const CleanLine& line, std::uint32_t line_number) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].rank != line.rank || !shapes_[i].shape.Read(line.text, metric_line_, values_)) continue;
    AddValues(line.rank, line_number);
    MoveForward(i);
    return true;
  }
  return false;
}

std::size_t MetricRows::TakeLikeBefore(std::string_view text, std::uint32_t line_number) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const RankShape& known = shapes_[i];
    if (!known.verbatim || !text.starts_with(known.prefix)) continue;
    const std::string_view rest = text.substr(known.prefix.size());
    const std::size_t length = known.shape.ReadFront(rest, metric_line_, values_);
    if (length == 0 || length == rest.size() || (rest[length] != '\n' && rest[length] != '\r')) continue;
    const std::size_t taken = known.prefix.size() + length;
    AddValues(known.rank, line_number);
    MoveForward(i);
    return taken;
  }
  return 0;
}

// The numbers that a shape read.
void MetricRows::AddValues(std::int32_t rank, std::uint32_t line_number) {
  Place place = {0, rank, line_number, Origin::kLine, metric_line_.evaluation};
  PlaceLine(metric_line_, place);
  for (const LineShape::Value& value : values_)
    table_.Add(value.series, place.step, value.value, line_number, place.axis);
  last_step_ = place.step;
}

// Shapes in use move to the front.
void MetricRows::MoveForward(std::size_t shape) {
  if (shape != 0) std::swap(shapes_[shape], shapes_[shape - 1]);
}

// Only of lines that hold their loss: those without one are looked at closely.
void MetricRows::RememberShape(const CleanLine& line) {
  const auto is_loss = [&](std::uint32_t index) { return index != 0 && table_.entry(index).is_loss; };
  if (!metric_line_.evaluation && std::none_of(found_.begin(), found_.end(), is_loss)) return;
  auto shape = LineShape::Of(line.text, metric_line_, found_);
  if (shape) KeepShape(line, std::move(*shape));
}

// A line that a count without a name opens, of which the numbers in postfix_ were kept.
void MetricRows::RememberCounted(const CleanLine& line) {
  if (!by_shape_) return;
  std::vector<std::uint32_t> series;
  series.reserve(metric_line_.numbers.size());
  for (const NamedNumber& number : metric_line_.numbers) {
    const NamedNumber* const kept = FindNumber(postfix_, number.name);
    series.push_back(kept == nullptr ? 0 : found_[static_cast<std::size_t>(kept - postfix_.data())]);
  }
  metric_line_.step = metric_line_.lead;
  metric_line_.step_at = metric_line_.lead_at;
  metric_line_.step_thousands = false;
  metric_line_.counted = true;
  metric_line_.evaluation = false;
  auto shape = LineShape::Of(line.text, metric_line_, series);
  if (shape) KeepShape(line, std::move(*shape));
}

void MetricRows::KeepShape(const CleanLine& line, LineShape shape) {
  if (shapes_.size() == kMostShapes) shapes_.pop_back();
  // With other digits the cleaner could see a prefix or a rank in such a line, or the reader a block.
  const bool doubtful = IsDigit(line.text.front()) || (line.rank < 0 && ContainsIgnoringCase(line.text, "rank")) ||
                        line.text.starts_with("[eval batch=");
  const bool verbatim = line.verbatim && !doubtful;
  shapes_.insert(shapes_.begin(), {std::move(shape), line.rank, std::string(line.prefix), verbatim});
}

bool MetricRows::TakePostfix(const ProgressBar& bar, std::int32_t rank, std::uint32_t line_number) {
  ParseNamedNumbers(bar.postfix, postfix_);
  Place place = {0, rank, line_number, Origin::kBar};
  if (!FindNames(postfix_, place)) return false;
  if (bar.count < bar_count_) {
    // A bar that ran to its end begins again with the next epoch; another one belongs to another start.
    const bool finished = bar_count_ >= bar_total_ - bar_total_ / 20;
    bar_start_ = finished && bar_start_ < kUnresolved / 2 ? bar_start_ + bar_total_ : 0;
  }
  bar_count_ = bar.count;
  bar_total_ = bar.total;
  const double stated = NumberOr(postfix_, "global_step", -1);
  place.step = stated >= 0 && stated < kLargestStep ? static_cast<std::int64_t>(stated) : bar_start_ + bar.count;
  last_step_ = place.step;
  AddPoints(postfix_, place);
  return true;
}

MetricRows::DictKind MetricRows::TakeDict(const NamedNumbers& numbers, std::string_view before, const CleanLine& line,
                                          bool cleared, TrainingBar& bar, std::uint32_t line_number) {
  const double epoch = NumberOr(numbers, "epoch", -1);
  if (IsSummary(numbers)) {
    const double steps = NumberOr(numbers, "train_runtime", 0) * NumberOr(numbers, "train_steps_per_second", 0);
    dict_rows_.EndSession(epoch, steps > 0 && steps < kLargestStep ? std::llround(steps) : 0);
    return DictKind::kEnd;
  }
  std::int64_t step = ExplicitStep(numbers);
  if (step < 0 && !IsBlank(before) && ParseMetricLine(before, false, metric_line_)) step = metric_line_.step;
  // A dictionary of settings knows a learning rate too; a row of metrics says where in the training it stands.
  const bool has_loss_and_more = FindNumber(numbers, "loss") != nullptr && numbers.size() > 1;
  if (step < 0 && epoch < 0 && !has_loss_and_more) return DictKind::kNone;
  Place place = {step, line.rank, line_number, step < 0 ? Origin::kDictRow : Origin::kDictWithStep};
  if (!FindNames(numbers, place)) return DictKind::kNone;
  if (step < 0 && dict_rows_.size() >= kMostDictRows) {
    ++lost_rows_;
    return DictKind::kNone;
  }
  if (step < 0) {
    const RowKind kind = KindOfRow(numbers);
    if (kind == RowKind::kTraining) bar.ObserveTrainingRow();
    place.step = kUnresolved + static_cast<std::int64_t>(dict_rows_.size());
    dict_rows_.Add(kind, epoch, cleared, bar);
  }
  if (step >= 0 || bar.count() < 0) last_step_ = place.step;
  AddPoints(numbers, place);
  return DictKind::kRow;
}

void MetricRows::ObserveBar(std::int64_t count) {
  dict_rows_.ObserveBar(count);
  last_step_ = count;
}

void MetricRows::TakeLossScale(double attempted, double scale, std::uint32_t line_number) {
  const std::int64_t latest = last_step_ >= kUnresolved ? -1 : last_step_;
  const auto add = [&](std::string_view name, double value) {
    const NamedNumbers numbers = {{name, value}};
    Place place = {scale_step_, -1, line_number};
    if (latest < 0) place.axis = model::Axis::kRow;  // no line told a step yet
    FindNames(numbers, place);
    AddPoints(numbers, place);
  };
  scale_step_ = std::max(scale_step_ + 1, latest);
  // The scale had grown unseen since it was last told.
  if (attempted > scale_) {
    add("loss_scale", attempted);
    ++scale_step_;
  }
  scale_ = scale;
  add("loss_scale", scale);
  if (attempted == attempted && latest >= 0) add("skipped_steps", static_cast<double>(++skipped_));
}

void MetricRows::ResolveDictRows() {
  model::Run& part = builder_.part();
  RowContext context;
  context.total_steps = std::max<std::int64_t>(total_steps_, std::llround(part.FactNumber("max_steps").value_or(0)));
  context.logging_steps = std::llround(std::floor(part.FactNumber("logging_steps").value_or(0)));
  context.epochs = part.FactNumber("epochs").value_or(0);
  const std::vector<std::int64_t> steps = dict_rows_.Resolve(context);
  const auto resolve = [&](std::int64_t& step) {
    if (step >= kUnresolved) step = steps[static_cast<std::size_t>(step - kUnresolved)];
  };
  for (model::Series& series : part.series) {
    if (series.steps.empty() || *std::max_element(series.steps.begin(), series.steps.end()) < kUnresolved) continue;
    for (std::int64_t& step : series.steps) resolve(step);
    RebuildSegments(series);
    if (dict_rows_.counted_as_rows()) series.axis = model::Axis::kRow;
  }
  for (model::Event& event : part.events) resolve(event.step);
  resolve(last_step_);
  if (dict_rows_.counted_as_rows()) builder_.AddNote("the lines name no steps: logged points are counted instead");
}

void MetricRows::Finish(const TrainingBar& bar) {
  model::Run& part = builder_.part();
  if (dict_rows_.size() != 0) ResolveDictRows();
  table_.Settle();
  if (plain_numbers_.is_believed()) NamePlainLoss();
  if (table_.stride() > 1) builder_.AddNote(tabular::ThinnedNote(table_.stride()));
  if (lost_rows_ != 0) builder_.AddNote(fmt::format("{} rows more without a step left out", FormatCount(lost_rows_)));
  const std::int64_t stated = std::llround(part.FactNumber("max_steps").value_or(0));
  if (dict_rows_.size() != 0 && bar.total() > 0) {
    part.planned_steps = bar.total();
  } else {
    part.planned_steps = total_steps_ > 0 ? total_steps_ : std::max<std::int64_t>(0, stated);
  }
}

}  // namespace vigil::textlog
