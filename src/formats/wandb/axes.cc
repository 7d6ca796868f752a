#include "formats/wandb/axes.h"

#include "codec/codec.h"
#include "tabular/column_roles.h"

namespace vigil::formats::wandb {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

constexpr std::size_t kMostRules = 10'000;
constexpr double kHighestStep = 9e15;

// `_step` is the client's own count of log calls, which the row states anyway.
int PriorityOf(std::string_view key) { return key.starts_with('_') ? 0 : tabular::StepPriority(key); }

bool IsStepNumber(double value) { return value >= 0 && value < kHighestStep; }

}  // namespace

std::size_t Axes::AxisOf(std::string_view key) {
  const auto [at, is_new] = ids_.try_emplace(std::string(key), axes_.size());
  if (is_new) axes_.push_back({std::string(key), std::nullopt});
  return at->second;
}

void Axes::Declare(std::string_view metric_record) {
  std::string_view name;
  std::string_view pattern;
  std::string_view axis;
  ProtoFields fields(metric_record);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kBytes)) name = fields.bytes();
    if (fields.key() == FieldKey(2, WireType::kBytes)) pattern = fields.bytes();
    if (fields.key() == FieldKey(4, WireType::kBytes)) axis = fields.bytes();
  }
  // "_step" and "_runtime" are the client's own: the row's number serves for both.
  if (axis.empty() || axis.starts_with('_') || by_prefix_.size() + exact_.size() >= kMostRules) return;
  if (!name.empty()) exact_[std::string(name)] = AxisOf(axis);
  if (!pattern.ends_with('*')) return;
  pattern.remove_suffix(1);
  by_prefix_.try_emplace(std::string(pattern), AxisOf(axis));
  prefix_sizes_.insert(pattern.size());
}

bool Axes::IsStep(std::string_view key) const { return PriorityOf(key) != 0 || ids_.contains(key); }

void Axes::BeginRow(std::int64_t row_step) {
  row_step_ = row_step;
  own_step_.reset();
  own_priority_ = 0;
}

void Axes::TakeRowStep(double value) {
  if (IsStepNumber(value)) row_step_ = static_cast<std::int64_t>(value);
}

void Axes::TakeStep(std::string_view key, double value) {
  if (!IsStepNumber(value)) return;
  const auto step = static_cast<std::int64_t>(value);
  if (const int priority = PriorityOf(key); priority > own_priority_) {
    own_step_ = step;
    own_priority_ = priority;
  }
  if (const auto at = ids_.find(key); at != ids_.end()) axes_[at->second].last = step;
}

model::Axis Axes::KindOf(std::size_t axis) const {
  if (axis >= axes_.size() || !axes_[axis].last) return model::Axis::kStep;
  switch (tabular::UseOfColumn(axes_[axis].key).role) {
    case tabular::ColumnRole::kEpoch:
      return model::Axis::kEpoch;
    case tabular::ColumnRole::kTokens:
      return model::Axis::kTokens;
    case tabular::ColumnRole::kSamples:
      return model::Axis::kSamples;
    default:
      return model::Axis::kStep;
  }
}

std::size_t Axes::AxisFor(std::string_view key) const {
  if (const auto at = exact_.find(key); at != exact_.end()) return at->second;
  // Of several patterns the longest speaks of the metric most closely.
  for (const std::size_t size : prefix_sizes_) {
    if (size > key.size()) continue;
    if (const auto at = by_prefix_.find(key.substr(0, size)); at != by_prefix_.end()) return at->second;
  }
  return kNone;
}

}  // namespace vigil::formats::wandb
