#include "pipeline/live_events.h"

#include <algorithm>
#include <utility>

namespace vigil::pipeline {
namespace {

bool SameEvent(const model::Event& a, const model::Event& b) {
  return model::SameWords(a, b) && model::SamePosition(a.at, b.at) && a.rank == b.rank &&
         a.run_went_on == b.run_went_on;
}

// As the join hands it on.
model::Event Placed(model::Event event, std::uint32_t place) {
  event.at = ingest::PartBuilder::Placed(event.at);
  event.place.source = place;
  return event;
}

// How many events at the front are as they were taken.
std::size_t UnchangedEvents(const std::vector<model::Event>& taken, const std::vector<model::Event>& now) {
  const auto same = [](const model::Event& a, const model::Event& b) {
    return model::SameWords(a, b) && model::SamePosition(a.at, ingest::PartBuilder::Placed(b.at)) && a.rank == b.rank &&
           a.run_went_on == b.run_went_on;
  };
  return static_cast<std::size_t>(std::mismatch(taken.begin(), taken.end(), now.begin(), now.end(), same).first -
                                  taken.begin());
}

}  // namespace

void LiveEvents::Take(const ingest::PartBuilder& builder, std::uint32_t place) {
  place_ = place;
  taken_.clear();
  for (const model::Event& event : builder.part().events) taken_.push_back(Placed(event, place));
}

void LiveEvents::Find(const model::Run& run) {
  const std::vector<model::Event>& events = run.events;
  const auto is_own = [&](const model::Event& event) { return event.place.source == place_; };
  const auto first = std::find_if(events.begin(), events.end(), is_own);
  const auto count = std::count_if(first, events.end(), is_own);
  first_ = static_cast<std::size_t>(first - events.begin());
  are_together_ = static_cast<std::size_t>(count) == taken_.size() && events.end() - first >= count &&
                  std::equal(taken_.begin(), taken_.end(), first, SameEvent);
}

bool LiveEvents::IsUnchanged(const model::Run& part) const {
  return part.events.size() == taken_.size() && UnchangedEvents(taken_, part.events) == taken_.size();
}

bool LiveEvents::CanUpdate(const model::Run& part, const model::Run& run, bool all_points) const {
  if (!are_together_) return false;
  const std::vector<model::Event>& now = part.events;
  for (std::size_t i = std::max(UnchangedEvents(taken_, now), taken_.size()); i < now.size(); ++i) {
    if (now[i].kind == model::EventKind::kResume && !all_points) return false;
    const auto is_same = [&](const model::Event& other) {
      return other.place.source != place_ && model::SameWords(other, now[i]);
    };
    if (std::any_of(run.events.begin(), run.events.end(), is_same)) return false;
  }
  return true;
}

// Readers change what they said of an event (the run went on after it): from the first that is another one on, they are
// taken again.
std::ptrdiff_t LiveEvents::Update(const model::Run& part, model::Run& run) {
  const std::size_t same = UnchangedEvents(taken_, part.events);
  const std::size_t before = taken_.size();
  const auto from = run.events.begin() + static_cast<std::ptrdiff_t>(first_ + same);
  const auto at = run.events.erase(from, run.events.begin() + static_cast<std::ptrdiff_t>(end()));
  taken_.resize(same);
  for (std::size_t i = same; i < part.events.size(); ++i) taken_.push_back(Placed(part.events[i], place_));
  run.events.insert(at, taken_.begin() + static_cast<std::ptrdiff_t>(same), taken_.end());
  return static_cast<std::ptrdiff_t>(taken_.size()) - static_cast<std::ptrdiff_t>(before);
}

}  // namespace vigil::pipeline
