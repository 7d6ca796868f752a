// Runs of the gym at scale as labelled records: what was trained, what was done to it, what the measurement says, and
// the run as vigil reads it. The format is described in gym/scale/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/run.h"

namespace vigil::scale {

// What the measurement of a run against its healthy twin says.
enum class Class : std::uint8_t {
  kHealthy,         // without a fault, and learned
  kHarmless,        // with a fault that did no measurable harm
  kWeak,            // learned less than the twin
  kFatal,           // learned less than half of it, or crashed
  kNotLearned,      // without a fault, and at chance: not to be used
  kTwinNotLearned,  // the twin is at chance: not to be used
};
std::string_view Name(Class kind);
std::optional<Class> ParseClass(std::string_view name);

struct Label {
  Class kind = Class::kHealthy;
  std::string fault;                    // "none" where there is none
  double strength = 0;                  // in the units of the fault
  int level = 0;                        // index of the strength, from invisible to fatal
  int levels = 1;                       // how many strengths the fault has
  std::int64_t onset = -1;              // first step that the fault acts on; -1: no fault
  std::optional<double> recovered;      // final progress as a share of the twin's
  std::optional<double> recovered_way;  // the same over the run
  std::optional<double> effect;         // faults of time and memory: what was measured
  std::vector<std::string> findings;    // any one is right
  std::vector<std::string> causes;      // the true one first, then those that the files cannot distinguish from it
  std::vector<std::string> seen_in;     // logged series that differ from the twin's
  bool is_seen_in_known = false;        // whether it was compared at all
  std::optional<double> loss_shift;
  std::optional<double> loss_peak;
  std::optional<double> time_drift;
  std::optional<double> rss_drift;
  int split = 0;  // 0..99, the same for a run and its twin
};

// A run and what is known of it.
struct Record {
  std::string id;
  std::string style;  // the loop that trained it
  std::string task;
  std::string model;
  std::string family;  // of the model
  std::string optimizer;
  std::string odd;   // what is unusual about a healthy run, or empty
  std::string twin;  // id of the healthy run beside it, or empty
  std::int64_t last_step = 0;
  bool crashed = false;
  Label label;
  vigil::model::Run run;                  // the one with most points
  std::vector<vigil::model::Run> others;  // that were not joined with it: usually none
};

// ---- as it is stored

struct Points {
  std::string name;
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

struct PrintedText {
  std::int64_t step = 0;
  std::string text;
};

// A line of a set: `record.run` is empty.
struct StoredRun {
  Record record;
  std::string settings;  // JSON, as it stands in the line
  std::vector<Points> series;
  std::vector<PrintedText> events;
};

}  // namespace vigil::scale
