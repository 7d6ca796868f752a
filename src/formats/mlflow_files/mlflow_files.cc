#include "formats/mlflow_files/mlflow_files.h"

#include <array>

#include "catalogue/says.h"

namespace vigil::formats {
namespace {

constexpr std::size_t kLongestParameter = 6000;  // what MLflow itself allows

// "1763200212345 0.25 7", and what names a data set behind it; old versions write no step.
struct MetricLine {
  double time = model::kNoValue;
  double value = 0;
  std::int64_t step = 0;
};

std::optional<MetricLine> ParseLine(std::string_view line) {
  const auto words = Split(Trim(line), ' ');
  if (words.size() != 2 && words.size() != 3 && words.size() != 5) return std::nullopt;
  const auto milliseconds = ParseInteger(words[0]);
  const auto value = ParseNumber(words[1]);
  const auto step = words.size() == 2 ? std::optional<std::int64_t>(0) : ParseInteger(words[2]);
  if (!milliseconds || !value || !step) return std::nullopt;
  return MetricLine{static_cast<double>(*milliseconds) / 1000, *value, *step};
}

class MlflowFilesReader : public ingest::Reader {
 public:
  explicit MlflowFilesReader(ingest::PartBuilder& builder)
      : builder_(builder), place_(ingest::InMlflowRun(builder.part().sources.front().path)) {}

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (place_.kind == "metrics") return ReadLines(bytes, last);
    if (!last) return 0;
    if (place_.kind == "params") builder_.AddFact(place_.key, Printable(Trim(bytes.substr(0, kLongestParameter))));
    if (place_.kind == "meta.yaml") ReadMeta(bytes);
    return bytes.size();
  }
  bool NeedsWholeFile() const override { return place_.kind != "metrics"; }
  // Without steps the points are counted at the end.
  ingest::Growth growth() const override {
    if (place_.kind != "metrics") return ingest::Growth::kRewritten;
    return has_steps_ ? ingest::Growth::kByRecords : ingest::Growth::kSettlesAtEnd;
  }

 private:
  std::size_t ReadLines(std::string_view bytes, bool last) {
    std::size_t begin = 0;
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', begin)) {
      TakeLine(bytes.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!last) return begin;
    if (begin < bytes.size()) TakeLine(bytes.substr(begin));
    builder_.CountRowsIfNeverStepped();
    if (broken_ != 0) builder_.ReportDamage(says::DamageMlflowLines{.line = first_broken_, .count = broken_});
    return bytes.size();
  }

  void TakeLine(std::string_view text) {
    ++line_;
    if (Trim(text).empty()) return;
    const auto line = ParseLine(text);
    if (!line) {
      if (broken_++ == 0) first_broken_ = line_;
      return;
    }
    const auto series = builder_.OpenSeries(place_.key);
    const bool system = place_.key.starts_with("system/");
    has_steps_ = has_steps_ || system || line->step != 0;
    if (system) builder_.series(series).axis = model::Axis::kTime;
    builder_.Add(series, system ? static_cast<std::int64_t>(line->time) : line->step, line->value, line->time, line_);
  }

  // Lines "key: value"; only the run's name and end are of use.
  void ReadMeta(std::string_view bytes) {
    for (const std::string_view line : Split(bytes, '\n')) {
      const std::size_t colon = line.find(": ");
      if (colon == std::string_view::npos) continue;
      const std::string_view key = line.substr(0, colon);
      std::string_view value = Trim(line.substr(colon + 2));
      if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'') value = value.substr(1, value.size() - 2);
      if (key == "run_name") builder_.SetName(value);
      if (key == "status") StateEnd(value);
      if (key == "lifecycle_stage" && value == "deleted") builder_.AddNote(says::NoteDeletedInMlflow{});
    }
  }

  // Always an event, so that a run's name is kept although nothing else stands in this file.
  void StateEnd(std::string_view status) {
    constexpr std::string_view kFinished = "3";
    model::Event event;
    event.kind = status == kFinished ? model::EventKind::kExit : model::EventKind::kMessage;
    event.name = status == kFinished ? "finished" : "";
    event.says = says::EventMlflowStatus{.status = NameOfStatus(status)};
    builder_.AddEvent(std::move(event));
  }

  static std::string_view NameOfStatus(std::string_view status) {
    constexpr std::array<std::string_view, 6> kNames = {"unknown",  "RUNNING", "SCHEDULED",
                                                        "FINISHED", "FAILED",  "KILLED"};
    const auto number = ParseInteger(status);
    return kNames[number && *number > 0 && *number < 6 ? static_cast<std::size_t>(*number) : 0];
  }

  ingest::PartBuilder& builder_;
  ingest::MlflowPlace place_;
  bool has_steps_ = false;
  std::uint32_t line_ = 0;
  std::uint32_t first_broken_ = 0;
  std::uint64_t broken_ = 0;
};

bool HoldsMetricLine(std::string_view head) { return ParseLine(head.substr(0, head.find('\n'))).has_value(); }

}  // namespace

int RecogniseMlflowFiles(const ingest::Probe& probe) {
  const ingest::MlflowPlace place = ingest::InMlflowRun(probe.path);
  if (place.kind == "metrics") return HoldsMetricLine(probe.head) ? 95 : 0;
  if (place.kind == "params") return probe.size_bytes <= kLongestParameter ? 95 : 0;
  return place.kind == "meta.yaml" && probe.head.find("run_id:") != std::string_view::npos ? 95 : 0;
}

std::unique_ptr<ingest::Reader> OpenMlflowFiles(ingest::PartBuilder& builder) {
  return std::make_unique<MlflowFilesReader>(builder);
}

}  // namespace vigil::formats
