#include "tabular/metric_table.h"

namespace vigil::tabular {

void KeepLikelyGaps(model::Series& series) {
  model::Series kept;
  kept.TakeHeaderOf(series);
  Fill fill;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool is_gap = model::IsNoValue(series.values[i]);
    // Judged by what came before it, as rows are.
    const bool stays = !is_gap || fill.IsFull();
    ++(is_gap ? fill.gaps : fill.numbers);
    if (!stays) continue;
    kept.Append(series.steps[i], series.values[i], series.times.empty() ? model::kNoValue : series.times[i],
                series.lines.empty() ? 0 : series.lines[i]);
  }
  series = std::move(kept);
}

}  // namespace vigil::tabular
