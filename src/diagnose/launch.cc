#include "diagnose/launch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/curve.h"

namespace vigil::diagnose {
namespace {

using model::Axis;
using model::Position;

// ---- words of a command line

// As a shell takes it back: what holds only letters, digits and a few signs needs no quotes.
std::string Quoted(std::string_view word) {
  constexpr std::string_view kPlain = "-_./=:,+@%";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

std::string Replaced(std::string text, std::string_view place, std::string_view value) {
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size()))
    text.replace(at, place.size(), value);
  return text;
}

std::string FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
}

std::string NameOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// The run's own folder: that of its first file, above a folder of a checkpoint.
std::string FolderOfRun(const RunView& run) {
  if (run->sources.empty()) return ".";
  std::string folder = FolderOf(run->sources.front().path);
  return NameOf(folder).starts_with("checkpoint-") ? FolderOf(folder) : folder;
}

std::string ConfigOf(const RunView& run) {
  const auto at = std::find_if(run->sources.begin(), run->sources.end(),
                               [](const model::Source& source) { return source.is_config; });
  return at == run->sources.end() ? std::string() : at->path;
}

// "checkpoint-400" of a path is step 400.
std::string StepOf(std::string_view checkpoint) {
  const std::string name = NameOf(checkpoint);
  const std::size_t first = name.find_last_not_of("0123456789");
  return first == std::string::npos ? name : name.substr(first + 1);
}

std::string WithCheckpoint(std::string_view text, const std::string& checkpoint) {
  std::string filled = Replaced(std::string(text), "{checkpoint}", Quoted(checkpoint));
  filled = Replaced(std::move(filled), "{folder}", FolderOf(checkpoint));
  filled = Replaced(std::move(filled), "{name}", NameOf(checkpoint));
  return Replaced(std::move(filled), "{step}", StepOf(checkpoint));
}

// A name of a setting as an option takes it; words for one cannot be given on a command line.
bool IsOptionName(std::string_view setting) {
  return !setting.empty() && setting.find_first_of(" ([") == std::string_view::npos;
}

std::string AsOption(std::string_view form, std::string_view key, const std::string& value) {
  std::string dashed(key);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::string filled = Replaced(std::string(form), "{key-dashed}", dashed);
  return Replaced(Replaced(std::move(filled), "{key}", key), "{value}", Quoted(value));
}

// Every change of the remedy as options.
std::string OptionsOf(const catalogue::LaunchRow& launch, const model::Remedy& change) {
  if (launch.set.empty() || !IsOptionName(change.setting) || change.proposed.empty()) return {};
  std::string options = AsOption(launch.set, change.setting, change.proposed);
  for (const model::SettingChange& also : change.also)
    options += " " + AsOption(launch.set, also.setting, also.proposed);
  return options;
}

// The command line as a log has it, to which options are added: of two the last counts.
std::string OwnCommand(const RunView& run) {
  const model::Fact* stated = run.FindFact("command_line");
  return stated == nullptr ? std::string() : stated->value;
}

const catalogue::LaunchRow* LaunchOf(const RunView& run) {
  if (const auto* own = catalogue::FindLaunch(SettingsFramework(run))) return own;
  return run->profile.settings_of.empty() ? catalogue::FindLaunch("*")
                                          : catalogue::FindLaunch(run->profile.settings_of);
}

std::string StartOf(const RunView& run, const catalogue::LaunchRow& launch) {
  if (std::string own = OwnCommand(run); !own.empty()) return own;
  const std::string config = ConfigOf(run);
  if (launch.command.find("{config}") != std::string_view::npos && config.empty()) return {};
  return Replaced(std::string(launch.command), "{config}", Quoted(config));
}

// ---- the next command

std::string MessageOf(const Incident& incident) {
  for (const model::Finding* finding : incident.findings) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
    if (row != nullptr) return std::string(row->id);
  }
  return incident.root().id;
}

