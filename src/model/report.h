// model/report: everything that is said about the runs of one call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/checklist.h"
#include "model/finding.h"

namespace vigil::model {

struct Baseline;

// Everything that is said about one run.
struct RunReport {
  Run run;
  std::vector<Finding> findings;     // most severe first, then by step
  std::vector<Diagnosis> diagnoses;  // best first
  std::vector<Coverage> coverage;
  std::shared_ptr<const Baseline> baseline = {};  // beside a reference run (model/baseline.h); null without one
  std::vector<CheckedItem> checklist = {};        // where it was asked for
};

// Puts a finding into its place among the others, so that diagnoses still refer to theirs.
void InsertFinding(RunReport& report, Finding finding);

// One setting of a config that a fix changed, or could not.
struct FixedSetting {
  std::string remedy;
  std::string setting;
  std::string current;  // empty where it was added
  std::string proposed;
  std::string problem;  // why it was not changed; empty when it was
};

// A config of a run with remedies put in.
struct Fix {
  std::string run;
  std::string config;   // the file as it is; empty where the run has none
  std::string written;  // the file that was, or would be, written; empty where nothing could be changed
  bool is_dry = false;  // it was not written
  std::string diff;
  std::string snippet;  // the settings to copy, where there is no config to change
  std::vector<FixedSetting> settings;
};

struct Report {
  std::vector<RunReport> runs;
  std::vector<Unread> unread;
  std::vector<Fix> fixes = {};  // what --fix did
};

// What each incident cost in money, where its GPU-hours are known.
void SetPrice(Report& report, double per_gpu_hour);
// The most severe finding of the report, nullopt when there is none.
std::optional<Severity> WorstSeverity(const Report& report);

}  // namespace vigil::model
