// ingest/part_builder: what readers write into.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/base.h"
#include "model/run.h"

namespace vigil::ingest {

// Why nothing was read from a file, with what its reader remarked on the way.
struct ReadFailure : Error {
  ReadFailure() = default;
  ReadFailure(Error error) : Error(std::move(error)) {}  // NOLINT(google-explicit-constructor): every Error is one
  ReadFailure(ErrorCode kind, std::string where, std::string why)
      : Error{kind, std::move(where), std::nullopt, std::move(why)} {}

  std::vector<model::Statement> notes;
};

// What was read from a file, or why nothing was.
template <class T>
class [[nodiscard]] Reading : public tl::expected<T, ReadFailure> {
 public:
  using tl::expected<T, ReadFailure>::expected;
};

// What a reader writes into: the part of a run that one file holds. Series are opened by raw name; the vocabulary gives
// them their canonical signal and labels. All text of a file comes in here, and secrets in it are masked
// (ingest/secrets.h): what readers put into part() themselves has to come from another builder or from a table of
// their own.
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
  void AddArtifact(model::Artifact artifact);
  // What people call the run.
  void SetName(std::string_view name);
  // The source is damaged from here on: kept as a note of the source (says::Damage...).
  void ReportDamage(model::Statement damage);
  void ReportDamage(const Error& error);
  // A remark that is no damage (says::Note...).
  void AddNote(model::Statement note);

  // The points so far came from `done` of `total` bytes: makes room for as many as may follow, so that columns grow
  // once instead of by doubling.
  void MakeRoom(std::uint64_t done, std::uint64_t total);

  // A run of its own inside this source, for sources that hold several: `id` distinguishes it from the others, `name`
  // is what people call it. The builder lives as long as this one.
  PartBuilder& OpenRun(std::string_view id, std::string_view name);
  // When every point stands at step 0 the writer was never given a step: points are counted instead.
  void CountRowsIfNeverStepped();

  model::Run& part() { return part_; }
  const model::Run& part() const { return part_; }
  // What the values of a series are multiplied with when the part is handed on.
  double ScaleOf(SeriesId id) const;
  model::Series& series(SeriesId id) { return part_.series[id]; }
  // A series that is left out is not handed on. It keeps its points, since more records may decide otherwise.
  void LeaveOut(SeriesId id, bool left_out);
  bool IsLeftOut(SeriesId id) const { return id < left_out_.size() && left_out_[id]; }
  // Points at the end of a series may wait for their steps, at steps above kMaxStep: how many stand before them.
  std::size_t PlacedPoints(SeriesId id) const;
  // The part as it is handed on: without series that stayed empty or are left out and points that wait for their steps,
  // values in the units of their signals. The builder is spent.
  model::Run Finish();
  // The same as it stands now, while more may come.
  model::Run Snapshot() const;
  // Where an event stands as it is handed on: nowhere while its step is not known.
  static model::Position Placed(model::Position at) {
    return at.known() && !IsPlaced(at.value()) ? model::Position() : at;
  }
  // The same for every run that the source holds something of: this part when no other was opened, else those. Notes
  // and damage of the source are each one's.
  std::vector<model::Run> FinishAll();

  // A series costs some hundred bytes beside its points; no training has more metrics than this.
  static constexpr std::size_t kMaxSeries = 200'000;
  // Beyond it differences of steps and JSON numbers are no longer exact.
  static constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 53U;

 private:
  static bool IsPlaced(std::int64_t step) { return step <= static_cast<std::int64_t>(kMaxStep); }
  void DropUnplaced();
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  model::Run part_;
  std::unordered_map<std::string, SeriesId, NameHash, std::equal_to<>> ids_;
  std::uint64_t impossible_steps_ = 0;
  std::vector<bool> left_out_;                       // by series; shorter where the rest is handed on
  std::vector<std::pair<SeriesId, double>> scales_;  // of series whose name says another unit than the signal's
  std::vector<std::shared_ptr<PartBuilder>> runs_;   // a copy of the builder (Snapshot) looks at the same ones
};

// The clause " (and 3 more)" behind the first of `count` places; empty for one.
model::Statement OthersOf(std::uint64_t count);

// Facts by which a source says which run it is of, which rank of it, and which part of that rank's record.
inline constexpr std::string_view kJournalRun = "vigil.run";
inline constexpr std::string_view kJournalRank = "vigil.rank";
inline constexpr std::string_view kJournalPart = "vigil.part";

}  // namespace vigil::ingest
