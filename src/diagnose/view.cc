#include "diagnose/view.h"

namespace vigil::diagnose {

RunView::RunView(const model::Run& run, const model::Labels& preferred) : run_(&run), preferred_(&preferred) {
  for (const model::Series& series : run.series) {
    if (IsPreferred(series)) labelled_.insert(series.signal);
  }
}

bool RunView::IsPreferred(const model::Series& series) const {
  // An empty series answers nothing: the metric is then read as if nobody had asked for labels.
  return preferred_ != nullptr && series.labels == *preferred_ && !series.empty();
}

const model::Series* RunView::Find(std::string_view signal) const {
  if (!labelled_.contains(signal)) return run_->Find(signal);
  const model::Series* best = nullptr;
  for (const model::Series& series : run_->series) {
    if (series.signal != signal || !IsPreferred(series)) continue;
    if (best == nullptr || series.size() > best->size()) best = &series;
  }
  return best;
}

bool RunView::Has(const model::Series& series) const {
  return !labelled_.contains(series.signal) || IsPreferred(series);
}

}  // namespace vigil::diagnose
