#include "formats/tfevents/tags.h"

namespace vigil::formats::tfevents {

Tag* TagTable::FindByHash(std::string_view name) {
  const auto at = ids_.find(name);
  if (at == ids_.end()) return nullptr;
  tags_[last_].follower = at->second;
  last_ = at->second;
  return &tags_[last_];
}

Tag* TagTable::Peek(std::string_view name) {
  const auto at = ids_.find(name);
  return at == ids_.end() ? nullptr : &tags_[at->second];
}

Tag& TagTable::Add(Tag tag) {
  const auto id = static_cast<std::uint32_t>(tags_.size());
  if (!tags_.empty()) tags_[last_].follower = id;
  ids_.emplace(tag.name, id);
  tags_.push_back(std::move(tag));
  last_ = id;
  return tags_.back();
}

}  // namespace vigil::formats::tfevents
