// The tags of an event file, and what is known about each: metadata stands only on the first value of a tag.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::formats::tfevents {

enum class TagKind : std::uint8_t { kScalar, kHistogram, kText, kHparams, kIgnored };

struct Tag {
  std::string name;
  TagKind kind = TagKind::kIgnored;
  bool counts_rows = false;                  // written without a step: the point's number stands for it
  bool holds_settings = false;               // of a text: the first one was a config
  ingest::PartBuilder::SeriesId series = 0;  // of a histogram the first of its series
  std::uint32_t follower = 0;                // the tag that came after this one the last time
};

// Finds tags by name. A trainer writes its tags in the same order again and again, so the tag that followed last time
// is tried first: one comparison instead of a hash.
class TagTable {
 public:
  // The tag of that name, or null.
  Tag* Find(std::string_view name) {
    if (tags_.empty()) return nullptr;
    const std::uint32_t guess = tags_[last_].follower;
    if (tags_[guess].name == name) {
      last_ = guess;
      return &tags_[guess];
    }
    return FindByHash(name);
  }
  Tag& Add(Tag tag);
  // The same without touching the guesses.
  Tag* Peek(std::string_view name);
  std::span<Tag> all() { return tags_; }
  std::size_t size() const { return tags_.size(); }

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  Tag* FindByHash(std::string_view name);

  std::vector<Tag> tags_;
  std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> ids_;
  std::uint32_t last_ = 0;
};

}  // namespace vigil::formats::tfevents
