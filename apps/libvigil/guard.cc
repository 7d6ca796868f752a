// The guard behind the C ABI: a fixed table of guards, so that no handle can dangle; decisions are recorded.
#include "guard/guard.h"

#include <vigil/vigil.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "platform/files.h"
#include "platform/recording.h"
#include "support.h"

using namespace vigil::capi;

namespace {

namespace guard = vigil::guard;
namespace model = vigil::model;

constexpr std::uint32_t kMostGuards = 8;
constexpr std::uint64_t kMostControlBytes = 1U << 16U;
constexpr std::uint32_t kLookIntervalMs = 1000;

struct Watch {
  std::string path;
  double modified_unix_s = -1;
  std::uint64_t size_bytes = 0;
  vigil::platform::Worker worker;
};

struct Place {
  std::mutex mutex;          // of all below but the watch
  std::uint64_t handle = 0;  // 0: free
  std::uint64_t generation = 0;
  std::atomic<std::uint64_t> process = 0;
  vigil::record::RunHandle run = 0;
  guard::Options given;  // what the control file changes
  std::unique_ptr<guard::Guard> guard;
  std::unique_ptr<Watch> watch;  // of the thread that looks at the file; opened and closed with the handle
};

// Never destroyed: threads may ask until the process ends.
std::array<Place, kMostGuards>& Places() {
  static auto* const places = new std::array<Place, kMostGuards>;
  return *places;
}

Place* PlaceOf(vigil_guard guard) {
  const std::uint64_t number = guard.id >> 56U;
  return number == 0 || number > kMostGuards ? nullptr : &Places()[number - 1];
}

// The parent's mutex may be held by a thread that the child does not have: looked at without it.
bool IsInherited(const Place& place) { return place.process.load() != vigil::platform::ProcessMark().load(); }

// Calls `work` with the guard of a handle, while nobody else does.
template <class Work>
int WithGuard(vigil_guard handle, Work&& work) {
  return Guarded([&] {
    Place* const place = PlaceOf(handle);
    if (place == nullptr) return Code::kInvalid;
    if (IsInherited(*place)) return place->process.load() == 0 ? Code::kClosed : Code::kForked;
    const std::lock_guard lock(place->mutex);
    if (place->handle != handle.id) return Code::kClosed;
    work(*place);
    return Code::kOk;
  });
}

void RecordDecision(vigil::record::RunHandle run, std::int64_t step, const guard::Decision& decision) {
  if (decision.message.empty()) return;
  vigil::journal::Event event;
  event.kind = vigil::journal::EventKind::kDecision;
  event.severity = decision.severity;
  event.step = step;
  event.name = guard::EventName(decision.action);
  event.text = decision.message;
  static_cast<void>(vigil::record::AddEvent(run, event));
}

void RecordControl(vigil::record::RunHandle run, std::string text, model::Severity severity) {
  vigil::journal::Event event;
  event.kind = vigil::journal::EventKind::kDecision;
  event.severity = severity;
  event.name = "guard/control";
  event.text = std::move(text);
  static_cast<void>(vigil::record::AddEvent(run, event));
}

// Reads the control file when it has changed. A mistake in it is recorded, and the guard goes on as it was.
void LookAtControl(Place& place, Watch& watch) {
  const auto entry = vigil::platform::Stat(watch.path);
  if (!entry || (entry->modified_unix_s == watch.modified_unix_s && entry->size_bytes == watch.size_bytes)) return;
  watch.modified_unix_s = entry->modified_unix_s;
  watch.size_bytes = entry->size_bytes;
  const auto text = vigil::platform::ReadWholeFile(watch.path, kMostControlBytes);
  const auto options = text ? guard::ParseControl(*text, watch.path, place.given)
                            : vigil::Result<guard::Options>(vigil::Fail(text.error()));
  if (!options) return RecordControl(place.run, options.error().Text(), model::Severity::kWarning);
  {
    const std::lock_guard lock(place.mutex);
    place.guard->SetOptions(*options);
  }
  RecordControl(place.run, watch.path + " was read", model::Severity::kInfo);
}

bool ToOptions(const vigil_guard_options& given, guard::Options& options) {
  const bool known = IsWithin(given.non_finite, guard::Policy::kRollback) &&
                     IsWithin(given.spike, guard::Policy::kRollback) && given.max_consecutive >= 1 &&
                     given.max_rollbacks >= 0 && given.spike_ratio >= 0;
  if (!known) return false;
  options.non_finite = static_cast<guard::Policy>(given.non_finite);
  options.spike = static_cast<guard::Policy>(given.spike);
  options.max_consecutive = given.max_consecutive;
  options.rollback_when_given_up = given.rollback_when_given_up != 0;
  options.max_rollbacks = given.max_rollbacks;
  options.spike_ratio = given.spike_ratio;
  return true;
}

// Fills a place that is free; the caller holds its mutex.
Code Fill(Place& place, std::uint64_t number, vigil_run run, const guard::Options& options, const char* control) {
  constexpr std::uint64_t kGenerations = std::uint64_t{1} << 56U;
  place.process = vigil::platform::ThisProcess();
  place.run = run.id;
  place.given = options;
  place.guard = std::make_unique<guard::Guard>(options);
  place.generation = (place.generation + 1) % kGenerations;
  place.handle = number << 56U | place.generation;
  if (control == nullptr) return Code::kOk;
  place.watch = std::make_unique<Watch>();
  place.watch->path = control;
  Watch* const watch = place.watch.get();
  const bool started = watch->worker.Start("vigil-guard", [&place, watch] {
    LookAtControl(place, *watch);
    return kLookIntervalMs;
  });
  if (started) return Code::kOk;
  place.handle = 0;
  place.watch.reset();
  return Code::kNoMemory;
}

void FillDecision(const guard::Decision& made, vigil_decision& out) {
  vigil_decision filled = {};
  filled.size = out.size;
  filled.action = static_cast<std::int32_t>(made.action);
  filled.trigger = static_cast<std::int32_t>(made.trigger);
  filled.consecutive = made.consecutive;
  filled.rollback_to = made.rollback_to;
  std::copy_n(made.message.begin(), std::min(made.message.size(), sizeof(filled.message) - 1), filled.message);
  std::memcpy(&out, &filled, std::min<std::size_t>(out.size, sizeof(filled)));
}

}  // namespace

