#include "report/journal.h"

#include <fmt/format.h>

#include "base/base.h"

namespace vigil::report {
namespace {

const char* Plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

std::string HowItEnds(const journal::Survey& survey) {
  if (!survey.end) return "has no end (killed, or still being written)";
  if (survey.end->status == journal::kUnknownEnd) return "was closed without a status";
  return fmt::format("was closed with status {}", survey.end->status);
}

// Damage is what lies before whole blocks; a journal that only lacks its end is in order.
std::string_view StateOf(const journal::Survey& survey) {
  if (survey.is_damaged()) return "damaged";
  return survey.cut_at ? "cut off" : "sound";
}

}  // namespace

std::string RenderSurvey(const std::string& path, const journal::Survey& survey, const Mask& mask) {
  const auto shown = [&](std::string_view text) { return Printable(mask({}, text)); };
  std::string text =
      fmt::format("{}: {}, {}, {}\n", path, StateOf(survey), FormatBytes(survey.size_bytes), HowItEnds(survey));
  text += fmt::format("  rank {} of {}, part {}, run {}, written by {} on {}\n", survey.begin.rank, survey.begin.world,
                      survey.begin.part, survey.begin.run.empty() ? "-" : shown(survey.begin.run),
                      shown(survey.begin.writer), shown(survey.begin.host));
  text += fmt::format("  series {}, samples {}, events {}, settings {}, batches {}, artifacts {}, dropped records {}\n",
                      FormatCount(survey.series), FormatCount(survey.samples), FormatCount(survey.events),
                      FormatCount(survey.hyperparameters), FormatCount(survey.batches), FormatCount(survey.artifacts),
                      FormatCount(survey.dropped_records));
  for (const journal::Damage& damage : survey.damages)
    text += fmt::format("  bytes {} to {}: {}{}\n", damage.offset, damage.resumed, Printable(damage.reason),
                        damage.missing_blocks == 0 ? ""
                                                   : fmt::format(", {} block{} missing", damage.missing_blocks,
                                                                 Plural(damage.missing_blocks)));
  if (survey.cut_at)
    text += fmt::format("  cut off at byte {} (the process was killed or is still writing)\n", *survey.cut_at);
  return text;
}

std::string RenderSurveyJson(const std::string& path, const journal::Survey& survey, const Mask& mask) {
  JsonWriter json(JsonWriter::Layout::kDense);
  const auto text = [&](std::string_view key, std::string_view value) {
    json.Key(key);
    json.Text(value);
  };
  const auto count = [&](std::string_view key, std::uint64_t value) {
    json.Key(key);
    json.Count(value);
  };
  json.Open();
  text("schema", "vigil.journal-check/1");
  text("path", path);
  text("state", StateOf(survey));
  count("bytes", survey.size_bytes);
  text("run", mask({}, survey.begin.run));
  json.Key("rank");
  json.Integer(survey.begin.rank);
  count("series", survey.series);
  count("samples", survey.samples);
  count("events", survey.events);
  count("settings", survey.hyperparameters);
  count("batches", survey.batches);
  count("artifacts", survey.artifacts);
  count("dropped_records", survey.dropped_records);
  json.Key("damages");
  json.OpenList();
  for (const journal::Damage& damage : survey.damages) {
    json.Open();
    count("offset", damage.offset);
    count("resumed", damage.resumed);
    count("missing_blocks", damage.missing_blocks);
    text("reason", damage.reason);
    json.Close();
  }
  json.CloseList();
  json.Key("cut_at");
  survey.cut_at ? json.Count(*survey.cut_at) : json.Null();
  json.Key("closed");
  json.Boolean(survey.end.has_value());
  json.Close();
  return json.Take() + "\n";
}

// ---- records

void JournalDump::Text(JsonWriter& json, std::string_view key, std::string_view value) const {
  json.Key(key);
  json.Text(mask_({}, value));
}

void JournalDump::Whole(JsonWriter& json, std::string_view key, std::int64_t value) {
  json.Key(key);
  json.Integer(value);
}

bool JournalDump::Flush() {
  if (!stopped_ && !text_.empty()) stopped_ = !write_(text_);
  text_.clear();
  return !stopped_;
}

template <class Fill>
void JournalDump::Line(std::string_view kind, const Fill& fill) {
  constexpr std::size_t kPiece = std::size_t{64} << 10U;
  if (stopped_) return;  // the rest of a block may still come
  JsonWriter json(JsonWriter::Layout::kDense);
  json.Open();
  json.Key("record");
  json.Text(kind);
  fill(json);
  json.Close();
  text_ += json.Take();
  text_ += '\n';
  if (text_.size() > kPiece) Flush();
}

void JournalDump::OnBegin(const journal::Begin& begin) {
  Line("begin", [&](auto& json) {
    Text(json, "run", begin.run);
    Text(json, "name", begin.name);
    Whole(json, "rank", begin.rank);
    Whole(json, "world", begin.world);
    Whole(json, "part", begin.part);
    Text(json, "host", begin.host);
    Whole(json, "pid", begin.pid);
    Text(json, "program", begin.program);
    Text(json, "writer", begin.writer);
  });
}

void JournalDump::OnDefinition(const journal::Definition& definition) {
  Line("series", [&](auto& json) {
    Whole(json, "id", definition.id);
    Text(json, "name", definition.name);
    Text(json, "unit", definition.unit);
    json.Key("labels");
    json.Open();
    for (const auto& [key, value] : definition.labels) {
      json.Key(mask_({}, key));
      json.Text(mask_(key, value));
    }
    json.Close();
  });
}

void JournalDump::OnSamples(std::uint32_t series, std::span<const std::int64_t> steps,
                            std::span<const std::uint64_t> times_ms, std::span<const double> values) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Line("sample", [&](auto& json) {
      Whole(json, "series", series);
      Whole(json, "step", steps[i]);
      json.Key("value");
      json.Number(values[i]);
      Whole(json, "time_ms", static_cast<std::int64_t>(times_ms[i]));
    });
  }
}

