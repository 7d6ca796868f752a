#include "journal/payload.h"

#include <algorithm>
#include <limits>

#include "base/base.h"
#include "journal/wire.h"

namespace vigil::journal {
namespace {

std::int32_t ToNumber(std::string_view text) {
  const auto number = ParseInteger(text);
  const bool fits = number && *number >= std::numeric_limits<std::int32_t>::min() &&
                    *number <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(*number) : 0;
}

// Enums of a newer writer fall back to the first.
template <class Enum>
Enum ToEnum(std::uint8_t value, Enum last) {
  return value <= static_cast<std::uint8_t>(last) ? static_cast<Enum>(value) : Enum{};
}

// Calls `read` with each entry; false when the content is not a list of entries, or an entry lacks a field.
template <class Read>
bool ForEntries(std::string_view content, Allowance& allowance, Read&& read) {
  Input input(content);
  const std::uint64_t count = input.Varint();
  for (std::uint64_t i = 0; i < count; ++i) {
    Input entry(input.Text());
    if (!input.ok() || !allowance.Take()) return false;
    read(entry);
    if (!entry.ok() || allowance.exceeded) return false;
  }
  return input.ok();
}

bool ReadDefinitions(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Definition it;
    const std::uint64_t id = entry.Varint();
    it.id = static_cast<std::uint32_t>(std::min<std::uint64_t>(id, std::numeric_limits<std::uint32_t>::max()));
    it.name = entry.Text();
    it.unit = entry.Text();
    it.axis = ToEnum(entry.Raw<std::uint8_t>(), model::Axis::kTime);
    it.aggregation = ToEnum(entry.Raw<std::uint8_t>(), model::Aggregation::kMean);
    it.clipping = ToEnum(entry.Raw<std::uint8_t>(), model::Clipping::kAfter);
    const std::uint64_t labels = entry.Varint();
    for (std::uint64_t i = 0; i < labels && entry.ok(); ++i) {
      if (!allowance.Take()) return;
      std::string key(entry.Text());
      it.labels.emplace_back(std::move(key), std::string(entry.Text()));
    }
    if (entry.ok()) visitor.OnDefinition(it);
  });
}

bool ReadEvents(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Event it;
    it.time_ms = entry.Varint();
    it.step = entry.Zigzag();
    it.severity = ToEnum(entry.Raw<std::uint8_t>(), model::Severity::kFatal);
    it.kind = ToEnum(entry.Raw<std::uint8_t>(), EventKind::kGap);
    it.name = entry.Text();
    it.text = entry.Text();
    it.json = entry.Text();
    if (entry.ok()) visitor.OnEvent(it);
  });
}

bool ReadHyperparameters(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Hyperparameter it;
    it.time_ms = entry.Varint();
    it.key = entry.Text();
    it.value = entry.Text();
    if (entry.ok()) visitor.OnHyperparameter(it);
  });
}

bool ReadBatches(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Batch it;
    it.time_ms = entry.Varint();
    it.step = entry.Zigzag();
    it.fingerprint = entry.Raw<std::uint64_t>();
    if (entry.ok()) visitor.OnBatch(it);
  });
}

bool ReadArtifacts(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Artifact it;
    it.time_ms = entry.Varint();
    it.step = entry.Zigzag();
    it.kind = entry.Text();
    it.path = entry.Text();
    if (entry.ok()) visitor.OnArtifact(it);
  });
}

bool ReadPositions(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    Position it;
    it.lane = static_cast<std::uint32_t>(entry.Varint());
    it.position = entry.Varint();
    it.records = entry.Varint();
    if (entry.ok()) visitor.OnPosition(it);
  });
}

bool ReadLosses(std::string_view content, Allowance& allowance, Visitor& visitor) {
  return ForEntries(content, allowance, [&](Input& entry) {
    DroppedRecords it;
    it.time_ms = entry.Varint();
    it.lane = static_cast<std::uint32_t>(entry.Varint());
    it.records = entry.Varint();
    if (entry.ok()) visitor.OnDropped(it);
  });
}