int vigil_guard_open(vigil_run run, const vigil_guard_options* options, vigil_guard* guard) {
  return Explained(Guarded([&] {
    KeepError({});
    if (guard == nullptr) return Code::kInvalid;
    guard->id = 0;
    vigil_guard_options given = VIGIL_GUARD_OPTIONS_INIT;
    guard::Options made;
    if ((options != nullptr && !CopyGiven(options, given)) || !ToOptions(given, made)) return Code::kInvalid;
    // Without a run nothing is recorded: that of a run that could not be opened is none.
    vigil::record::RunStatus ignored;
    const Code known = run.id == 0 ? Code::kOk : vigil::record::GetStatus(run.id, ignored);
    if (known != Code::kOk) return known;
    for (std::uint64_t i = 0; i < kMostGuards; ++i) {
      Place& place = Places()[i];
      const std::unique_lock lock(place.mutex, std::try_to_lock);
      if (!lock || place.handle != 0) continue;
      const Code code = Fill(place, i + 1, run, made, given.control_file);
      guard->id = place.handle;
      return code;
    }
    return Code::kLimit;
  }));
}

int vigil_guard_judge(vigil_guard guard, int64_t step, double loss, double grad_norm, vigil_decision* decision) {
  if (decision == nullptr || decision->size < sizeof(decision->size)) return VIGIL_INVALID;
  FillDecision({}, *decision);
  return WithGuard(guard, [&](Place& place) {
    const guard::Decision made = place.guard->Judge(step, loss, grad_norm);
    FillDecision(made, *decision);
    RecordDecision(place.run, step, made);
  });
}

int vigil_guard_note_checkpoint(vigil_guard guard, int64_t step) {
  return WithGuard(guard, [&](Place& place) { place.guard->NoteCheckpoint(step); });
}

int vigil_guard_note_rollback(vigil_guard guard, int64_t step) {
  return WithGuard(guard, [&](Place& place) {
    place.guard->NoteRollback(step);
    RecordControl(place.run, "set back to step " + std::to_string(step), model::Severity::kWarning);
  });
}

int vigil_guard_close(vigil_guard guard) {
  std::unique_ptr<Watch> watch;
  const int code = WithGuard(guard, [&](Place& place) { watch = std::move(place.watch); });
  if (code != VIGIL_OK) return code;
  // Its thread may be waiting for the mutex: ended while we do not hold it.
  if (watch && !watch->worker.Stop(kLookIntervalMs * 5)) {
    // One that does not end in time is left to itself: it still looks at what it was given.
    [[maybe_unused]] const Watch* const left = watch.release();
  }
  return WithGuard(guard, [&](Place& place) { place.handle = 0; });
}

double vigil_not_known(void) { return model::kNoValue; }
