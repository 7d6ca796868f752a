#include "journal/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::journal {
namespace {

// Counts what comes by.
class Surveyor : public Visitor {
 public:
  explicit Surveyor(Survey& survey) : survey_(survey) {}

  void OnBegin(const Begin& begin) override {
    if (!std::exchange(began_, true)) survey_.begin = begin;
  }
  // Names are repeated in every file now and then.
  void OnDefinition(const Definition& definition) override {
    series_.insert(definition.id);
    survey_.series = series_.size();
  }
  void OnSamples(std::uint32_t, std::span<const std::int64_t> steps, std::span<const std::uint64_t>,
                 std::span<const double>) override {
    survey_.samples += steps.size();
  }
  void OnEvent(const Event&) override { ++survey_.events; }
  void OnHyperparameter(const Hyperparameter&) override { ++survey_.hyperparameters; }
  void OnBatch(const Batch&) override { ++survey_.batches; }
  void OnArtifact(const Artifact&) override { ++survey_.artifacts; }
  void OnDropped(const DroppedRecords& dropped) override { survey_.dropped_records += dropped.records; }
  void OnEnd(const End& end) override { survey_.end = end; }
  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t missing_blocks,
                std::string_view reason) override {
    survey_.damages.push_back({offset, resumed, missing_blocks, std::string(reason)});
  }
  void OnCut(std::uint64_t offset) override { survey_.cut_at = offset; }
  bool has_begun() const { return began_; }

 private:
  Survey& survey_;
  std::set<std::uint32_t> series_;
  bool began_ = false;
};

// Builds blocks of what comes by, and surveys it on the way.
class Copier : public Surveyor {
 public:
  Copier(Survey& survey, const platform::AppendFile& into) : Surveyor(survey), into_(into) { pending_ = FileHeader(); }

  void OnBegin(const Begin& begin) override {
    Surveyor::OnBegin(begin);
    builder_.AddBegin(begin);
  }
  void OnDefinition(const Definition& definition) override {
    Surveyor::OnDefinition(definition);
    AddEntry(Section::kDefinitions, EncodeEntry(definition));
  }
  void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps, std::span<const std::uint64_t> times_ms,
                 std::span<const double> values) override {
    Surveyor::OnSamples(series, steps, times_ms, values);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      builder_.Add(series, steps[i], values[i], times_ms[i]);
      FinishIfFull();
    }
  }
  void OnEvent(const Event& event) override {
    Surveyor::OnEvent(event);
    last_ms_ = event.time_ms;
    AddEntry(Section::kEvents, EncodeEntry(event));
  }
  void OnHyperparameter(const Hyperparameter& hyperparameter) override {
    Surveyor::OnHyperparameter(hyperparameter);
    AddEntry(Section::kHyperparameters, EncodeEntry(hyperparameter));
  }
  void OnBatch(const Batch& batch) override {
    Surveyor::OnBatch(batch);
    builder_.AddBatch(batch);
    FinishIfFull();
  }
  void OnArtifact(const Artifact& artifact) override {
    Surveyor::OnArtifact(artifact);
    AddEntry(Section::kArtifacts, EncodeEntry(artifact));
  }
  void OnPosition(const Position& position) override { builder_.AddPosition(position); }
  void OnDropped(const DroppedRecords& dropped) override {
    Surveyor::OnDropped(dropped);
    builder_.AddDropped(dropped);
  }
  void OnClock(const ClockPair& clock) override { builder_.SetClock(clock); }
  void OnEnd(const End& end) override {
    Surveyor::OnEnd(end);
    AddEntry(Section::kEnd, EncodeEntry(end));
  }
  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t missing_blocks,
                std::string_view reason) override {
    Surveyor::OnDamage(offset, resumed, missing_blocks, reason);
    AddGap(fmt::format("bytes {} to {} of the repaired journal were damaged: {}", offset, resumed, reason));
  }
  void OnCut(std::uint64_t offset) override {
    Surveyor::OnCut(offset);
    AddGap(fmt::format("the repaired journal ended inside a block, at byte {}", offset));
  }

  Status Finish() {
    FinishBlock();
    if (problem_ == 0) return {};
    return Fail(platform::CodeOf(problem_), into_.path(),
                fmt::format("cannot be written: {}", platform::SystemReason(problem_)));
  }

 private:
  void AddEntry(Section section, const std::string& entry) {
    builder_.AddEntry(section, entry);
    FinishIfFull();
  }
  void AddGap(std::string text) {
    Event event;
    event.time_ms = last_ms_;
    event.severity = model::Severity::kWarning;
    event.kind = EventKind::kGap;
    event.name = "journal";
    event.text = std::move(text);
    AddEntry(Section::kEvents, EncodeEntry(event));
  }
  void FinishIfFull() {
    if (builder_.IsFull()) FinishBlock();
  }
  void FinishBlock() {
    if (!builder_.empty()) builder_.Finish(number_++, pending_);
    std::string_view rest = pending_;
    while (problem_ == 0 && !rest.empty()) rest.remove_prefix(into_.Write(rest, problem_));
    pending_.clear();
  }

  const platform::AppendFile& into_;
  BlockBuilder builder_;
  std::string pending_;
  std::uint32_t number_ = 0;
  std::uint64_t last_ms_ = 0;
  int problem_ = 0;
};