bool ReadSamples(std::string_view content, Allowance& allowance, Column& column, std::uint64_t& samples,
                 Visitor& visitor) {
  Input input(content);
  const std::uint64_t columns = input.Varint();
  column.Clear();
  for (std::uint64_t i = 0; i < columns; ++i) {
    if (!input.ok() || !allowance.Take() || !DecodeColumn(input, allowance.samples, column)) return false;
    allowance.samples -= column.values.size();
    samples += column.values.size();
    const auto* const times = reinterpret_cast<const std::uint64_t*>(column.times_ms.data());
    visitor.OnSamples(column.series, column.steps, {times, column.times_ms.size()}, column.values);
  }
  return input.ok();
}

bool ReadBegin(std::string_view content, Allowance& allowance, Visitor& visitor) {
  Begin begin;
  if (!ParseBegin(content, allowance, begin)) return false;
  visitor.OnBegin(begin);
  return true;
}

bool ReadClock(std::string_view content, Allowance& allowance, Visitor& visitor) {
  if (!allowance.Take()) return false;
  Input input(content);
  ClockPair clock;
  clock.monotonic_ns = input.Varint();
  clock.unix_ns = input.Zigzag();
  if (input.ok()) visitor.OnClock(clock);
  return input.ok();
}

bool ReadEnd(std::string_view content, Allowance& allowance, Visitor& visitor) {
  if (!allowance.Take()) return false;
  Input input(content);
  End end;
  end.status = input.Zigzag();
  end.time_ms = input.Varint();
  if (input.ok()) visitor.OnEnd(end);
  return input.ok();
}

using ReadSection = bool (*)(std::string_view content, Allowance& allowance, Visitor& visitor);

ReadSection ReaderOf(Section section) {
  switch (section) {
    case Section::kBegin:
      return ReadBegin;
    case Section::kDefinitions:
      return ReadDefinitions;
    case Section::kEvents:
      return ReadEvents;
    case Section::kHyperparameters:
      return ReadHyperparameters;
    case Section::kBatches:
      return ReadBatches;
    case Section::kArtifacts:
      return ReadArtifacts;
    case Section::kPositions:
      return ReadPositions;
    case Section::kDropped:
      return ReadLosses;
    case Section::kClock:
      return ReadClock;
    case Section::kEnd:
      return ReadEnd;
    case Section::kPadding:
    case Section::kSamples:
      break;
  }
  return nullptr;  // of a newer writer: passed over
}

bool SetKey(Begin& begin, std::string_view key, std::string_view value) {
  struct TextKey {
    std::string_view key;
    std::string Begin::* member;
  };
  struct NumberKey {
    std::string_view key;
    std::int32_t Begin::* member;
  };
  constexpr TextKey kTexts[] = {{"run", &Begin::run},   {"name", &Begin::name},       {"host", &Begin::host},
                                {"boot", &Begin::boot}, {"program", &Begin::program}, {"writer", &Begin::writer},
                                {"ring", &Begin::ring}, {"ring_id", &Begin::ring_id}};
  constexpr NumberKey kNumbers[] = {
      {"rank", &Begin::rank}, {"world", &Begin::world}, {"pid", &Begin::pid}, {"part", &Begin::part}};
  for (const TextKey& known : kTexts) {
    if (known.key == key) begin.*known.member = value;
    if (known.key == key) return true;
  }
  for (const NumberKey& known : kNumbers) {
    if (known.key == key) begin.*known.member = ToNumber(value);
    if (known.key == key) return true;
  }
  return false;
}

}  // namespace

bool ParseBegin(std::string_view content, Allowance& allowance, Begin& begin) {
  Input input(content);
  const std::uint64_t count = input.Varint();
  for (std::uint64_t i = 0; i < count && input.ok(); ++i) {
    const std::string_view key = input.Text();
    const std::string_view value = input.Text();
    if (!allowance.Take()) return false;
    if (input.ok() && !SetKey(begin, key, value)) begin.others.emplace_back(key, value);
  }
  return input.ok();
}

bool ReadPayload(std::string_view payload, Allowance& allowance, Column& scratch, std::uint64_t& samples,
                 Visitor& visitor) {
  Input input(payload);
  while (!input.empty()) {
    const auto section = static_cast<Section>(input.Raw<std::uint8_t>());
    if (section == Section::kPadding) return true;
    const std::string_view content = input.Text();
    if (!input.ok()) return false;
    if (section == Section::kSamples) {
      if (!ReadSamples(content, allowance, scratch, samples, visitor)) return false;
      continue;
    }
    const ReadSection read = ReaderOf(section);
    if (read != nullptr && !read(content, allowance, visitor)) return false;
  }
  return true;
}

}  // namespace vigil::journal
