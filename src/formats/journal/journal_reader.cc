#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "catalogue/says.h"
#include "formats/journal/journal.h"
#include "ingest/secrets.h"
#include "journal/journal.h"
#include "textlog/textlog.h"

namespace vigil::formats {
namespace {

model::EventKind KindOf(journal::EventKind kind) {
  switch (kind) {
    case journal::EventKind::kException:
      return model::EventKind::kException;
    case journal::EventKind::kCheckpoint:
      return model::EventKind::kCheckpoint;
    case journal::EventKind::kResume:
      return model::EventKind::kResume;
    case journal::EventKind::kEpoch:
      return model::EventKind::kEpoch;
    case journal::EventKind::kExit:
      return model::EventKind::kExit;
    case journal::EventKind::kMessage:
    case journal::EventKind::kDecision:
    case journal::EventKind::kGap:
      break;
  }
  return model::EventKind::kMessage;
}

class JournalReader : public ingest::Reader, private journal::Visitor {
 public:
  explicit JournalReader(ingest::PartBuilder& builder) : builder_(builder), decoder_(*this) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    const std::size_t used = decoder_.Consume(bytes, last);
    if (last) Conclude();
    return used;
  }
  bool IsOver() const override { return decoder_.refused(); }
  // Points of several threads may have to be put in order, and those of a lost definition get their name at the end.
  ingest::Growth growth() const override {
    return is_in_order_ && undefined_.empty() ? ingest::Growth::kByRecords : ingest::Growth::kSettlesAtEnd;
  }
  void Settle(bool /*paused*/) override { AddDerivedEvents(); }

 private:
  // Points of a series whose definition was lost, until it comes again.
  struct UndefinedSeries {
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    std::vector<double> times;
    std::vector<std::uint64_t> times_ms;
  };

  double UnixSeconds(std::uint64_t time_ms) const {
    if (!has_clock_) return model::kNoValue;
    return unix_at_zero_s_ + static_cast<double>(time_ms) * 1e-3;
  }

  void OnBegin(const journal::Begin& begin) override {
    if (begun_) return;
    begun_ = true;
    rank_ = begin.rank;
    builder_.SetName(begin.name);
    builder_.part().ranks = std::max(1, begin.world);
    builder_.AddFact(ingest::kJournalRun, begin.run);
    builder_.AddFact(ingest::kJournalRank, std::to_string(begin.rank));
    builder_.AddFact(ingest::kJournalPart, std::to_string(begin.part));
    if (begin.world > 1) builder_.AddFact("world_size", std::to_string(begin.world));
    for (const auto& [key, value] : begin.others) builder_.AddFact(key, value);
  }

  void OnDefinition(const journal::Definition& definition) override {
    if (series_.contains(definition.id)) return;
    const ingest::PartBuilder::SeriesId id = builder_.OpenSeries(definition.name, definition.labels);
    series_.emplace(definition.id, id);
    model::Series& series = builder_.series(id);
    if (!definition.unit.empty()) series.unit = ingest::WithoutSecrets(definition.unit);
    series.axis = definition.axis;
    series.aggregation = definition.aggregation;
    series.clipping = definition.clipping;
    if (const auto waiting = undefined_.find(definition.id); waiting != undefined_.end()) {
      AddAll(id, waiting->second);
      undefined_.erase(waiting);
    }
  }

  void AddAll(ingest::PartBuilder::SeriesId id, const UndefinedSeries& points) {
    std::vector<std::uint64_t>& recorded = recorded_ms_[id];
    for (std::size_t i = 0; i < points.steps.size(); ++i)
      Add(id, points.steps[i], points.values[i], points.times[i], points.times_ms[i], recorded);
  }

  // `recorded`: the times of the points of that series so far. Given in, since it is the same for a whole block.
  void Add(ingest::PartBuilder::SeriesId id, std::int64_t step, double value, double time, std::uint64_t time_ms,
           std::vector<std::uint64_t>& recorded) {
    const model::Series& series = builder_.series(id);
    const std::size_t before = series.size();
    const std::int64_t last_step = before == 0 ? 0 : series.steps.back();
    builder_.Add(id, step, value, time);
    if (series.size() == before) return;
    // The same order as PutInOrder's: a step that goes back within one millisecond has to be put before.
    if (!recorded.empty() && before > 0 && std::pair(time_ms, step) < std::pair(recorded.back(), last_step))
      is_in_order_ = false;
    recorded.push_back(time_ms);
  }

