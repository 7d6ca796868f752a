// import: from the files that a run left to the model of the run. A reader turns one file's bytes into one part; files
// are found and recognised by content, and the parts that belong to one run are joined. One folder per source format.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/base.h"
#include "model/model.h"

namespace vigil::import {

// What a reader writes into: the part of a run that one file tells. Series are opened by raw name; the vocabulary gives
// them their canonical signal and labels.
class PartBuilder {
 public:
  using SeriesId = std::uint32_t;

  PartBuilder(std::string path, std::string format);

  // The series of that raw name (and extra labels), opened on first use. Cheap enough to call per sample; readers that
  // see the same order of names again keep the ids. Names beyond the first kMaxSeries share one series, which Finish
  // drops with a note.
  SeriesId OpenSeries(std::string_view raw_name, const model::Labels& extra = {});
  // A step below 0 or above kMaxStep is no step: the value is left out, counted, and noted by Finish.
  void Add(SeriesId series, std::int64_t step, double value, double time = model::kNoValue, std::uint32_t line = 0) {
    if (static_cast<std::uint64_t>(step) > kMaxStep) {
      ++impossible_steps_;
      return;
    }
    part_.series[series].Append(step, value, time, line);
  }
  void AddEvent(model::Event event);
  // Keys are given as the source spells them; the canonical key is filled in.
  void AddFact(std::string_view raw_key, std::string_view value, std::uint32_t line = 0);
  // The source is damaged from here on: kept as the note of the source ("byte 4096: ...", "line 12: ...").
  void ReportDamage(std::string_view note);
  // A remark that is no damage ("3 lines longer than 1 MiB skipped").
  void AddNote(std::string_view note);

  // The points so far came from `done` of `total` bytes: makes room for as many as may follow, so that columns grow
  // once instead of by doubling.
  void MakeRoom(std::uint64_t done, std::uint64_t total);

  // A run of its own inside this source, for sources that hold several: `id` tells it from the others, `name` is what
  // people call it. The builder lives as long as this one.
  PartBuilder& OpenRun(std::string_view id, std::string_view name);
  // When every point stands at step 0 the writer was never told a step: points are counted instead.
  void CountRowsIfNeverStepped();

  model::Run& part() { return part_; }
  model::Series& series(SeriesId id) { return part_.series[id]; }
  // The part as it is handed on: without series that stayed empty, values in the units of their signals. The builder is
  // spent.
  model::Run Finish();
  // The same as it stands now, while more may come.
  model::Run Snapshot() const;
  // The same for every run that the source holds something of: this part when no other was opened, else those. Notes
  // and damage of the source are each one's.
  std::vector<model::Run> FinishAll();

  // A series costs some hundred bytes beside its points; no training has more metrics than this.
  static constexpr std::size_t kMaxSeries = 200'000;
  // Beyond it differences of steps and JSON numbers are no longer exact.
  static constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 53U;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  model::Run part_;
  std::unordered_map<std::string, SeriesId, NameHash, std::equal_to<>> ids_;
  std::uint64_t impossible_steps_ = 0;
  std::vector<std::pair<SeriesId, double>> scales_;  // of series whose name says another unit than the signal's
  std::vector<std::shared_ptr<PartBuilder>> runs_;   // a copy of the builder (Snapshot) looks at the same ones
};

enum class Growth : std::uint8_t {
  kByRecords,     // records are appended, and each is told at once
  kSettlesAtEnd,  // records are appended, but later ones tell more about earlier ones: the end makes the part right
  kWrittenAnew,   // a document: each version replaces the one before
};

// Turns the bytes of one source into a part. Bytes come in pieces, so that a growing file can be followed: Consume
// takes whole records from the front of `bytes` and returns how many bytes it took; the rest is offered again with more
// behind it. With `last` nothing more will come (for now): whole records are taken, a cut record is reported as damage.
// Never throws, whatever the bytes; memory beyond the part is bounded.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::size_t Consume(std::string_view bytes, bool last) = 0;
  // Whether a record may span the whole file (a JSON document): the driver then hands over the file in one piece.
  virtual bool NeedsWholeFile() const { return false; }
  // How such a file changes while it is written, for those who follow it.
  virtual Growth growth() const { return Growth::kByRecords; }
  // Whether nothing more can be had from this source, whatever follows (damage that cannot be passed).
  virtual bool IsOver() const { return false; }
  // A file beside this one that is part of it, by what its name has more ("-wal"); empty when there is none. Where it
  // exists its bytes come first.
  virtual std::string_view CompanionSuffix() const { return {}; }
  virtual void TakeCompanion(std::string_view /*bytes*/) {}
};

