// A run as one incident sees it. Where a finding is about one labelled series (a rank, an evaluation set), the evidence
// must come from the series with the same labels. The run itself is borrowed: no column is copied.
#pragma once

#include <optional>
#include <set>
#include <string_view>

#include "model/finding.h"
#include "model/run.h"

namespace vigil::diagnose {

class RunView {
 public:
  // The whole run, without preference. Implicit: a plain run is a view of itself. The run must outlive the view.
  RunView(const model::Run& run) : run_(&run) {}  // NOLINT(google-explicit-constructor, hicpp-explicit-conversions)
  // Of each metric the series with these labels, where there is one. The labels must outlive the view too.
  RunView(const model::Run& run, const model::Labels& preferred);

  const model::Run* operator->() const { return run_; }
  const model::Run& operator*() const { return *run_; }
  const model::AxisMap& axes() const { return run_->axes; }
  // The preferred series of that metric, else the one that Run::Find gives; null when there is none.
  const model::Series* Find(std::string_view signal) const;
  // Whether the series is part of the view: it has the preferred labels, or its metric has no series with them.
  bool Has(const model::Series& series) const;

  const model::Fact* FindFact(std::string_view key) const { return run_->FindFact(key); }
  std::optional<double> FactNumber(std::string_view key) const { return run_->FactNumber(key); }
  bool HasMethod(std::string_view wanted) const { return run_->HasMethod(wanted); }

 private:
  bool IsPreferred(const model::Series& series) const;

  const model::Run* run_;
  const model::Labels* preferred_ = nullptr;
  std::set<std::string_view> labelled_;  // metrics that have a series with the preferred labels
};

}  // namespace vigil::diagnose