  // Threads write through lanes that are emptied one after the other: where a thread changed its lane, what it recorded
  // later may stand first. The clock that only goes forward decides.
  void PutInOrder(ingest::PartBuilder::SeriesId id, const std::vector<std::uint64_t>& recorded_ms) {
    model::Series& series = builder_.series(id);
    const auto is_before = [&](std::size_t a, std::size_t b) {
      return std::pair(recorded_ms[a], series.steps[a]) < std::pair(recorded_ms[b], series.steps[b]);
    };
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (recorded_ms.size() != order.size() || std::is_sorted(order.begin(), order.end(), is_before)) return;
    std::stable_sort(order.begin(), order.end(), is_before);
    const model::Series mixed = std::exchange(series, WithoutPoints(series));
    for (const std::size_t at : order)
      series.Append(mixed.steps[at], mixed.values[at], mixed.times.empty() ? model::kNoValue : mixed.times[at]);
  }

  static model::Series WithoutPoints(const model::Series& series) {
    model::Series empty;
    empty.TakeHeaderOf(series);
    return empty;
  }

  void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps, std::span<const std::uint64_t> times_ms,
                 std::span<const double> values) override {
    const auto known = series_.find(series);
    if (known == series_.end()) {
      UndefinedSeries& points = undefined_[series];
      points.steps.insert(points.steps.end(), steps.begin(), steps.end());
      points.values.insert(points.values.end(), values.begin(), values.end());
      for (const std::uint64_t time : times_ms) points.times.push_back(UnixSeconds(time));
      points.times_ms.insert(points.times_ms.end(), times_ms.begin(), times_ms.end());
      return;
    }
    for (const std::uint64_t time : times_ms) last_sample_ms_ = std::max(last_sample_ms_, time);
    std::vector<std::uint64_t>& recorded = recorded_ms_[known->second];
    for (std::size_t i = 0; i < steps.size(); ++i)
      Add(known->second, steps[i], values[i], UnixSeconds(times_ms[i]), times_ms[i], recorded);
  }

  void OnEvent(const journal::Event& event) override {
    model::Event made;
    made.kind = KindOf(event.kind);
    made.name = event.name;
    made.text = event.text.empty() ? event.json : event.text;
    if (event.step >= 0) made.at = model::StepAt(event.step);
    made.time = UnixSeconds(event.time_ms);
    made.rank = rank_;
    if (event.kind == journal::EventKind::kGap)
      builder_.AddNote(says::NoteRecordedGap{.text = model::Quote{Printable(event.text), {}, 0}});
    const bool is_failure = event.severity >= model::Severity::kError && event.kind != journal::EventKind::kDecision;
    if (is_failure || event.kind == journal::EventKind::kException) NoteFailure(made, event.time_ms);
    builder_.part().events.resize(own_events_);
    builder_.AddEvent(std::move(made));
    ++own_events_;
  }

  // A message that is known from logs means here what it means there.
  void NoteFailure(const model::Event& reported, std::uint64_t time_ms) {
    const catalogue::SignatureRow* row = textlog::FindSignature(reported.text);
    if (row == nullptr) return;
    model::Event known = reported;
    known.kind = model::EventKind::kSignature;
    known.name = std::string(row->id);
    failures_.emplace_back(std::move(known), time_ms);
  }

  void OnHyperparameter(const journal::Hyperparameter& hyperparameter) override {
    builder_.AddFact(hyperparameter.key, hyperparameter.value);
  }

  void OnBatch(const journal::Batch& batch) override {
    builder_.part().batches.Append(model::StepAt(batch.step), batch.fingerprint, rank_);
  }

  void OnArtifact(const journal::Artifact& artifact) override {
    const model::Position at = artifact.step < 0 ? model::Position() : model::StepAt(artifact.step);
    builder_.AddArtifact({artifact.kind, artifact.path, at});
  }

  void OnDropped(const journal::DroppedRecords& dropped) override { dropped_records_ += dropped.records; }

  void OnClock(const journal::ClockPair& clock) override {
    has_clock_ = true;
    unix_at_zero_s_ = static_cast<double>(clock.unix_ns) * 1e-9 - static_cast<double>(clock.monotonic_ns) * 1e-9;
  }

