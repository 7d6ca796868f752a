// tabular/loss_parts: trainers that log the parts of their loss and not the whole: detectors of objects write box_loss,
// cls_loss and dfl_loss, and nothing says `loss`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/run.h"

namespace vigil::tabular {

// Whether a part pulls against the others, as those of GANs and of actors and critics do: a sum with it says nothing.
bool IsOfAdversary(std::string_view name);

// Adds up points of parts that were logged together, where all of them have one: thinning keeps what stands out of
// each. A copy goes on from where it is.
class PartSum {
 public:
  // Appends to `sum` what the parts have behind what was added before. False when a value is negative: objectives that
  // fall below zero are no sum of errors.
  bool Extend(const std::vector<const model::Series*>& parts, model::Series& sum);

 private:
  struct Cursor {
    std::size_t point = 0;
    std::size_t segment = 0;  // of the next point
  };
  std::vector<Cursor> cursors_;  // by part
};

// Adds the sum of the parts where the run has no loss, and the one of the parts that were evaluated where it has no
// loss of the evaluation. A run with a loss, with rewards, or with parts below zero is left as it is.
void SumLossParts(model::Run& run);

}  // namespace vigil::tabular
