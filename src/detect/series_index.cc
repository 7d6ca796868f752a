#include "detect/series_index.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/base.h"

namespace vigil::detect {
namespace {

// FNV-1a, with a separator behind each text so that "a","bc" and "ab","c" differ.
class Print {
 public:
  void Add(std::string_view text) {
    for (const char byte : text) Mix(static_cast<unsigned char>(byte));
    Mix(kSeparator);
  }
  void Add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) Mix((number >> (8U * static_cast<unsigned>(i))) & 0xffU);
  }
  std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kSeparator = 0x1ff;
  void Mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::uint64_t PrintOf(const model::Run& run, const model::Series& series) {
  Print print;
  print.Add(series.signal);
  print.Add(series.raw);
  for (const auto& [name, value] : series.labels) {
    print.Add(name);
    print.Add(value);
  }
  // What detectors are made with: one that was made for a mean is not right for a single value.
  print.Add(static_cast<std::uint64_t>(series.axis) << 16U | static_cast<std::uint64_t>(series.aggregation) << 8U |
            static_cast<std::uint64_t>(series.clipping));
  if (series.source < run.sources.size()) print.Add(run.sources[series.source].path);
  return print.value();
}

std::uint64_t PrintOfAll(const model::Run& run) {
  Print print;
  for (const model::Series& series : run.series) {
    print.Add(PrintOf(run, series));
    print.Add(series.empty() ? 0U : 1U);
  }
  return print.value();
}

}  // namespace

SeriesIndex::SeriesIndex(const model::Run& run) : run_(&run), first_(run.series.data()), print_(PrintOfAll(run)) {
  std::unordered_map<std::uint64_t, std::uint64_t> times;
  ids_.reserve(run.series.size());
  for (const model::Series& series : run.series) {
    Print print;
    const std::uint64_t own = PrintOf(run, series);
    print.Add(own);
    print.Add(times[own]++);  // two of the same name differ by their order
    ids_.push_back(print.value());
    if (!series.empty()) by_signal_[series.signal][series.labels].push_back(&series);
  }
}

bool SeriesIndex::Fits(const model::Run& run) const {
  return run_ == &run && first_ == run.series.data() && ids_.size() == run.series.size() && print_ == PrintOfAll(run);
}

std::uint64_t SeriesIndex::IdOf(const model::Series& series) const {
  return ids_[static_cast<std::size_t>(&series - first_)];
}

const model::Series* SeriesIndex::Companion(std::string_view signal, const model::Labels& labels) {
  const auto same = by_signal_.find(signal);
  if (same == by_signal_.end()) return nullptr;
  const auto at = same->second.find(labels);
  if (at != same->second.end()) return at->second.front();
  const auto [known, is_new] = preferred_.try_emplace(same->first, nullptr);
  if (is_new) known->second = run_->Find(signal);
  return known->second;
}

std::vector<const model::Series*> SeriesIndex::OtherLosses() const {
  std::vector<const model::Series*> losses;
  for (const model::Series& series : run_->series) {
    if (series.empty() || series.signal != series.raw || losses.size() == kMostLeads) continue;
    const std::string name = ToLower(series.raw);
    const bool is_evaluation = name.find("val") != std::string::npos || name.find("test") != std::string::npos;
    if (name.find("loss") != std::string::npos && !is_evaluation) losses.push_back(&series);
  }
  return losses;
}

std::vector<const model::Series*> SeriesIndex::Leads(std::string_view signal) const {
  std::vector<const model::Series*> leads;
  const auto same = by_signal_.find(signal);
  if (same == by_signal_.end()) return leads;
  for (const auto& [labels, series] : same->second) {
    const auto denser = [](const model::Series* a, const model::Series* b) { return a->size() < b->size(); };
    leads.push_back(*std::max_element(series.begin(), series.end(), denser));
    if (leads.size() == kMostLeads) break;
  }
  return leads;
}

std::vector<const model::Series*> SeriesIndex::LeadsOf(const catalogue::FindingRow& row, std::size_t& role) const {
  for (role = 0; role < row.signals.size(); ++role) {
    std::vector<const model::Series*> leads = Leads(row.signals[role]);
    if (!leads.empty()) return leads;
  }
  return {};
}

}  // namespace vigil::detect