// The beginning of a file, to recognise it by.
struct Probe {
  std::string_view path;
  std::string_view head;  // up to 64 KiB
  std::uint64_t size_bytes = 0;
};

// A source format: one row of the table in formats.cc.
struct Format {
  std::string_view id;     // "tfevents"
  std::string_view title;  // "TensorBoard event file"
  // How sure the content looks like this format, 0 (not) to 100 (cannot be anything else). By content; the name may
  // break ties.
  int (*recognise)(const Probe& probe);
  std::unique_ptr<Reader> (*open)(PartBuilder& builder);
};
std::span<const Format> Formats();
const Format* Recognise(const Probe& probe);

// Reads one file with the format its content shows: each run that it holds. A part's source carries path, format, state
// and note.
// An Error when nothing could be read from it: unknown format, empty, unreadable.
Result<std::vector<model::Run>> ReadRuns(const std::string& path);
// The first of them: most files hold one.
Result<model::Run> ReadFile(const std::string& path);
// The same over bytes in memory; each Consume sees `piece_bytes` more than was left over (0: all at once).
Result<std::vector<model::Run>> ReadRunsInBytes(const std::string& path, std::string_view bytes, const Format& format,
                                                std::size_t piece_bytes = 0);
Result<model::Run> ReadBytes(const std::string& path, std::string_view bytes, const Format& format,
                             std::size_t piece_bytes = 0);

struct Imported {
  std::vector<model::Run> runs;
  std::vector<model::Unread> unread;   // could not be read, with the reason: these matter
  std::vector<model::Unread> ignored;  // recognised as nothing of ours (weights, source code): listed on request
};

// Called now and then while importing: files done, files in all. While folders are still walked `total` is 0 and `done`
// says how many files were found.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

// The path that stands for standard input.
inline constexpr std::string_view kStandardInput = "-";

// Everything that can be read at the paths (files, folders, kStandardInput), joined into runs.
Imported ImportPaths(const std::vector<std::string>& paths, const Progress& progress = {});

// Follows files that grow. Records are read once where each is told at once (Growth::kByRecords), other files anew when
// they have changed. A file that is rotated, truncated or written anew begins a new part; what it held before stays,
// unless a file that is there says all of it. New files below the paths are taken as they appear.
class Follower {
 public:
  explicit Follower(std::vector<std::string> paths);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  Follower(Follower&&) = delete;
  Follower& operator=(Follower&&) = delete;

  // Takes what is new at the paths; true when there was anything.
  bool Poll();
  // The runs as they stand. Empty as long as nothing could be read.
  std::vector<model::Run> Runs() const;
  // Nothing more will be written: what stands at the end of a file without an end of its own is taken as it is.
  void Conclude();
  std::size_t file_count() const;

 private:
  class Files;
  std::unique_ptr<Files> files_;
};

// Joins parts into runs: checkpoints of one run, event files of one folder, log and state of the same training. What
// stands twice is counted once, from the source that holds it best; the other is marked as a duplicate.
std::vector<model::Run> JoinParts(std::vector<model::Run> parts);

// Fills framework, regime and aggregation from the names of signals, facts and events.
void Classify(model::Run& run);

}  // namespace vigil::import
