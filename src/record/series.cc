#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "journal/ring.h"
#include "platform/clock.h"
#include "record/session.h"
#include "record/slots.h"

namespace vigil::record {
namespace {

std::string NameKey(const journal::Definition& definition) {
  std::string key = definition.name;
  for (const auto& [label, value] : definition.labels) {
    key += '\x1f';
    key += label;
    key += '\x1f';
    key += value;
  }
  return key;
}

// Takes `count` ids and writes the definitions that `make` gives for them.
template <class Make>
Code Define(Slot& slot, std::uint32_t key, const std::string& name, std::uint32_t count, Make&& make,
            std::uint64_t& handle) {
  const std::lock_guard table(TableMutex());
  if (slot.key.load() != key) return Code::kClosed;
  Session& session = *slot.session;
  if (const auto known = session.series_ids.find(name); known != session.series_ids.end()) {
    handle = MakeHandle(key, known->second);
    return Code::kOk;
  }
  const std::uint32_t first = slot.series_count.load();
  if (first + count > journal::kMostSeries) return Code::kLimit;
  for (std::uint32_t i = 0; i < count; ++i) {
    journal::Definition definition = make(i);
    definition.id = first + i;
    const std::string entry = EncodeEntry(definition);
    const bool fits = entry.size() <= journal::kMostDefinitionBytes;
    if (!fits || !session.ring->AddDefinition(entry)) return Code::kLimit;
  }
  session.series_ids.emplace(name, first);
  slot.series_count.store(first + count, std::memory_order_release);
  handle = MakeHandle(key, first);
  return Code::kOk;
}

using Importance = journal::LaneWriter::Importance;

template <class Entry>
Code AddText(RunHandle run, journal::Section section, const Entry& entry,
             Importance importance = Importance::kUsual) noexcept {
  return Guarded([&] {
    const std::string bytes = EncodeEntry(entry);
    Lease lease(SlotOf(run), run, Lease::ForText());
    if (lease.code() != Code::kOk) return lease.code();
    return lease.Done(lease.writer().AddText(section, bytes, importance));
  });
}

bool IsError(const journal::Event& event) {
  return event.severity >= model::Severity::kError || event.kind == journal::EventKind::kException;
}

constexpr std::array<std::string_view, 8> kFields = {"norm",      "min",      "max",        "mean",
                                                     "deviation", "elements", "non_finite", "zeros"};

}  // namespace

Code OpenSeries(RunHandle run, const journal::Definition& definition, SeriesHandle& series) noexcept {
  series = 0;
  return Guarded([&] {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    if (definition.name.empty()) return Code::kInvalid;
    journal::Definition sorted = definition;
    std::sort(sorted.labels.begin(), sorted.labels.end());
    return Define(*slot, KeyOf(run), NameKey(sorted), 1, [&](std::uint32_t) { return sorted; }, series);
  });
}

Code OpenTensor(RunHandle run, std::string_view what, std::string_view layer, TensorHandle& tensor) noexcept {
  tensor = 0;
  return Guarded([&] {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    if (what.empty() || layer.empty()) return Code::kInvalid;
    const std::string name = "\x1ftensor\x1f" + std::string(what) + '\x1f' + std::string(layer);
    const auto make = [&](std::uint32_t field) {
      journal::Definition definition;
      definition.name = std::string(what) + "/" + std::string(kFields[field]);
      definition.labels = {{"layer", std::string(layer)}};
      definition.aggregation = model::Aggregation::kInstant;
      return definition;
    };
    return Define(*slot, KeyOf(run), name, static_cast<std::uint32_t>(kFields.size()), make, tensor);
  });
}

// ---- what is called every step

Code Add(SeriesHandle series, std::int64_t step, double value) noexcept {
  Slot* const slot = SlotOf(series);
  Lease lease(slot, series);
  if (lease.code() != Code::kOk) return lease.code();
  if (IdOf(series) >= slot->series_count.load(std::memory_order_relaxed)) return Code::kInvalid;
  return lease.Done(lease.writer().AddScalar(IdOf(series), step, value, platform::CoarseMonotonicNs()));
}

Code AddTensor(TensorHandle tensor, std::int64_t step, const TensorStatistics& statistics) noexcept {
  Slot* const slot = SlotOf(tensor);
  Lease lease(slot, tensor);
  if (lease.code() != Code::kOk) return lease.code();
  const std::uint32_t count = slot->series_count.load(std::memory_order_relaxed);
  if (IdOf(tensor) >= count || count - IdOf(tensor) < kFields.size()) return Code::kInvalid;
  const std::array<double, kFields.size()> row = {statistics.norm,       statistics.min,       statistics.max,
                                                  statistics.mean,       statistics.deviation, statistics.elements,
                                                  statistics.non_finite, statistics.zeros};
  return lease.Done(lease.writer().AddRow(IdOf(tensor), step, row, platform::CoarseMonotonicNs()));
}

Code AddBatch(RunHandle run, std::int64_t step, std::uint64_t fingerprint) noexcept {
  Lease lease(SlotOf(run), run);
  if (lease.code() != Code::kOk) return lease.code();
  return lease.Done(lease.writer().AddBatch(step, fingerprint, platform::CoarseMonotonicNs()));
}

std::uint64_t Fingerprint(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

// ---- steps

Code BeginStep(RunHandle run, std::int64_t step) noexcept {
  Slot* const slot = SlotOf(run);
  if (const Code code = Check(slot, run); code != Code::kOk) return code;
  slot->step.store(step, std::memory_order_relaxed);
  slot->step_begin_ns.store(platform::MonotonicNs(), std::memory_order_relaxed);
  for (auto& total : slot->phase_total_ns) total.store(0, std::memory_order_relaxed);
  for (auto& begin : slot->phase_begin_ns) begin.store(0, std::memory_order_relaxed);
  return Code::kOk;
}

Code EndStep(RunHandle run) noexcept {
  Slot* const slot = SlotOf(run);
  Lease lease(slot, run);
  if (lease.code() != Code::kOk) return lease.code();
  const std::uint64_t begin = slot->step_begin_ns.exchange(0, std::memory_order_relaxed);
  if (begin == 0) return Code::kInvalid;
  const std::int64_t step = slot->step.load(std::memory_order_relaxed);
  const std::uint64_t now = platform::MonotonicNs();
  Code code = lease.Done(lease.writer().AddScalar(kStepTimeSeries, step, static_cast<double>(now - begin) * 1e-9, now));
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    const std::uint64_t total = slot->phase_total_ns[phase].exchange(0, std::memory_order_relaxed);
    if (total == 0) continue;
    const double seconds = static_cast<double>(total) * 1e-9;
    const Code added = lease.Done(lease.writer().AddScalar(kPhaseTimeSeries + phase, step, seconds, now));
    if (added != Code::kOk) code = added;
  }
  return code;
}

Code BeginPhase(RunHandle run, Phase phase) noexcept {
  Slot* const slot = SlotOf(run);
  if (const Code code = Check(slot, run); code != Code::kOk) return code;
  const auto index = static_cast<std::uint32_t>(phase);
  if (index >= kPhases) return Code::kInvalid;
  slot->phase_begin_ns[index].store(platform::MonotonicNs(), std::memory_order_relaxed);
  return Code::kOk;
}

Code EndPhase(RunHandle run, Phase phase) noexcept {
  Slot* const slot = SlotOf(run);
  if (const Code code = Check(slot, run); code != Code::kOk) return code;
  const auto index = static_cast<std::uint32_t>(phase);
  if (index >= kPhases) return Code::kInvalid;
  const std::uint64_t begin = slot->phase_begin_ns[index].exchange(0, std::memory_order_relaxed);
  if (begin == 0) return Code::kInvalid;
  slot->phase_total_ns[index].fetch_add(platform::MonotonicNs() - begin, std::memory_order_relaxed);
  return Code::kOk;
}

// ---- texts

Code AddEvent(RunHandle run, const journal::Event& event) noexcept {
  return Guarded([&] {
    journal::Event timed = event;
    timed.time_ms = NowMs();
    return AddText(run, journal::Section::kEvents, timed, IsError(event) ? Importance::kImportant : Importance::kUsual);
  });
}

Code AddHyperparameter(RunHandle run, std::string_view key, std::string_view value) noexcept {
  if (key.empty()) return Code::kInvalid;
  return Guarded([&] {
    return AddText(run, journal::Section::kHyperparameters,
                   journal::Hyperparameter{NowMs(), std::string(key), std::string(value)});
  });
}

Code AddArtifact(RunHandle run, std::int64_t step, std::string_view kind, std::string_view path) noexcept {
  if (path.empty()) return Code::kInvalid;
  return Guarded([&] {
    return AddText(run, journal::Section::kArtifacts,
                   journal::Artifact{NowMs(), step, std::string(kind), std::string(path)});
  });
}

}  // namespace vigil::record
