#include "detect/feeder.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

namespace vigil::detect {
namespace {

constexpr std::size_t kMostRestarts = 1000;
constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

bool SameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

}  // namespace

// ---- which points belong together

Feeder::Range Feeder::SegmentRange(const model::Series& series, std::size_t segment) {
  const std::size_t begin = series.segment_starts[segment];
  const bool is_last = segment + 1 == series.segment_starts.size();
  return {begin, is_last ? series.size() : series.segment_starts[segment + 1]};
}

// The points of a segment with steps from `first` to `last`.
Feeder::Range Feeder::Within(const model::Series& series, Range segment, std::int64_t first, std::int64_t last) {
  const auto begin = series.steps.begin() + static_cast<std::ptrdiff_t>(segment.begin);
  const auto end = series.steps.begin() + static_cast<std::ptrdiff_t>(segment.end);
  const auto from = std::lower_bound(begin, end, first);
  const auto to = std::upper_bound(from, end, last);
  return {static_cast<std::size_t>(from - series.steps.begin()), static_cast<std::size_t>(to - series.steps.begin())};
}

Feeder::Pairing Feeder::PairingOf(const Watched& watched, std::size_t role) const {
  constexpr std::size_t kMostPairs = 1'000'000;
  if (watched[role] == nullptr || watched[role]->empty()) return Pairing::kAbsent;
  const std::size_t segments = watched[role]->segment_starts.size();
  const std::size_t lead_segments = watched[lead_]->segment_starts.size();
  if (segments == lead_segments) return Pairing::kSame;
  return segments > kMostPairs / lead_segments ? Pairing::kByNumber : Pairing::kCovered;
}

Feeder::Range Feeder::StretchOf(const Watched& watched, std::size_t role, std::size_t segment) const {
  const Pairing pairing = PairingOf(watched, role);
  if (pairing == Pairing::kAbsent) return {};
  const model::Series& series = *watched[role];
  const std::size_t segments = series.segment_starts.size();
  if (pairing != Pairing::kCovered) return segment < segments ? SegmentRange(series, segment) : Range{};
  const model::Series& leading = *watched[lead_];
  const Range lead = SegmentRange(leading, segment);
  // What was logged before the first point or after the last one belongs to the outermost segments.
  const bool is_last = segment + 1 == leading.segment_starts.size();
  const std::int64_t first = segment == 0 ? kEarliest : leading.steps[lead.begin];
  const std::int64_t last = is_last ? kLatest : leading.steps[lead.end - 1];
  Range best;
  for (std::size_t i = 0; i < segments; ++i) {
    const Range covered = Within(series, SegmentRange(series, i), first, last);
    // The later of two that cover as much is the one that counts.
    if (covered.end - covered.begin >= best.end - best.begin) best = covered;
  }
  return best;
}

// ---- whether what was fed still holds

bool Feeder::StillHolds(const Watched& watched, const Resumes& resumes) const {
  if (places_.empty()) return true;
  if (places_.size() != watched.size() || !ResumesHold(resumes)) return false;
  for (std::size_t role = 0; role < watched.size(); ++role) {
    if (!HoldsFor(watched, role)) return false;
  }
  return true;
}

bool Feeder::HoldsFor(const Watched& watched, std::size_t role) const {
  const Place& place = places_[role];
  if (PairingOf(watched, role) != place.pairing) return place.pairing == Pairing::kAbsent && ComesBehind(watched, role);
  if (place.pairing == Pairing::kAbsent) return true;
  const model::Series& series = *watched[role];
  // A column that was thinned or written again does not hold at the same place what it held there.
  if (series.size() < place.size || series.steps[place.size - 1] != place.last_step ||
      !SameBits(series.values[place.size - 1], place.last_value))
    return false;
  const bool grew = series.size() > place.size;
  const bool lead_restarted = watched[lead_]->segment_starts.size() != places_[lead_].segments;
  if (place.pairing == Pairing::kByNumber && (grew || lead_restarted)) return false;
  if (place.pairing == Pairing::kCovered) {
    // Another segment of the companion may fit the closed segments better, and points that come late belong to them.
    if (series.segment_starts.size() != place.segments) return false;
    if (grew && series.steps[place.size] <= highest_closed_) return false;
  }
  if (!open_) return true;
  const Range now = StretchOf(watched, role, segment_);
  const bool untouched = place.next == place.stretch.begin;
  if (!untouched && (now.begin != place.stretch.begin || now.end < place.next)) return false;
  const std::size_t next = untouched ? now.begin : place.next;
  return next >= now.end || !IsLate(watched, role, next);
}

// A companion that is new changes nothing of what was fed when it begins behind it. Where something restarted, which
// points belong together has to be found out again.
bool Feeder::ComesBehind(const Watched& watched, std::size_t role) const {
  const bool no_restarts = watched[role]->segment_starts.size() == 1 && watched[lead_]->segment_starts.size() == 1;
  return open_ && segment_ == 0 && no_restarts && !IsLate(watched, role, 0);
}

// Whether the point should have come before the one that was fed last.
bool Feeder::IsLate(const Watched& watched, std::size_t role, std::size_t next) const {
  if (last_ == model::kNoStep) return false;
  const std::int64_t step = watched[role]->steps[next];
  return step < last_ || (step == last_ && role > last_role_);
}

// A resume that became known later matters where steps at or behind it were fed.
bool Feeder::ResumesHold(const Resumes& resumes) const {
  if (resumes == resumes_) return true;
  std::vector<std::int64_t> changed;
  std::set_symmetric_difference(resumes->begin(), resumes->end(), resumes_->begin(), resumes_->end(),
                                std::back_inserter(changed));
  return changed.empty() || changed.front() >= highest_;
}

// ---- feeding

void Feeder::FeedSettled(Detector& detector, const Watched& watched, const Resumes& resumes, std::size_t most_waiting) {
  resumes_ = resumes;
  Feed(detector, watched, std::max<std::size_t>(most_waiting, 1));
  Remember(watched);
}

void Feeder::FeedAll(Detector& detector, const Watched& watched, const Resumes& resumes) {
  resumes_ = resumes;
  Feed(detector, watched, 0);
  Remember(watched);
}

void Feeder::Feed(Detector& detector, const Watched& watched, std::size_t most_waiting) {
  places_.resize(watched.size());
  if (open_) StretchOn(watched);
  const model::Series& leading = *watched[lead_];
  for (;;) {
    if (!open_) OpenSegment(detector, watched);
    const bool is_last = segment_ + 1 == leading.segment_starts.size();
    FeedSegment(detector, watched, is_last ? SettledStep(watched) : kLatest, most_waiting);
    if (is_last) return;
    highest_closed_ = std::max(highest_closed_, leading.steps[places_[lead_].stretch.end - 1]);
    ++segment_;
    open_ = false;
  }
}

void Feeder::OpenSegment(Detector& detector, const Watched& watched) {
  // A step that is written twice is no restart; steps that go back all the time are no count of steps, and what they
  // would overwrite is left as it was: the points are judged all the same.
  const model::Series& leading = *watched[lead_];
  const std::size_t first = leading.segment_starts[segment_];
  const bool goes_back = segment_ > 0 && leading.steps[first] < leading.steps[first - 1];
  if (goes_back && ++restarts_ <= kMostRestarts) detector.Restart(leading.steps[first]);
  for (std::size_t role = 0; role < watched.size(); ++role) {
    places_[role].stretch = StretchOf(watched, role, segment_);
    places_[role].next = places_[role].stretch.begin;
  }
  last_ = model::kNoStep;
  last_role_ = 0;
  open_ = true;
}

// The open segment as it is now. What was fed of it stays where it was: StillHolds has seen to that.
void Feeder::StretchOn(const Watched& watched) {
  for (std::size_t role = 0; role < watched.size(); ++role) {
    Place& place = places_[role];
    const bool untouched = place.next == place.stretch.begin;
    place.stretch = StretchOf(watched, role, segment_);
    if (untouched) place.next = place.stretch.begin;
  }
}

// The last step that every companion has come to: nothing can come before it any more.
std::int64_t Feeder::SettledStep(const Watched& watched) const {
  std::int64_t settled = kLatest;
  for (std::size_t role = 0; role < watched.size(); ++role) {
    if (PairingOf(watched, role) == Pairing::kAbsent) continue;
    const Range& stretch = places_[role].stretch;
    const bool nothing = stretch.begin == stretch.end;
    settled = std::min(settled, nothing ? kEarliest : watched[role]->steps[stretch.end - 1]);
  }
  return settled;
}

// The points that are left of the open segment, role by role. Backwards: of points at one step the leading series is
// taken last.
std::vector<Feeder::Cursor> Feeder::CursorsOf(const Watched& watched) const {
  std::vector<Cursor> cursors;
  for (std::size_t role = watched.size(); role-- > 0;) {
    const Place& place = places_[role];
    if (place.next >= place.stretch.end) continue;
    const model::Series& series = *watched[role];
    cursors.push_back({series.steps.data(), series.values.data(), series.lines.empty() ? nullptr : series.lines.data(),
                       place.next, place.stretch.end, static_cast<std::uint32_t>(role)});
  }
  return cursors;
}

void Feeder::FeedSegment(Detector& detector, const Watched& watched, std::int64_t settled, std::size_t most_waiting) {
  std::vector<Cursor> cursors = CursorsOf(watched);
  Batch batch(detector);
  for (std::size_t left = waiting(); left > 0;) {
    if (const std::size_t taken = TakeTogether(cursors, settled, batch); taken > 0) {
      left -= taken;
      continue;
    }
    Cursor* const next = NextOf(cursors);
    if (next == nullptr) break;
    const std::int64_t step = next->step();
    if (step > settled) {
      if (left <= most_waiting) break;
      took_a_chance_ = true;
    }
    if (last_ != model::kNoStep && ResumedBetween(last_, step)) {
      batch.HandOver();
      detector.Resume(step);
    }
    batch.Add(next->Take());
    SetLast(step, next->role);
    --left;
  }
  batch.HandOver();
  for (const Cursor& cursor : cursors) places_[cursor.role].next = cursor.next;
}

// Most logs have all their series at the same steps: those are taken step by step, without a search for the point that
// comes next. Returns how many points were taken.
std::size_t Feeder::TakeTogether(std::vector<Cursor>& cursors, std::int64_t settled, Batch& batch) {
  if (!resumes_->empty()) return 0;
  std::size_t most = Batch::kMost / cursors.size();
  for (const Cursor& cursor : cursors) most = std::min(most, cursor.end - cursor.next);
  const Cursor& first = cursors.front();
  const auto is_common = [&](std::size_t i) {
    const std::int64_t step = first.steps[first.next + i];
    return step <= settled && step < kLatest &&
           std::all_of(
               cursors.begin(), cursors.end(),
               [&](const Cursor& cursor) { return cursor.steps[cursor.next + i] == step; });
  };
  std::size_t steps = 0;
  while (steps < most && is_common(steps)) ++steps;
  if (steps == 0) return 0;
  for (std::size_t i = 0; i < steps; ++i) {
    for (Cursor& cursor : cursors) batch.Add(cursor.Take());
  }
  SetLast(first.steps[first.next - 1], cursors.back().role);
  return steps * cursors.size();
}

void Feeder::SetLast(std::int64_t step, std::size_t role) {
  last_ = step;
  last_role_ = role;
  highest_ = std::max(highest_, step);
}

// The one whose point comes next: none when there is none left before the end of all steps.
Feeder::Cursor* Feeder::NextOf(std::vector<Cursor>& cursors) {
  Cursor* next = nullptr;
  std::int64_t smallest = kLatest;
  for (Cursor& cursor : cursors) {
    if (cursor.next >= cursor.end || cursor.step() >= smallest) continue;
    smallest = cursor.step();
    next = &cursor;
  }
  return next;
}

bool Feeder::ResumedBetween(std::int64_t last, std::int64_t next) const {
  if (resumes_->empty()) return false;
  const auto at = std::lower_bound(resumes_->begin(), resumes_->end(), last);
  return at != resumes_->end() && *at < next;
}

void Feeder::Remember(const Watched& watched) {
  for (std::size_t role = 0; role < watched.size(); ++role) {
    Place& place = places_[role];
    place.pairing = PairingOf(watched, role);
    if (place.pairing == Pairing::kAbsent) continue;
    const model::Series& series = *watched[role];
    place.size = series.size();
    place.segments = series.segment_starts.size();
    place.last_step = series.steps.back();
    place.last_value = series.values.back();
  }
}

std::size_t Feeder::waiting() const {
  std::size_t count = 0;
  for (const Place& place : places_) count += place.stretch.end - place.next;
  return count;
}

}  // namespace vigil::detect
