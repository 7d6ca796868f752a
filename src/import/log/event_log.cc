#include "import/log/event_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace vigil::import::log {
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

std::string Quote(std::string_view text) { return Printable(Trim(text).substr(0, kLongestText)); }

}  // namespace

bool EventLog::IsFull(std::string_view name) {
  return builder_.part().events.size() >= kMostEvents || ++counts_[std::string(name)] > kMostOfAName;
}

model::Event& EventLog::Add(model::EventKind kind, std::string_view name, std::string_view text,
                            const Position& position) {
  model::Event event;
  event.kind = kind;
  event.name = std::string(name);
  event.text = Quote(text);
  event.step = position.step;
  event.rank = position.rank;
  event.place.line = position.line;
  builder_.AddEvent(std::move(event));
  return builder_.part().events.back();
}

void EventLog::WatchFrom(const Position& position, bool ends_process) {
  Watch watch;
  watch.event = builder_.part().events.size() - 1;
  watch.position = position;
  watch.ends_process = ends_process;
  watch.highest_bar = position.step;
  watches_.push_back(watch);
}

void EventLog::AddSignature(std::string_view id, std::string_view text, const Exception* exception,
                            const Position& position) {
  if (IsFull(id)) return;
  model::Event& event = Add(model::EventKind::kSignature, id, text, position);
  if (exception != nullptr) event.detail = exception->frame;
  WatchFrom(position, exception != nullptr && exception->ends_process);
}

void EventLog::AddException(const Exception& exception, const Position& position) {
  const std::string text = exception.message.empty() ? exception.type : exception.type + ": " + exception.message;
  if (const auto first = last_exception_.find(position.rank); exception.is_chained && first != last_exception_.end()) {
    std::string& told = builder_.part().events[first->second].text;
    if (told.size() < 2 * kLongestText) told += fmt::format(" (then {})", Quote(text));
    return;
  }
  if (IsFull(exception.type)) return;
  Add(model::EventKind::kException, exception.type, text, position).detail = exception.frame;
  last_exception_[position.rank] = builder_.part().events.size() - 1;
  WatchFrom(position, exception.ends_process);
}

void EventLog::AddFailure(const ProcessFailure& failure, const Position& position) {
  if (IsFull("exit")) return;
  const std::string_view signal = SignalName(-failure.exit_code);
  const std::string text = fmt::format("{}{} ended with exit code {}{}{}{}",
                                       failure.rank < 0 ? "a process" : fmt::format("rank {}", failure.rank),
                                       failure.host.empty() ? "" : " on " + failure.host, failure.exit_code,
                                       signal.empty() ? "" : " (", signal, signal.empty() ? "" : ")");
  model::Event& event = Add(model::EventKind::kExit, std::to_string(failure.exit_code), text, position);
  event.rank = failure.rank;
}

void EventLog::AddNotice(model::EventKind kind, std::string_view name, std::string_view text,
                         const Position& position) {
  if (builder_.part().events.size() < kMostEvents) Add(kind, name, text, position);
}

void EventLog::ObserveStep(std::int64_t step, std::uint64_t offset) {
  if (watches_.empty()) return;
  std::erase_if(watches_, [&](Watch& watch) {
    if (step == watch.position.step) return false;
    // A step that goes back is another start. What stopped the one before is overcome when this one gets past it.
    if (step < watch.position.step) {
      ++watch.steps_below;
      return false;
    }
    if (watch.steps_below > 0 && ++watch.steps_beyond < kOfAnotherStart) return false;
    if (watch.ends_process && watch.steps_below < kOfAnotherStart && offset - watch.position.offset <= kBufferedBytes)
      return false;
    builder_.part().events[watch.event].run_went_on = true;
    return true;
  });
}

void EventLog::ObserveBar(std::int64_t count) {
  if (watches_.empty()) return;
  std::erase_if(watches_, [&](Watch& watch) {
    if (count <= watch.highest_bar) return false;
    watch.highest_bar = count;
    if (++watch.bar_advances < kBarAdvances) return false;
    builder_.part().events[watch.event].run_went_on = true;
    return true;
  });
}

void EventLog::Finish(std::int64_t last_step) {
  for (const Watch& watch : watches_) {
    model::Event& event = builder_.part().events[watch.event];
    if (watch.ends_process && watch.steps_below == 0) event.step = std::max(event.step, last_step);
  }
}

}  // namespace vigil::import::log
