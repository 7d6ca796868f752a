// What the mutators share: a sequence of frames is changed as a sequence, and numbers are read and written.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "structure.h"

namespace vigil::fuzz {

enum class SequenceChange : std::uint8_t { kEdit, kDuplicate, kRemove, kSwap, kMove, kRepeat, kShorten };

inline constexpr std::size_t kManyFrames = 1000;

// Most changes are inside of one frame: the order of frames has far fewer states than their contents. Repeating one
// makes a large input, which is slow to read, and so is rare, and large ones are often cut to a few frames again.
inline SequenceChange ChooseChange(Chance& chance, std::size_t count) {
  if (count > kManyFrames && chance.OneIn(3)) return SequenceChange::kShorten;
  if (!chance.OneIn(3)) return SequenceChange::kEdit;
  if (chance.OneIn(32)) return SequenceChange::kRepeat;
  constexpr SequenceChange kOthers[] = {SequenceChange::kDuplicate, SequenceChange::kRemove, SequenceChange::kSwap,
                                        SequenceChange::kMove};
  return kOthers[chance.Below(4)];
}

// How often a frame of that size is repeated to make the whole large. Many small ones take a reader far longer than a
// few large ones of the same bytes, and show no more.
inline std::size_t RepeatsFor(std::size_t frame_bytes, const Mutation& how) {
  const std::size_t most = std::min(kLargeBytes, how.most_bytes);
  return std::min<std::size_t>(2'000, most / std::max<std::size_t>(1, frame_bytes));
}

// One change to the frames. `edit` changes the content of one; `size_of` gives its bytes.
template <class Frame, class Edit, class SizeOf>
void MutateSequence(std::vector<Frame>& frames, Mutation& how, Edit&& edit, SizeOf&& size_of) {
  if (frames.empty()) frames.emplace_back();
  Chance& chance = how.chance;
  const std::size_t at = chance.Below(frames.size());
  const std::size_t other = chance.Below(frames.size());
  const auto place = [&](std::size_t index) { return frames.begin() + static_cast<std::ptrdiff_t>(index); };
  switch (ChooseChange(chance, frames.size())) {
    case SequenceChange::kEdit:
      return edit(frames[at]);
    case SequenceChange::kDuplicate:
      frames.insert(place(other), Frame(frames[at]));
      return;
    case SequenceChange::kRemove:
      frames.erase(place(at));
      return;
    case SequenceChange::kSwap:
      return std::swap(frames[at], frames[other]);
    case SequenceChange::kMove:
      std::rotate(place(std::min(at, other)), place(std::max(at, other)), frames.end());
      return;
    case SequenceChange::kRepeat:
      frames.insert(place(at), RepeatsFor(size_of(frames[at]), how), Frame(frames[at]));
      return;
    case SequenceChange::kShorten:
      frames.erase(place(std::min(frames.size(), at + kManyFrames / 2)), frames.end());
      frames.erase(frames.begin(), place(at));
      return;
  }
}

// Changes plain bytes; now and then repeats them until they are large.
void MutateContent(std::string& bytes, Mutation& how);

// ---- numbers

void PutLittle(std::string& out, std::uint64_t value, std::size_t bytes);
void PutBig(std::string& out, std::uint64_t value, std::size_t bytes);
std::uint64_t LittleAt(std::string_view bytes, std::size_t at, std::size_t count);
std::uint64_t BigAt(std::string_view bytes, std::size_t at, std::size_t count);

// The varint of protobuf and of the journal at the front, which is taken off; false, and nothing taken, without one.
bool TakeVarint(std::string_view& bytes, std::uint64_t& value);
void PutVarint(std::string& out, std::uint64_t value);

// ---- protobuf

// Changes one field of a message, or of one inside it, and makes right the lengths around it.
std::string MutateMessage(std::string_view message, Mutation& how);

}  // namespace vigil::fuzz