// The line of code, else the setting with its value; empty without a change.
std::string ChangeOf(const model::Remedy* change) {
  if (change == nullptr) return {};
  return change->code.empty() && !change->proposed.empty() ? change->setting + ": " + change->proposed : change->code;
}

// The folder for the repeated run, beside the run's own.
std::string FolderOfRepeated(const std::string& folder) {
  return folder == "." || folder == "/" ? "again" : folder + "-again";
}

// A run that only its owner knows how to start is judged beside the run that it repeats.
void JudgeRepeated(const RunView& run, const model::Statement& in_words, model::NextCommand& next) {
  const std::string folder = FolderOfRun(run);
  const std::string repeated = FolderOfRepeated(folder);
  const bool from_pipe = run->sources.empty() || run->sources.front().path == "-";
  next.command = "vigil diagnose " + (from_pipe ? Quoted(repeated) : Quoted(folder) + " " + Quoted(repeated));
  if (!in_words.empty()) {
    next.first = says::NextRepeatAfter{.what = in_words, .folder = repeated};
  } else if (!next.change.empty()) {
    next.first = says::NextRepeatWith{.change = next.change, .folder = repeated};
  } else {
    next.first = says::NextRepeatAsItWas{.folder = repeated};
  }
}

// The remedies that the outcomes of the row speak of.
std::span<const std::string_view> RemediesOf(const catalogue::NextRow& row) {
  const catalogue::CauseRow* cause = catalogue::FindCause(row.id);
  return row.run == "again"                     ? std::span<const std::string_view>()
         : row.with.empty() && cause != nullptr ? cause->remedies
                                                : row.with;
}

std::optional<model::Remedy> FirstThatApplies(std::span<const std::string_view> ids, const RunView& run,
                                              const Incident& incident) {
  for (const std::string_view id : ids) {
    if (auto remedy = RemedyFor(id, run, incident)) return remedy;
  }
  return std::nullopt;
}

// What cannot be given as a setting or a line of code.
model::Statement ToDo(const catalogue::NextRow& row, std::span<const std::string_view> remedies,
                      const std::optional<model::Remedy>& remedy) {
  if (!row.to_do.empty()) return catalogue::TextOf("next", row.id, "do");
  if (remedy && !ChangeOf(&*remedy).empty()) return {};
  const std::string_view id = remedy ? std::string_view(remedy->id) : remedies.empty() ? "" : remedies.front();
  return id.empty() ? model::Statement() : catalogue::TextOf("remedy", id, "text");
}

void FillRepeat(const RunView& run, const Incident& incident, const catalogue::NextRow& row,
                const std::string& checkpoint, model::NextCommand& next) {
  const std::span<const std::string_view> remedies = RemediesOf(row);
  const std::optional<model::Remedy> remedy = FirstThatApplies(remedies, run, incident);
  const model::Remedy* change = remedy ? &*remedy : nullptr;
  const model::Statement to_do = ToDo(row, remedies, remedy);
  const catalogue::LaunchRow* launch = LaunchOf(run);
  if (launch == nullptr || StartOf(run, *launch).empty()) {
    next.change = row.env.empty() ? ChangeOf(change) : std::string(row.env);
    return JudgeRepeated(run, to_do, next);
  }
  next.command = row.env.empty() ? std::string() : std::string(row.env) + " ";
  next.command += CommandFor(run, {change, checkpoint});
  if (change != nullptr && OptionsOf(*launch, *change).empty()) next.change = ChangeOf(change);
  next.first = to_do;
}

// Of what is undecided the likeliest cause is tried.
const catalogue::NextRow* RowFor(const model::Diagnosis& diagnosis) {
  if (const auto* row = catalogue::FindNextCommand(diagnosis.cause)) return row;
  if (!diagnosis.rivals.empty()) {
    if (const auto* row = catalogue::FindNextCommand(diagnosis.rivals.front().cause)) return row;
  }
  return catalogue::FindNextCommand("unknown/" + std::string(model::Name(diagnosis.family)));
}

}  // namespace

