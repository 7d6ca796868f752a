// model/run: a training run as plain data: series in columns, events, settings, checkpoints. No I/O, no behaviour
// beyond keeping its own shape. Points are kept in columns, so ten million of them cost what their numbers cost.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/column.h"
#include "model/position.h"
#include "model/statement.h"

namespace vigil::model {

template <class T>
using Column = vigil::Column<T>;

// "No value was given", distinguished from a value that is NaN by its payload, which copies keep.
inline constexpr double kNoValue = std::bit_cast<double>(std::uint64_t{0x7ff8'0000'7669'6769});
constexpr bool IsNoValue(double value) {
  return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(kNoValue);
}
inline constexpr std::int64_t kNoStep = -1;

// How one logged value stands for the steps since the value before it. A running mean is taken over all steps since the
// beginning of the epoch: it hides what happens late in one, and jumps where the next begins.
enum class Aggregation : std::uint8_t { kUnknown, kInstant, kMean, kRunningMean };
// Whether a gradient norm was taken before or after clipping.
enum class Clipping : std::uint8_t { kUnknown, kBefore, kAfter };

// Sorted by key. Keys in use: rank, layer, reward (function), dataset, task, phase.
using Labels = std::vector<std::pair<std::string, std::string>>;
std::string_view FindLabel(const Labels& labels, std::string_view key);

// Where something stands: an index into Run::sources, and a line there (1-based, 0 = not a line of text).
struct Place {
  std::uint32_t source = 0;
  std::uint32_t line = 0;
};

// What a series is, without its points.
struct SeriesHeader {
  std::string signal;  // canonical id from the vocabulary; the raw name when the vocabulary does not know it
  std::string raw;     // the name in the source
  std::string unit;
  Labels labels;
  Axis axis = Axis::kStep;
  Aggregation aggregation = Aggregation::kUnknown;
  Clipping clipping = Clipping::kUnknown;
  std::uint32_t source = 0;
  std::vector<std::string> sum_of;  // the raw names of the series that it was added up from, or empty

  // All of it, of a series whose points are not wanted.
  void TakeHeaderOf(const SeriesHeader& other) { *this = other; }
};

// One labelled stream of numbers. A copy shares the points. `steps` and `values` have equal length; `times` (unix
// seconds) and `lines` have that length or are empty. Steps rise within a segment; a step that goes back opens the next
// segment: a restart is kept beside what it overwrote.
struct Series : SeriesHeader {
  Column<std::int64_t> steps;
  Column<double> values;
  Column<double> times;
  Column<std::uint32_t> lines;
  std::vector<std::uint32_t> segment_starts;  // index of each segment's first point; front is 0 when there are points

  // Appends a point; opens a segment when `step` is not above the last one. `time` NaN and `line` 0 mean unknown.
  // Inline, because readers of event files spend their time here.
  void Append(std::int64_t step, double value, double time = kNoValue, std::uint32_t line = 0) {
    if (steps.empty() || step <= steps.back()) segment_starts.push_back(static_cast<std::uint32_t>(steps.size()));
    // The optional columns start with the first point that has something to put there.
    if (!times.empty() || time == time) AppendTime(time);
    if (!lines.empty() || line != 0) AppendLine(line);
    steps.push_back(step);
    values.push_back(value);
  }
  std::size_t size() const { return values.size(); }
  bool empty() const { return values.empty(); }
  // Only the first `count` points are kept.
  void Truncate(std::size_t count);
  void ClearPoints() { Truncate(0); }
  // Counts the points instead of the steps they have: 0, 1, 2, ...
  void CountPoints();
  // Where the point stands.
  Position PositionOf(std::size_t index) const { return {axis, steps[index]}; }
  // Typical steps between two points (median over the beginning and the end of the series), 0 with fewer than two.
  double LoggingInterval() const;

 private:
  void AppendTime(double time) {
    times.FillTo(steps.size(), kNoValue);
    times.push_back(time);
  }
  void AppendLine(std::uint32_t line) {
    lines.FillTo(steps.size(), 0);
    lines.push_back(line);
  }
};

enum class EventKind : std::uint8_t {
  kMessage,
  kException,
  kSignature,
  kCheckpoint,
  kResume,
  kEpoch,
  kExit,
  kNanHider
};

// Name of the event that a process left its journal without an end: it was killed, hangs, or still runs.
inline constexpr std::string_view kNoEndEvent = "journal/no-end";

// Names of the events that a guard of the training records for what it decided.
inline constexpr std::string_view kGuardSkipped = "guard/skip";
inline constexpr std::string_view kGuardRolledBack = "guard/rollback";
inline constexpr std::string_view kGuardStopped = "guard/stop";
inline constexpr std::string_view kGuardObserved = "guard/observe";
// Name of the event that a process went on in a new file.
inline constexpr std::string_view kNewFileEvent = "run/new-file";

// Something that happened. `name` is the exception type, the signature id or empty.
struct Event {
  EventKind kind = EventKind::kMessage;
  std::string name;
  std::string text;     // as the file has it; empty when the file records it without words
  Statement says = {};  // what it recorded, then
  std::string detail;   // the innermost frame of a traceback as "file:line in function", or empty
  Position at;          // unknown when nothing says it
  double time = kNoValue;
  std::int32_t rank = -1;
  bool run_went_on = false;  // later steps were made after it, in the same training
  Place place;
  std::string decision;  // what a line of a log says that the guard did, as the name of its event; or empty
};

// Whether both record the same, in the same words.
inline bool SameWords(const Event& a, const Event& b) {
  return a.kind == b.kind && a.name == b.name && a.text == b.text && SameStatement(a.says, b.says);
}

// A setting the run stated: `key` is canonical where the vocabulary knows it (lr, warmup_steps, max_grad_norm, fp16,
// ...).
struct Fact {
  std::string key;
  std::string value;
  std::string raw_key;
  Place place;
};

// A table or text the run left: completions, a profile, a snapshot. Kept by reference.
struct Artifact {
  std::string kind;
  std::string path;
  Position at;
};

// What CheckpointFiles::missing holds where a folder has no weights at all.
inline constexpr std::string_view kNoWeights = "weights";

// A checkpoint that is on disk: a folder or a file.
struct CheckpointFiles {
  std::string path;
  Position at;
  std::vector<std::string> missing = {};  // what is not there, or not whole; empty: it can be resumed from
};

// Hash of the data of an optimizer step, so that a spike can be tied to it and data that come again are seen. Columns
// of equal length; the rank is -1 where it is not known.
struct BatchFingerprints {
  Column<StepAt> steps;
  Column<std::uint64_t> hashes;
  Column<std::int32_t> ranks;

  void Append(StepAt step, std::uint64_t hash, std::int32_t rank) {
    steps.push_back(step);
    hashes.push_back(hash);
    ranks.push_back(rank);
  }
  // All of the others, shared where there were none.
  void Append(const BatchFingerprints& others);
};

enum class SourceState : std::uint8_t { kRead, kPartial, kDuplicate };

// Why a source was joined to the sources before it: which rule of joining, the fact that decided, and, where values
// were compared, at how many of the steps that both have they were the same.
struct JoinReason {
  std::string pass;  // empty for the first source of a run
  Statement because = {};
  std::uint64_t agreeing = 0;
  std::uint64_t common = 0;
};

struct Source {
  std::string path;
  std::string format;
  SourceState state = SourceState::kRead;
  std::vector<Statement> notes = {};  // what its reader remarks: why it is partial, what was left out
  std::string run = {};               // which one, in a file that holds several (a tracker's database)
  JoinReason joined = {};
  int digits = 4;                 // significant digits that its format keeps
  std::string duplicate_of = {};  // path of a source that holds all that is in this one
  bool has_messages = false;      // what the program printed was read: error messages in it would have been seen
  bool is_config = false;         // settings as a user writes them
};

// What kind of training this is: pretrain, sft, lora, grpo, ppo, dpo, ebft, other. Confidence 0..1; fixed limits hold
// only from kMethodKnown on.
struct TrainingMethod {
  std::string name = "other";
  double confidence = 0;
};
inline constexpr double kMethodKnown = 0.5;

// How the framework of a run behaves, so that no other code asks for a framework by its name. What is not known of a
// framework is as here.
struct FrameworkProfile {
  std::string settings_of;          // another framework whose settings it takes too, or empty
  std::string settings_file;        // the class or file that takes those
  std::string bf16_value = "True";  // what switches bfloat16 on
  double default_clip_norm = 0;     // gradients are clipped at this norm unless configured; 0: not known
  bool defaults_to_adam = false;    // the optimizer when none is configured
  bool drops_non_finite = false;    // NaN and infinity do not reach the logged loss unless configured
  bool takes_part_epochs = false;   // the number of epochs may be a fraction
  bool trains_on_tokens = false;    // language models: a loss is in nats a token
  bool has_user_loop = false;       // the steps of the training loop are the user's own code
};

// What a run is, without the numbers of its steps.
struct RunHeader {
  std::string name;
  std::vector<Source> sources;
  std::string framework;     // hf-trainer, trl, axolotl, lightning, torch, ... or empty
  FrameworkProfile profile;  // of that framework
  TrainingMethod method;
  std::int32_t ranks = 1;
  std::optional<StepAt> planned_steps;
  AxisMap axes;  // how its axes relate, from what it logged
  std::vector<Event> events;
  std::vector<Fact> facts;
  std::vector<Artifact> artifacts;
  std::vector<CheckpointFiles> checkpoints;  // in the run's folders, by position

  // All of it, of a run whose series are not wanted.
  void TakeHeaderOf(const RunHeader& other) { *this = other; }
};

struct Run : RunHeader {
  std::vector<Series> series;
  BatchFingerprints batches;

  // First series of that canonical signal (the one with most points when several carry it without labels), or null.
  const Series* Find(std::string_view signal) const;
  const Fact* FindFact(std::string_view key) const;
  std::optional<double> FactNumber(std::string_view key) const;
  // The planned end, and settings that count steps (max_steps, warmup_steps, save_steps): places on the axis of steps.
  Position Planned() const { return planned_steps ? Position(*planned_steps) : Position(); }
  bool HasMethod(std::string_view wanted) const { return method.name == wanted && method.confidence >= kMethodKnown; }
};

// What the event says, with its place in a file of the run.
Quote QuoteOf(const RunHeader& run, const Event& event);

// The axis that the run is counted on: steps where a series of several points is counted in them, else that of the
// longest series. What holds for the whole run (its order, its length, its end) is stated on this one.
Axis MainAxis(const Run& run);

}  // namespace vigil::model
