// Right or wrong: the answer of vigil to a labelled run, held against its label.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/cases.h"
#include "diagnose/fitted.h"
#include "model/finding.h"
#include "model/report.h"

namespace vigil::accuracy {

// A case and what became of it.
struct Outcome {
  Case labelled;
  bool read = false;                        // any run came out of the path
  std::string reason;                       // why not
  std::vector<model::Finding> findings;     // of all runs at the path, `warning` and above
  std::vector<std::string> formats;         // of the sources, sorted, each once
  std::string cause;                        // first cause given, empty when none
  std::vector<std::string> rivals;          // that were named beside it
  std::int64_t steps = 0;                   // logged steps that were judged
  bool expected_found = false;              // an expected id at `warning` or above
  bool alarmed = false;                     // anything at `error` or `fatal`
  std::optional<std::int64_t> delay_steps;  // first step named by the expected finding, minus the onset

  bool faulty() const { return labelled.expectation.kind == Expectation::Kind::kFinding; }
  bool healthy() const { return labelled.expectation.kind == Expectation::Kind::kHealthy; }
  bool cause_labelled() const { return faulty() && !labelled.causes.empty(); }
  bool cause_right() const;
  // Another cause or "unknown" stands first, and names the right one as its rival.
  bool cause_in_pair() const;
  // Wrong in the terms of the label: an expected finding that is missing, or an alarm on a healthy run.
  bool disagrees() const { return read && ((faulty() && !expected_found) || (healthy() && alarmed)); }
};

Outcome Judge(const Case& labelled, const model::Report& report);
// Reads the path and says what the program would say.
model::Report Examine(const std::string& path, const diagnose::FittedModel& model = diagnose::FittedModel::Shipped());

// What a file counts as that could not be read: nothing (a kind without a reader yet), or a run that was missed.
enum class Unread : std::uint8_t { kApart, kMissed };

// Counts over a group of outcomes.
struct Tally {
  int cases = 0;
  int unread = 0;
  int faulty = 0;
  int found = 0;
  int cause_labelled = 0;
  int cause_right = 0;
  int cause_in_pair = 0;
  int cause_wrong = 0;   // another one, and the right one is not named beside it
  int no_diagnosis = 0;  // no cause at all
  int undecided = 0;     // the verdict says that the evidence does not decide
  int healthy = 0;
  int false_alarms = 0;
  int warned = 0;        // healthy, with a finding at `warning`
  int other_alarms = 0;  // faulty, no expected finding, but an alarm about something else
  int only_read = 0;     // nothing is asked but to be read
  std::int64_t healthy_steps = 0;
  std::vector<std::int64_t> delays;

  void Add(const Outcome& outcome, Unread unread_counts);
  int missed() const { return faulty - found; }
  // Of all runs that were flagged, the share flagged rightly; of all faulty runs, the share found. NaN when there is
  // none.
  double Precision() const;
  double Recall() const;
  std::optional<std::int64_t> MedianDelay() const;
};

}  // namespace vigil::accuracy
