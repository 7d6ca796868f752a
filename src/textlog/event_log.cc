#include "textlog/event_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalogue/says.h"
#include "ingest/secrets.h"
#include "textlog/guard_line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kMostOfAName = 64;
constexpr std::size_t kMostEvents = 4096;
constexpr std::size_t kLongestText = 400;
// Python holds back up to a block of standard output in each of two buffers; an uncaught exception goes to standard
// error at once, so that many bytes of earlier metric lines can stand behind it.
constexpr std::uint64_t kBufferedBytes = std::uint64_t{2} * 8192;
// One redraw of the bar, with a count that its display had not shown yet, follows a traceback.
constexpr int kBarAdvances = 3;
// Fewer lines than this behind the failure of one rank may be what the buffers of others held back.
constexpr int kOfAnotherStart = 3;

model::Position PositionOf(const EventLog::Place& place) {
  return place.step == model::kNoStep ? model::Position() : model::Position(place.axis, place.step);
}

// Secrets are masked before the text is cut: what is left of one would not be recognised.
std::string Quote(std::string_view text) {
  constexpr std::size_t kLongestSecret = 512;
  const std::string masked = ingest::WithoutSecrets(std::string(Trim(text).substr(0, kLongestText + kLongestSecret)));
  return Printable(std::string_view(masked).substr(0, kLongestText));
}

}  // namespace

// A loop that catches its errors repeats them; the one that ends the run comes last.
void EventLog::MakeRoomFor(std::string_view name) {
  if (builder_.part().events.size() - dropped_.size() >= kMostEvents) Thin();
  std::vector<std::size_t>& kept = kept_[std::string(name)];
  if (kept.size() >= kMostOfAName) DropOneOf(kept);
  if (dropped_.size() >= kMostEvents) RemoveDropped();
  kept_[std::string(name)].push_back(builder_.part().events.size());
}

// What the run overcame says least; the first one stays. Where all of them stand, the latest makes room for the next.
void EventLog::DropOneOf(std::vector<std::size_t>& kept) {
  const auto victim = std::find_if(kept.begin() + 1, kept.end() - 1, [&](std::size_t index) { return MayGo(index); });
  Drop(*victim);
  kept.erase(victim);
}

bool EventLog::MayGo(std::size_t index) const {
  const model::Event& event = builder_.part().events[index];
  return event.run_went_on || event.kind == model::EventKind::kCheckpoint || event.kind == model::EventKind::kResume;
}

// Too many of all names together: every second one of those that say little, or of all, but never the last of a name.
void EventLog::Thin() {
  for (const bool all : {false, true}) {
    bool second = false;
    for (auto& [name, kept] : kept_) {
      const std::size_t last = kept.back();
      std::erase_if(kept, [&](std::size_t index) {
        if (index == last || (!all && !MayGo(index))) return false;
        second = !second;
        if (second) Drop(index);
        return second;
      });
    }
    if (builder_.part().events.size() - dropped_.size() < kMostEvents / 8 * 7) return;
  }
  // Nothing but names of their own: the earlier half of them goes.
  std::erase_if(kept_, [&](const auto& entry) {
    const bool early = entry.second.back() < builder_.part().events.size() / 2;
    if (early) std::for_each(entry.second.begin(), entry.second.end(), [&](std::size_t index) { Drop(index); });
    return early;
  });
}

void EventLog::Drop(std::size_t index) {
  dropped_.insert(index);
  ++left_out_;
  std::erase_if(watches_, [&](const Watch& watch) { return watch.event == index; });
  std::erase_if(last_exception_, [&](const auto& entry) { return entry.second == index; });
}

void EventLog::RemoveDropped() {
  std::vector<model::Event>& events = builder_.part().events;
  std::vector<std::size_t> places(events.size());  // where each one is afterwards
  std::size_t count = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    places[i] = count;
    if (dropped_.contains(i)) continue;
    if (count != i) events[count] = std::move(events[i]);
    ++count;
  }
  events.resize(count);
  dropped_.clear();
  for (auto& [name, kept] : kept_) {
    for (std::size_t& index : kept) index = places[index];
  }
  for (auto& [rank, index] : last_exception_) index = places[index];
  for (Watch& watch : watches_) watch.event = places[watch.event];
}

model::Event& EventLog::Add(model::EventKind kind, std::string_view name, std::string_view text, const Place& place) {
  model::Event event;
  event.kind = kind;
  event.name = std::string(name);
  event.text = Quote(text);
  event.at = PositionOf(place);
  event.rank = place.rank;
  event.place.line = place.line;
  builder_.AddEvent(std::move(event));
  return builder_.part().events.back();
}

