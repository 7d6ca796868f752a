// tabular/column_roles: what a column of a table of metrics is for, by its name: one table for every reader of rows, so
// that the same rows give the same series whatever file they stand in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace vigil::tabular {

// Numbers under the roles up to kFingerprint become series: those of the long form only in rows that are not of it.
enum class ColumnRole : std::uint8_t {
  kMetric,
  kLoss,
  kLearningRate,
  kEpoch,
  kRunTime,   // train_runtime and train_loss stand together in the last row of HF Trainer: the time and the mean loss
  kMeanLoss,  // of the whole run
  kTokens,    // counts of what was trained on so far: the axis of rows that have no step
  kSamples,
  kSplit,          // its text says what the row was measured on: "train", "val"
  kMetricName,     // long form: one metric a row, named in this column,
  kMetricVariant,  // distinguished from others of the name by this one,
  kMetricValue,    // with its value in this one
  kFingerprint,    // hash of the data of the step
  kStep,
  kPlannedSteps,
  kTime,
  kRank,
  kBookkeeping,  // says nothing about the training
};

struct ColumnUse {
  ColumnRole role = ColumnRole::kMetric;
  int priority = 0;  // of several columns of one role in a row the highest counts
};

// By the name of a column, or of a key with its path ("train/global_step"). Case, spaces and dashes do not matter.
ColumnUse UseOfColumn(std::string_view name);
constexpr bool BecomesSeries(ColumnRole role) { return role <= ColumnRole::kFingerprint; }

// Every name of the step, the one that counts first. Those of trainers that count optimizer steps over all epochs come
// before those that may begin again with each epoch, and `_step`, which counts log calls of a tracker, is the last.
std::span<const std::string_view> StepNames();
// Higher for a name that comes earlier in StepNames; 0 when it is none of them.
int StepPriority(std::string_view name);
// The same for a word of log text, where some count steps that are too short or too common for a column: "s 30",
// "batch 12", "opt_step=5". They come behind all names of columns.
int StepWordPriority(std::string_view word);
// Whether the name counts through all epochs: a smaller one is a restart, never the next epoch.
bool CountsWholeRun(std::string_view step_name);

// Whether the text of a kSplit column means data that were not trained on.
bool IsEvaluationSplit(std::string_view text);

// A hash as it stands in a kFingerprint column: eight hexadecimal digits or more, of a longer one the first 64 bits.
std::optional<std::uint64_t> ParseFingerprint(std::string_view text);

}  // namespace vigil::tabular