// The whole of a journal as a new file of that name.
Result<Survey> CopyInto(const std::string& path, const std::string& temporary) {
  bool exists = false;
  auto file = platform::AppendFile::Create(temporary, exists);
  if (!file) return Fail(file.error());
  Survey survey;
  if (const auto entry = platform::Stat(path)) survey.size_bytes = entry->size_bytes;
  Copier copier(survey, *file);
  if (const Status visited = Visit(path, copier); !visited) return Fail(visited.error());
  if (const Status written = copier.Finish(); !written) return Fail(written.error());
  return survey;
}

}  // namespace

Status Visit(const std::string& path, Visitor& visitor) {
  auto file = platform::File::Open(path);
  if (!file) return Fail(file.error());
  Decoder decoder(visitor);
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::string window;
  for (bool last = false; !last && !decoder.refused() && visitor.wants_more();) {
    const std::size_t before = window.size();
    window.resize(before + kPiece);
    const auto count = file->Read(window.data() + before, kPiece);
    if (!count) return Fail(count.error());
    window.resize(before + *count);
    last = *count == 0;
    window.erase(0, decoder.Consume(window, last));
  }
  // What is shorter than the first bytes of a journal was not looked at.
  const bool too_short = decoder.offset() == 0 && visitor.wants_more();
  if (decoder.refused() || too_short)
    return Fail(ErrorCode::kUnrecognised, path, "is no journal that this version reads");
  return {};
}

Result<Survey> SurveyFile(const std::string& path) {
  Survey survey;
  if (const auto entry = platform::Stat(path)) survey.size_bytes = entry->size_bytes;
  Surveyor surveyor(survey);
  if (const Status visited = Visit(path, surveyor); !visited) return Fail(visited.error());
  if (!surveyor.has_begun() && survey.samples + survey.events + survey.series == 0)
    return Fail(ErrorCode::kNoData, path, "holds no whole block of a journal");
  return survey;
}

Result<Survey> Repair(const std::string& path, const std::string& into) {
  // What cannot be read must not leave an empty journal behind.
  if (const auto readable = SurveyFile(path); !readable) return readable;
  if (!platform::IsAbsent(into)) return Fail(ErrorCode::kInvalid, into, "exists already, and is left as it is");
  const std::string temporary = platform::TemporaryNameFor(into);
  auto copied = CopyInto(path, temporary);
  if (const Status named = copied ? platform::MoveToFreeName(temporary, into) : Status(); !named)
    copied = Fail(named.error());
  if (!copied) platform::RemoveFile(temporary);
  return copied;
}

}  // namespace vigil::journal
