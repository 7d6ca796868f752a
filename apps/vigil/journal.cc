// `vigil journal`: whether a journal is sound, what is in it, and a sound one of what a damaged one still holds.
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "ingest/secrets.h"
#include "journal/inspect.h"
#include "platform/terminal.h"
#include "report/json.h"

namespace vigil::app {
namespace {

constexpr std::string_view kExamples = R"(
examples:
  vigil journal check out/my-run/rank-0.vigil            whether every block is whole, and what is in it
  vigil journal check out/my-run/*.vigil --json | jq .damages
  vigil journal dump out/my-run/rank-0.vigil | head      every record, a JSON object a line
  vigil journal repair rank-0.vigil --out fixed.vigil    what can be read of it as a new journal

The journal itself is never changed. Records that a killed process left in shared memory are not in it before
`vigil diagnose` has moved them there.

exit codes: 0 sound, 1 damaged or cut off, 2 wrong usage or nothing could be read)";

struct JournalOptions {
  std::string action;
  std::vector<std::string> paths;
  std::string out;
  bool json = false;
};

const char* Plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

std::string HowItEnds(const journal::Survey& survey) {
  if (!survey.end) return "has no end (killed, or still being written)";
  if (survey.end->status == journal::kUnknownEnd) return "was closed without a status";
  return fmt::format("was closed with status {}", survey.end->status);
}

std::string SurveyText(const std::string& path, const journal::Survey& survey) {
  std::string text = fmt::format("{}: {}, {}, {}\n", path, survey.is_sound() ? "sound" : "damaged",
                                 FormatBytes(survey.size_bytes), HowItEnds(survey));
  text += fmt::format("  rank {} of {}, part {}, run {}, written by {} on {}\n", survey.begin.rank, survey.begin.world,
                      survey.begin.part, survey.begin.run.empty() ? "-" : Printable(survey.begin.run),
                      Printable(survey.begin.writer), Printable(survey.begin.host));
  text += fmt::format("  series {}, samples {}, events {}, settings {}, batches {}, artifacts {}, dropped records {}\n",
                      FormatCount(survey.series), FormatCount(survey.samples), FormatCount(survey.events),
                      FormatCount(survey.hyperparameters), FormatCount(survey.batches), FormatCount(survey.artifacts),
                      FormatCount(survey.dropped_records));
  for (const journal::Damage& damage : survey.damages)
    text += fmt::format("  bytes {} to {}: {}{}\n", damage.offset, damage.resumed, Printable(damage.reason),
                        damage.missing_blocks == 0 ? ""
                                                   : fmt::format(", {} block{} missing", damage.missing_blocks,
                                                                 Plural(damage.missing_blocks)));
  if (survey.cut_at) text += fmt::format("  byte {}: ends inside a block\n", *survey.cut_at);
  return text;
}

std::string SurveyJson(const std::string& path, const journal::Survey& survey) {
  report::JsonWriter json(report::JsonWriter::Layout::kDense);
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
  text("state", survey.is_sound() ? "sound" : "damaged");
  count("bytes", survey.size_bytes);
  text("run", survey.begin.run);
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
  json.Integer(survey.end ? 1 : 0);
  json.Close();
  return json.Take() + "\n";
}

int Check(const JournalOptions& options) {
  int code = kFine;
  for (const std::string& path : options.paths) {
    const auto survey = journal::SurveyFile(path);
    if (!survey) {
      code = Refuse(survey.error().Text());
      continue;
    }
    if (!survey->is_sound() && code == kFine) code = kFound;
    const int printed = Print(options.json ? SurveyJson(path, *survey) : SurveyText(path, *survey), kFine);
    if (printed != kFine) return printed;
  }
  return code;
}

// Every record as a line of JSON, written while the file is read.
class Dump : public journal::Visitor {
 public:
  bool is_sound() const { return sound_; }
  void Flush() {
    if (!text_.empty()) Print(text_, kFine);
    text_.clear();
  }

  void OnBegin(const journal::Begin& begin) override {
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
  void OnDefinition(const journal::Definition& definition) override {
    Line("series", [&](auto& json) {
      Whole(json, "id", definition.id);
      Text(json, "name", definition.name);
      Text(json, "unit", definition.unit);
      json.Key("labels");
      json.Open();
      for (const auto& [key, value] : definition.labels) Text(json, key, value);
      json.Close();
    });
  }
  void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps, std::span<const std::uint64_t> times_ms,
                 std::span<const double> values) override {
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
  void OnEvent(const journal::Event& event) override {
    Line("event", [&](auto& json) {
      json.Key("step");
      json.StepOrNull(event.step);
      Text(json, "severity", model::Name(event.severity));
      Whole(json, "kind", static_cast<std::int64_t>(event.kind));
      Text(json, "name", event.name);
      Text(json, "text", ingest::WithoutSecrets(event.text));
      if (!event.json.empty()) Text(json, "json", ingest::WithoutSecrets(event.json));
    });
  }
  void OnHyperparameter(const journal::Hyperparameter& hyperparameter) override {
    Line("setting", [&](auto& json) {
      Text(json, "key", hyperparameter.key);
      Text(json, "value", ingest::WithoutSecrets(hyperparameter.key, hyperparameter.value));
    });
  }
  void OnBatch(const journal::Batch& batch) override {
    Line("batch", [&](auto& json) {
      Whole(json, "step", batch.step);
      Text(json, "fingerprint", fmt::format("{:016x}", batch.fingerprint));
    });
  }
  void OnArtifact(const journal::Artifact& artifact) override {
    Line("artifact", [&](auto& json) {
      json.Key("step");
      json.StepOrNull(artifact.step);
      Text(json, "kind", artifact.kind);
      Text(json, "path", artifact.path);
    });
  }
  void OnDropped(const journal::DroppedRecords& dropped) override {
    Line("dropped", [&](auto& json) { Whole(json, "records", static_cast<std::int64_t>(dropped.records)); });
  }
  void OnEnd(const journal::End& end) override {
    Line("end", [&](auto& json) {
      json.Key("status");
      end.status == journal::kUnknownEnd ? json.Null() : json.Integer(end.status);
    });
  }
  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t, std::string_view reason) override {
    sound_ = false;
    Line("damage", [&](auto& json) {
      Whole(json, "offset", static_cast<std::int64_t>(offset));
      Whole(json, "resumed", static_cast<std::int64_t>(resumed));
      Text(json, "reason", reason);
    });
  }
  void OnCut(std::uint64_t offset) override {
    sound_ = false;
    Line("cut", [&](auto& json) { Whole(json, "offset", static_cast<std::int64_t>(offset)); });
  }

 private:
  using Json = report::JsonWriter;
  static void Text(Json& json, std::string_view key, std::string_view value) {
    json.Key(key);
    json.Text(value);
  }
  static void Whole(Json& json, std::string_view key, std::int64_t value) {
    json.Key(key);
    json.Integer(value);
  }
  template <class Fill>
  void Line(std::string_view kind, const Fill& fill) {
    constexpr std::size_t kPiece = std::size_t{64} << 10U;
    Json json(Json::Layout::kDense);
    json.Open();
    Text(json, "record", kind);
    fill(json);
    json.Close();
    text_ += json.Take();
    text_ += '\n';
    if (text_.size() > kPiece) Flush();
  }

  std::string text_;
  bool sound_ = true;
};

int DumpAll(const JournalOptions& options) {
  int code = kFine;
  for (const std::string& path : options.paths) {
    Dump dump;
    const Status visited = journal::Visit(path, dump);
    dump.Flush();
    if (!visited) code = Refuse(visited.error().Text());
    if (!dump.is_sound() && code == kFine) code = kFound;
  }
  return code;
}

int RepairOne(const JournalOptions& options) {
  if (options.paths.size() != 1 || options.out.empty())
    return Refuse("journal repair: needs one journal and --out NEW, a file that does not exist yet");
  const auto survey = journal::Repair(options.paths.front(), options.out);
  if (!survey) return Refuse(survey.error().Text());
  return Print(SurveyText(options.paths.front(), *survey) + fmt::format("wrote {}\n", options.out),
               survey->is_sound() ? kFine : kFound);
}

int RunJournal(const JournalOptions& options) {
  if (options.action == "check") return Check(options);
  if (options.action == "dump") return DumpAll(options);
  if (options.action == "repair") return RepairOne(options);
  return Refuse(fmt::format("journal: unknown action '{}'{} (check, dump, repair)", options.action,
                            Offer(options.action, {"check", "dump", "repair"})));
}

}  // namespace

Command AddJournal(CLI::App& program) {
  CLI::App* command = program.add_subcommand("journal", "check, dump or repair vigil's own record of a run");
  auto options = std::make_shared<JournalOptions>();
  command->add_option("ACTION", options->action, "check, dump or repair")->required();
  command->add_option("FILE", options->paths, "journals, as rank-0.vigil in the folder of a run")->required();
  command->add_option("--out", options->out, "the new journal that repair writes")->type_name("NEW");
  command->add_flag("--json", options->json, "check: a JSON object a file (schema vigil.journal-check/1)");
  AddSecretsOption(*command);
  command->footer(std::string(kExamples));
  return {command, [options] { return RunJournal(*options); }};
}

}  // namespace vigil::app