const model::Remedy* FirstChange(const std::vector<model::Remedy>& remedies) {
  const auto at = std::find_if(remedies.begin(), remedies.end(), [](const model::Remedy& remedy) {
    return !remedy.code.empty() || (!remedy.setting.empty() && !remedy.proposed.empty());
  });
  return at == remedies.end() ? nullptr : &*at;
}

std::string CommandFor(const RunView& run, const Restarting& with) {
  const catalogue::LaunchRow* launch = LaunchOf(run);
  if (launch == nullptr) return {};
  std::string command = StartOf(run, *launch);
  if (command.empty()) return with.checkpoint.empty() ? std::string() : WithCheckpoint(launch->code, with.checkpoint);
  if (with.change != nullptr) {
    if (const std::string options = OptionsOf(*launch, *with.change); !options.empty()) command += " " + options;
  }
  if (!with.checkpoint.empty() && !launch->resume.empty())
    command += " " + WithCheckpoint(launch->resume, with.checkpoint);
  return command;
}

model::Statement DataToSkip(const RunView& run, const Incident& incident, std::string_view cause) {
  const Position bad = incident.onset;
  if (cause != "bad-sample" || !bad.known() || bad.axis() != Axis::kStep) return {};
  // A logged point stands for the steps since the one before it.
  const model::Series* series = run.Find(incident.root().signal);
  const double interval = series == nullptr ? 1 : std::max(1.0, IntervalOf(*series));
  const auto before = static_cast<std::int64_t>(interval) - 1;
  const std::int64_t first = std::max<std::int64_t>(0, bad.value() - before);
  const model::PositionRange range{Position(Axis::kStep, first), bad};
  const auto samples = SamplesPerStep(run);
  if (!samples || first < 1) return says::SkipBatches{.range = range};
  return says::SkipSamples{.range = range,
                           .first = static_cast<double>(first - 1) * *samples,
                           .last = static_cast<double>(bad.value()) * *samples - 1};
}

std::optional<double> SamplesPerStep(const RunView& run) {
  if (const auto global = run.FactNumber("global_batch_size"); global && *global >= 1 && *global < 1e9) return global;
  const auto batch = run.FactNumber("batch_size");
  if (!batch || !(*batch >= 1) || *batch > 1e9) return std::nullopt;
  const double samples = *batch * std::max(1.0, run.FactNumber("accumulation").value_or(1)) * std::max(1, run->ranks);
  return samples < 1e12 ? std::optional(samples) : std::nullopt;
}

model::NextCommand RepeatWith(const RunView& run, const model::Remedy* change, const std::string& checkpoint) {
  model::NextCommand next;
  const catalogue::LaunchRow* launch = LaunchOf(run);
  const std::string start = launch == nullptr ? std::string() : StartOf(run, *launch);
  if (start.empty()) {
    next.change = ChangeOf(change);
    JudgeRepeated(run, {}, next);
    return next;
  }
  next.command = CommandFor(run, {change, checkpoint});
  if (change != nullptr && OptionsOf(*launch, *change).empty()) next.change = ChangeOf(change);
  return next;
}

model::NextCommand NextCommandFor(const RunView& run, const Incident& incident, const model::Diagnosis& diagnosis,
                                  const std::string& checkpoint) {
  const catalogue::NextRow* row = RowFor(diagnosis);
  if (row == nullptr) return {};
  model::NextCommand next{std::string(row->id), {}, {}, {}};
  if (row->run == "command") {
    next.command = Replaced(std::string(row->command), "{run}", Quoted(FolderOfRun(run)));
    next.command = Replaced(std::move(next.command), "{message}", MessageOf(incident));
  } else {
    FillRepeat(run, incident, *row, checkpoint, next);
  }
  return next;
}

}  // namespace vigil::diagnose