void JournalDump::OnEvent(const journal::Event& event) {
  Line("event", [&](auto& json) {
    json.Key("step");
    json.StepOrNull(event.step);
    Text(json, "severity", model::Name(event.severity));
    Whole(json, "kind", static_cast<std::int64_t>(event.kind));
    Text(json, "name", event.name);
    Text(json, "text", event.text);
    if (!event.json.empty()) Text(json, "json", event.json);
  });
}

void JournalDump::OnHyperparameter(const journal::Hyperparameter& hyperparameter) {
  Line("setting", [&](auto& json) {
    Text(json, "key", hyperparameter.key);
    json.Key("value");
    json.Text(mask_(hyperparameter.key, hyperparameter.value));
  });
}

void JournalDump::OnBatch(const journal::Batch& batch) {
  Line("batch", [&](auto& json) {
    Whole(json, "step", batch.step);
    Text(json, "fingerprint", fmt::format("{:016x}", batch.fingerprint));
  });
}

void JournalDump::OnArtifact(const journal::Artifact& artifact) {
  Line("artifact", [&](auto& json) {
    json.Key("step");
    json.StepOrNull(artifact.step);
    Text(json, "kind", artifact.kind);
    Text(json, "path", artifact.path);
  });
}

void JournalDump::OnDropped(const journal::DroppedRecords& dropped) {
  Line("dropped", [&](auto& json) { Whole(json, "records", static_cast<std::int64_t>(dropped.records)); });
}

void JournalDump::OnEnd(const journal::End& end) {
  Line("end", [&](auto& json) {
    json.Key("status");
    end.status == journal::kUnknownEnd ? json.Null() : json.Integer(end.status);
  });
}

void JournalDump::OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t, std::string_view reason) {
  damaged_ = true;
  Line("damage", [&](auto& json) {
    Whole(json, "offset", static_cast<std::int64_t>(offset));
    Whole(json, "resumed", static_cast<std::int64_t>(resumed));
    Text(json, "reason", reason);
  });
}

void JournalDump::OnCut(std::uint64_t offset) {
  Line("cut", [&](auto& json) { Whole(json, "offset", static_cast<std::int64_t>(offset)); });
}

}  // namespace vigil::report