void EventLog::WatchFrom(const Place& place, bool ends_process) {
  Watch watch;
  watch.event = builder_.part().events.size() - 1;
  watch.place = place;
  watch.ends_process = ends_process;
  watch.highest_bar = place.step;
  watches_.push_back(watch);
}

void EventLog::AddSignature(std::string_view id, std::string_view text, const Exception* exception,
                            const Place& place) {
  MakeRoomFor(id);
  model::Event& event = Add(model::EventKind::kSignature, id, text, place);
  if (exception != nullptr) event.detail = ingest::WithoutSecrets(exception->frame);
  if (const GuardLine guard = ReadGuardLine(text); id == kGuardSignature && !guard.decision.empty()) {
    event.decision = guard.decision;
    // It is printed before the line of the step that it is about.
    if (guard.step != model::kNoStep) {
      event.at = model::Position(model::Axis::kStep, guard.step);
    }
  }
  WatchFrom(place, exception != nullptr && exception->ends_process);
}

void EventLog::AddException(const Exception& exception, const Place& place) {
  const std::string text = exception.message.empty() ? exception.type : exception.type + ": " + exception.message;
  if (const auto first = last_exception_.find(place.rank); exception.is_chained && first != last_exception_.end()) {
    std::string& root = builder_.part().events[first->second].text;
    if (root.size() < 2 * kLongestText) root += fmt::format(" (then {})", Quote(text));
    return;
  }
  MakeRoomFor(exception.type);
  Add(model::EventKind::kException, exception.type, text, place).detail = ingest::WithoutSecrets(exception.frame);
  last_exception_[place.rank] = builder_.part().events.size() - 1;
  WatchFrom(place, exception.ends_process);
}

void EventLog::AddFailure(const ProcessFailure& failure, const Place& place) {
  MakeRoomFor("exit");
  const std::string_view signal = SignalName(-failure.exit_code);
  model::Statement process = says::EventProcessEndedProcess{};
  model::Statement host;
  model::Statement by_signal;
  if (failure.rank >= 0) process = says::EventProcessEndedRank{.rank = failure.rank};
  if (!failure.host.empty()) host = says::EventProcessEndedHost{.host = failure.host};
  if (!signal.empty()) by_signal = says::EventProcessEndedSignal{.signal = signal};
  model::Event& event = Add(model::EventKind::kExit, std::to_string(failure.exit_code), "", place);
  event.says =
      says::EventProcessEnded{.process = process, .host = host, .code = failure.exit_code, .signal = by_signal};
  event.rank = failure.rank;
}

void EventLog::AddNotice(model::EventKind kind, std::string_view name, std::string_view text, const Place& place) {
  MakeRoomFor(fmt::format("{} {}", static_cast<int>(kind), name));
  Add(kind, name, text, place);
}

void EventLog::ObserveStep(std::int64_t step, std::uint64_t offset) {
  if (watches_.empty()) return;
  std::erase_if(watches_, [&](Watch& watch) {
    if (step == watch.place.step) return false;
    // A step that goes back is another start. What stopped the one before is overcome when this one gets past it.
    if (step < watch.place.step) {
      ++watch.steps_below;
      return false;
    }
    if (watch.steps_below > 0 && ++watch.steps_beyond < kOfAnotherStart) return false;
    if (watch.ends_process && watch.steps_below < kOfAnotherStart && offset - watch.place.offset <= kBufferedBytes)
      return false;
    WentOn(watch);
    return true;
  });
}

void EventLog::ObserveBar(std::int64_t count) {
  if (watches_.empty()) return;
  std::erase_if(watches_, [&](Watch& watch) {
    if (count <= watch.highest_bar) return false;
    watch.highest_bar = count;
    if (++watch.bar_advances < kBarAdvances) return false;
    WentOn(watch);
    return true;
  });
}

// What Settle took for the end was not: the event stands where it was read.
void EventLog::WentOn(const Watch& watch) {
  model::Event& event = builder_.part().events[watch.event];
  event.run_went_on = true;
  if (!watch.was_moved) return;
  event.at = PositionOf(watch.place);
}

void EventLog::Settle(std::int64_t last_step, model::Axis axis) {
  for (Watch& watch : watches_) {
    model::Event& event = builder_.part().events[watch.event];
    if (!watch.ends_process || watch.steps_below != 0 || last_step == model::kNoStep) continue;
    const model::Position last(axis, last_step);
    // Counts of two axes cannot be compared, but nothing was known when the event came before the first row.
    if (event.at.known() && !std::is_gt(model::CompareOnAxis(last, event.at))) continue;
    event.at = last;
    watch.was_moved = true;
  }
  RemoveDropped();
}

void EventLog::Finish() {
  if (left_out_ == 0) return;
  builder_.AddNote(says::NoteEventsLeftOut{.count = left_out_, .kept = kMostOfAName});
  left_out_ = 0;
}

}  // namespace vigil::textlog
