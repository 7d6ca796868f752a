// catalogue/advice: what to do, as rows. Remedies in the words of each framework, how each framework is started again,
// and the one command to run next for each cause with what its outcomes would mean.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vigil::catalogue {

// A remedy in the words of one framework ("*" for any).
struct RemedySetting {
  std::string_view framework;
  std::string_view setting;  // its path in a config ("optimizer.lr"); words where it stands in code
  std::string_view file;     // the class or file that takes it
  std::string_view value;    // the value in its own words; empty: as the proposal gives it
  std::string_view code;     // the line of code that does it, with "{value}" for the value; empty where a config does
  std::span<const std::string_view> also;  // "key=value" that must be set with it
};

// How a remedy is carried out.
enum class RemedyKind : std::uint8_t {
  kSetting,  // a value to change
  kCode,     // a line of code or a repair of the data
  kLook,     // something to look at first
};

struct RemedyRow {
  std::string_view id;
  std::string_view title;
  std::string_view text;
  std::string_view reason;  // why it helps
  std::string_view effect;  // what it should change in the curve
  RemedyKind kind;
  std::span<const std::string_view> when;  // names of conditions in code; all must hold, else it is not offered
  std::string_view fact;                   // canonical setting that it changes, or empty
  std::string_view proposal;               // name of the code that computes the value, or empty
  std::span<const RemedySetting> settings;
};

// How trainings of one framework are started: pieces of a command line. "{key}", "{value}", "{config}", "{checkpoint}"
// and "{steps}" are places.
struct LaunchRow {
  std::string_view id;       // of the framework
  std::string_view command;  // how a training is started; empty where every user has a script of their own
  std::string_view set;      // how a setting is given there; empty where only a config or code takes it
  std::string_view resume;   // how a checkpoint is given there
  std::string_view code;     // the line of code that goes on from a checkpoint, where no option does
  std::string_view steps;    // how the number of steps is given there
};

struct OutcomeRow {
  std::string_view seen;
  std::string_view means;
  std::span<const std::string_view> causes;  // that it speaks for; at least one
};

// The command to run next for a cause. `run` names how it is made: "remedy" repeats the run with a remedy, "again"
// repeats it unchanged, "command" is the command itself.
struct NextRow {
  std::string_view id;  // of the cause, or of a family of findings without one ("unknown/loss")
  std::string_view run;
  std::span<const std::string_view> with;  // remedies to repeat it with, the first that applies; empty: the cause's own
  std::string_view to_do;                  // before it, in words; empty: what the remedy says
  std::string_view env;                    // set for the repeated training: "NAME=value"
  std::string_view command;
  std::span<const OutcomeRow> outcomes;
};

std::span<const RemedyRow> Remedies();
std::span<const LaunchRow> Launches();
std::span<const NextRow> NextCommands();

const RemedyRow* FindRemedy(std::string_view id);
const LaunchRow* FindLaunch(std::string_view framework);
const NextRow* FindNextCommand(std::string_view id);
// The setting of the remedy in the words of that framework, null when it has none.
const RemedySetting* FindRemedySetting(const RemedyRow& row, std::string_view framework);

}  // namespace vigil::catalogue