  void OnEnd(const journal::End& end) override {
    ended_ = true;
    if (end.status == journal::kUnknownEnd) {
      builder_.AddNote(says::NoteJournalNotClosed{});
      return;
    }
    model::Event& event = exit_.emplace();
    event.kind = model::EventKind::kExit;
    event.name = end.status == 0 ? "finished" : std::to_string(end.status);
    event.says = says::EventRunStatus{.status = end.status};
    event.time = UnixSeconds(end.time_ms);
    event.rank = rank_;
  }

  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t missing_blocks,
                std::string_view reason) override {
    if (damages_++ == 0) first_damage_ = {offset, resumed, std::string(reason)};
    missing_blocks_ += missing_blocks;
  }

  void OnCut(std::uint64_t offset) override { cut_at_ = offset; }
  void OnRefused(std::string_view reason) override { builder_.ReportDamage(says::DamageError{.message = reason}); }

  void Conclude() {
    for (const auto& [series, points] : undefined_)
      AddAll(builder_.OpenSeries(fmt::format("series-{}", series)), points);
    undefined_.clear();
    if (!is_in_order_) {
      for (const auto& [id, recorded_ms] : recorded_ms_) PutInOrder(id, recorded_ms);
    }
    AddDerivedEvents();
    ReportDamages();
    if (dropped_records_ > 0) builder_.AddNote(says::NoteDroppedRecords{.count = dropped_records_});
    if (cut_at_) builder_.AddNote(says::NoteJournalCut{.byte = *cut_at_});
    if (!ended_ && !cut_at_ && !decoder_.refused()) builder_.AddNote(says::NoteJournalWithoutEnd{});
  }

  void ReportDamages() {
    if (damages_ == 0) return;
    model::Statement places;
    model::Statement missing;
    if (damages_ > 1) places = says::DamageJournalPlaces{.count = damages_};
    if (missing_blocks_ > 0) missing = says::DamageJournalMissing{.count = missing_blocks_};
    builder_.ReportDamage(says::DamageJournal{.byte = first_damage_.byte,
                                              .message = first_damage_.reason,
                                              .resumed = first_damage_.resumed,
                                              .places = places,
                                              .missing = missing});
  }

  // What the records so far make of the run's failures and its end, behind the events that were recorded.
  void AddDerivedEvents() {
    builder_.part().events.resize(own_events_);
    for (auto& [event, time_ms] : failures_) {
      event.run_went_on = last_sample_ms_ > time_ms;
      builder_.AddEvent(event);
    }
    if (exit_) builder_.AddEvent(*exit_);  // what led to it stands before it
    if (!ended_ && begun_) AddNoEnd();
  }

  void AddNoEnd() {
    model::Event event;
    event.name = std::string(model::kNoEndEvent);
    event.says = says::EventNoEnd{};
    event.rank = rank_;
    const model::Axis axis = model::MainAxis(builder_.part());
    for (const model::Series& series : builder_.part().series) {
      if (series.empty() || series.axis != axis) continue;
      const model::Position last = series.PositionOf(series.size() - 1);
      if (!event.at.known() || std::is_gt(model::CompareOnAxis(last, event.at))) event.at = last;
    }
    builder_.AddEvent(std::move(event));
  }

  ingest::PartBuilder& builder_;
  journal::Decoder decoder_;
  std::unordered_map<std::uint32_t, ingest::PartBuilder::SeriesId> series_;
  std::map<std::uint32_t, UndefinedSeries> undefined_;
  std::unordered_map<ingest::PartBuilder::SeriesId, std::vector<std::uint64_t>> recorded_ms_;  // by the monotonic clock
  std::size_t own_events_ = 0;  // at the front of the part's: those that were recorded
  std::int32_t rank_ = -1;
  bool is_in_order_ = true;
  bool begun_ = false;
  bool ended_ = false;
  bool has_clock_ = false;
  double unix_at_zero_s_ = 0;
  std::uint64_t dropped_records_ = 0;
  std::uint64_t last_sample_ms_ = 0;
  std::vector<std::pair<model::Event, std::uint64_t>> failures_;  // with their times by the monotonic clock
  std::uint64_t damages_ = 0;
  std::uint64_t missing_blocks_ = 0;
  struct Damage {
    std::uint64_t byte = 0;
    std::uint64_t resumed = 0;
    std::string reason;
  };
  Damage first_damage_;
  std::optional<std::uint64_t> cut_at_;
  std::optional<model::Event> exit_;
};

}  // namespace

int RecogniseJournal(const ingest::Probe& probe) {
  if (probe.head.starts_with(journal::kMagic)) return 100;
  // A damaged beginning costs no more than itself.
  return probe.path.ends_with(".vigil") && journal::HoldsBlock(probe.head) ? 90 : 0;
}
std::unique_ptr<ingest::Reader> OpenJournal(ingest::PartBuilder& builder) {
  return std::make_unique<JournalReader>(builder);
}

}  // namespace vigil::formats
