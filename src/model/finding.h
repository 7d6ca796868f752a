// model/finding: what vigil observed in a run and what it concludes from it, as data. Sentences are made of it in
// report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.h"
#include "model/statement.h"

namespace vigil::model {

enum class Severity : std::uint8_t { kInfo, kWarning, kError, kFatal };
enum class Family : std::uint8_t { kLoss, kRl, kMemory, kThroughput, kHang, kResume, kEval, kSetup };

std::string_view Name(Severity severity);
std::string_view Name(Family family);
std::optional<Severity> ParseSeverity(std::string_view name);
std::optional<Family> ParseFamily(std::string_view name);

// One observation that backs a statement. `at` unknown and `value` kNoValue mean "not a matter of a place or a value".
struct Evidence {
  Statement says;
  Position at;
  double value = kNoValue;
  std::string path;
  std::uint32_t line = 0;
};

// A number that a detector measured, by name, for diagnosis to reason with ("height", "lead_steps", ...).
struct Measure {
  std::string name;
  double value = 0;
};

struct Finding {
  std::string id;
  std::string signature;  // of the known message that it was read from ("log/cuda-oom"), or empty
  Family family = Family::kLoss;
  Severity severity = Severity::kInfo;
  std::string signal;
  Labels labels;
  Position first;
  Position last;
  std::vector<std::int32_t> ranks;
  Statement says;
  std::vector<Evidence> evidence;
  std::vector<Measure> measures;

  double MeasureOr(std::string_view name, double otherwise) const;
};

// Another setting that has to change with the first.
struct SettingChange {
  std::string setting;
  std::string current;
  std::string proposed;
};

// A change to make, in the words of the framework found.
struct Remedy {
  std::string id;  // of a remedy, or of the known message whose fix it is: the row has the words
  std::string framework;
  std::string file;
  std::string setting;
  std::string current;
  std::string proposed;
  Statement proposed_in_words = {};  // where no value can be computed
  Statement reason = {};             // why it helps, with the numbers of the run
  Statement effect = {};             // what it should change in the curve
  std::string code = {};             // the line of code that does it, where no config does
  std::vector<SettingChange> also = {};
};

// The one command to run next. What its outcomes would mean stands in the row of that id.
struct NextCommand {
  std::string id;       // of a cause, or "unknown/<family>"
  std::string command;  // empty when there is none
  std::string change;   // a setting or line of code to change before it, or empty
  Statement first;      // what else to do before it, or empty
};

// A cause that the evidence does not exclude, and the one thing that would tell it from the cause named.
struct Rival {
  std::string cause;
  double confidence = 0;
  Statement tell_apart = {};
};

// What an incident cost: what was made since its first bad step, or is lost since the last checkpoint. kNoValue where
// it is not known.
struct Cost {
  double steps = kNoValue;
  double hours = kNoValue;
  double gpu_hours = kNoValue;  // hours times the processes of the run
  double money = kNoValue;      // in the currency of the user's price; kNoValue when none was given
  bool known() const { return !IsNoValue(steps) || !IsNoValue(hours); }
};

// A cause of one incident. `findings` are indices into RunReport::findings, root first.
struct Diagnosis {
  std::string cause;  // catalogue id, or "unknown" when the evidence does not decide
  Family family = Family::kLoss;
  double confidence = 0;      // 0..1
  std::vector<Rival> rivals;  // best first
  Statement summary;
  Position first;
  Position last;
  std::vector<std::uint32_t> findings;
  std::vector<Evidence> supporting;
  std::vector<Evidence> opposing;
  std::vector<Statement> missing;  // what was not available and would have helped
  Statement next;                  // the one measurement or command to run next
  Statement restart;               // where to restart from, or empty
  Statement skip;                  // the data to leave out when it goes on, or empty
  std::string restart_command;     // how it is started again with the first change, or the line of code; or empty
  NextCommand next_command;
  std::vector<Remedy> remedies;  // fast to invasive
  Cost cost;
};

enum class CoverageState : std::uint8_t { kChecked, kPartly, kBlind };

struct Coverage {
  Family family = Family::kLoss;
  CoverageState state = CoverageState::kBlind;
  Statement reason;
  Statement enable;                      // the one setting that would make the check possible
  std::vector<std::string> closed = {};  // ids of findings of the family that neither metrics, logs nor settings show
};

// A file of which nothing could be read.
struct Unread {
  std::string path;
  std::string reason;                 // the message of the error
  std::vector<Statement> notes = {};  // what its reader remarked before it had nothing to hand on
};

}  // namespace vigil::model
