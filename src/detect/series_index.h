// Which series a detector leads with, and which go with it. Private to detect.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/run.h"

namespace vigil::detect {

// The series of each signal by their labels, made once for a set of series: a run may hold a hundred thousand. Points
// may be appended meanwhile, and are seen.
class SeriesIndex {
 public:
  explicit SeriesIndex(const model::Run& run);

  // Whether the run still has the same series, at the same place, and the same of them have points.
  bool Fits(const model::Run& run) const;

  // Points were appended: which of several series is the longest is looked up again.
  void Refresh() { preferred_.clear(); }

  // The companion of that signal for a leading series with these labels, null when the run has none.
  const model::Series* Companion(std::string_view signal, const model::Labels& labels);
  // Series that are called a loss and that no signal of the vocabulary stands for, no more than kMostLeads.
  std::vector<const model::Series*> OtherLosses() const;
  // Of each labelled series of the signal one: of two names for one signal (a per-step and a per-epoch mean, say) the
  // denser. No more than kMostLeads, in the order of their labels.
  std::vector<const model::Series*> Leads(std::string_view signal) const;
  // Every leading series that a row is to be run on: each labelled series of its first signal, or when that is absent
  // the first of its other signals. `role` is that of the leads.
  std::vector<const model::Series*> LeadsOf(const catalogue::FindingRow& row, std::size_t& role) const;

  // What the series is: the same number for the same name, labels and source, wherever it stands among the others.
  std::uint64_t IdOf(const model::Series& series) const;

 private:
  static constexpr std::size_t kMostLeads = 4096;
  const model::Run* run_;
  const model::Series* first_ = nullptr;
  std::uint64_t print_ = 0;
  std::vector<std::uint64_t> ids_;
  std::map<std::string_view, std::map<model::Labels, std::vector<const model::Series*>>> by_signal_;
  std::map<std::string_view, const model::Series*> preferred_;  // where no labels fit: found once
};

}  // namespace vigil::detect
