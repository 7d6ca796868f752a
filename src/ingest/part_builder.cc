#include <algorithm>

#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "ingest/ingest.h"
#include "ingest/secrets.h"
#include "platform/process.h"

namespace vigil::ingest {
namespace {

std::string KeyOf(std::string_view raw_name, const model::Labels& extra) {
  std::string key(raw_name);
  for (const auto& [name, value] : extra) {
    key += '\x1f';
    key += name;
    key += '\x1f';
    key += value;
  }
  return key;
}

template <class Number>
void Reserve(model::Column<Number>& column, std::size_t count) {
  if (column.empty() || column.capacity() >= count) return;
  column.reserve(count);
  platform::PreferLargePages(column.Mutable().data(), column.capacity() * sizeof(Number));
}

}  // namespace

model::Statement OthersOf(std::uint64_t count) {
  if (count < 2) return {};
  return says::NoteMore{.count = count - 1};
}

PartBuilder::PartBuilder(std::string path, std::string format) {
  part_.sources.push_back({std::move(path), std::move(format), model::SourceState::kRead, {}, {}});
}

PartBuilder::SeriesId PartBuilder::OpenSeries(std::string_view raw_name, const model::Labels& extra) {
  if (extra.empty()) {
    if (const auto known = ids_.find(raw_name); known != ids_.end()) return known->second;
  }
  std::string key = KeyOf(raw_name, extra);
  if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
  if (part_.series.size() > kMaxSeries) return kMaxSeries;
  const auto id = static_cast<SeriesId>(part_.series.size());
  ids_.emplace(std::move(key), id);
  model::Series series;
  series.raw = WithoutSecrets(std::string(raw_name));
  series.signal = series.raw;
  series.labels = extra;
  MaskSecrets(series.labels);
  // Weak names of a loss count at once, since a reader knows a log by its losses; others are settled for the whole run.
  const auto meaning = catalogue::Interpret(raw_name);
  if (meaning && (!meaning->weak || meaning->signal == "loss" || meaning->signal == "eval_loss")) {
    series.signal = std::string(meaning->signal);
    series.unit = std::string(meaning->unit);
    series.labels.insert(series.labels.end(), meaning->labels.begin(), meaning->labels.end());
    if (meaning->scale != 1) scales_.emplace_back(id, meaning->scale);
  }
  std::sort(series.labels.begin(), series.labels.end());
  part_.series.push_back(std::move(series));
  return id;
}

void PartBuilder::AddEvent(model::Event event) {
  MaskSecrets(event);
  part_.events.push_back(std::move(event));
}

void PartBuilder::AddFact(std::string_view raw_key, std::string_view value, std::uint32_t line) {
  const std::string_view canonical = catalogue::InterpretFact(raw_key);
  std::string key = WithoutSecrets(std::string(raw_key));
  part_.facts.push_back({canonical.empty() ? key : std::string(canonical),
                         WithoutSecrets(raw_key, std::string(value)),
                         std::move(key),
                         {0, line}});
}

void PartBuilder::AddArtifact(model::Artifact artifact) {
  artifact.kind = WithoutSecrets(std::move(artifact.kind));
  artifact.path = WithoutSecrets(std::move(artifact.path));
  part_.artifacts.push_back(std::move(artifact));
}

void PartBuilder::SetName(std::string_view name) { part_.name = WithoutSecrets(Printable(name)); }

void PartBuilder::ReportDamage(model::Statement damage) {
  part_.sources.front().state = model::SourceState::kPartial;
  AddNote(std::move(damage));
}

void PartBuilder::ReportDamage(const Error& error) { ReportDamage(says::DamageError{.message = error.Text()}); }

void PartBuilder::AddNote(model::Statement note) {
  MaskSecrets(note);
  part_.sources.front().notes.push_back(std::move(note));
}

PartBuilder& PartBuilder::OpenRun(std::string_view id, std::string_view name) {
  const model::Source& source = part_.sources.front();
  auto run = std::make_shared<PartBuilder>(source.path, source.format);
  run->part_.sources.front().run = WithoutSecrets(Printable(id));
  run->SetName(name);
  return *runs_.emplace_back(std::move(run));
}

void PartBuilder::CountRowsIfNeverStepped() {
  const auto at_zero = [](const model::Series& series) {
    return series.axis == model::Axis::kTime ||
           std::all_of(series.steps.begin(), series.steps.end(), [](std::int64_t step) { return step == 0; });
  };
  if (!std::all_of(part_.series.begin(), part_.series.end(), at_zero)) return;
  for (model::Series& series : part_.series) {
    if (series.size() < 2 || series.axis == model::Axis::kTime) continue;
    series.axis = model::Axis::kRow;
    series.CountPoints();
  }
}

void PartBuilder::MakeRoom(std::uint64_t done, std::uint64_t total) {
  // Growing by doubling would move every page once more and fault it in, which costs as much as parsing. Room is
  // address space until it is used; but a file may claim any size, so there is none for more than this much of it.
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;
  constexpr std::size_t kFewPoints = 64;  // say little about what follows
  if (done == 0 || total <= done) return;
  const double factor = 1.02 * static_cast<double>(std::min(total, kMostBytes)) / static_cast<double>(done);
  if (factor < 2) return;
  for (model::Series& series : part_.series) {
    if (series.size() < kFewPoints) continue;
    const auto expected = static_cast<std::size_t>(static_cast<double>(series.size()) * factor);
    Reserve(series.steps, expected);
    Reserve(series.values, expected);
    Reserve(series.times, expected);
    Reserve(series.lines, expected);
  }
}

void PartBuilder::LeaveOut(SeriesId id, bool left_out) {
  if (left_out_.size() <= id) left_out_.resize(id + std::size_t{1}, false);
  left_out_[id] = left_out;
}

std::size_t PartBuilder::PlacedPoints(SeriesId id) const {
  const model::Column<std::int64_t>& steps = part_.series[id].steps;
  std::size_t count = steps.size();
  while (count > 0 && !IsPlaced(steps[count - 1])) --count;
  return count;
}

// What is left out, and what waits for its step.
void PartBuilder::DropUnplaced() {
  for (SeriesId id = 0; id < part_.series.size(); ++id) {
    model::Series& series = part_.series[id];
    const std::size_t kept = IsLeftOut(id) ? 0 : PlacedPoints(id);
    if (kept < series.size()) series.Truncate(kept);
  }
  for (model::Event& event : part_.events) event.at = Placed(event.at);
}

model::Run PartBuilder::Finish() {
  DropUnplaced();
  for (const auto& [id, scale] : scales_) {
    for (double& value : part_.series[id].values.Mutable()) {
      if (value == value) value *= scale;  // NaN keeps its payload
    }
  }
  if (part_.series.size() > kMaxSeries) {
    part_.series.resize(kMaxSeries);
    AddNote(says::NoteTooManyMetrics{.limit = kMaxSeries});
  }
  std::erase_if(part_.series, [](const model::Series& series) { return series.empty(); });
  if (impossible_steps_ != 0) AddNote(says::NoteImpossibleSteps{.count = impossible_steps_});
  return std::move(part_);
}

double PartBuilder::ScaleOf(SeriesId id) const {
  const auto at = std::find_if(scales_.begin(), scales_.end(), [&](const auto& scale) { return scale.first == id; });
  return at == scales_.end() ? 1 : at->second;
}

model::Run PartBuilder::Snapshot() const {
  PartBuilder copy(*this);
  return copy.Finish();
}

std::vector<model::Run> PartBuilder::FinishAll() {
  std::vector<model::Run> parts;
  if (runs_.empty()) {
    parts.push_back(Finish());
    return parts;
  }
  const model::Source& source = part_.sources.front();
  for (const auto& run : runs_) {
    run->part_.sources.front().format = source.format;
    if (source.state == model::SourceState::kPartial) run->part_.sources.front().state = source.state;
    for (const model::Statement& note : source.notes) run->AddNote(note);
    parts.push_back(run->Finish());
  }
  return parts;
}

}  // namespace vigil::ingest
