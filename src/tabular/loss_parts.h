// tabular/loss_parts: trainers that log the parts of their loss and not the whole: detectors of objects write box_loss,
// cls_loss and dfl_loss, and nothing says `loss`.
#pragma once

#include <string_view>

#include "model/run.h"

namespace vigil::tabular {

// Whether a part pulls against the others, as those of GANs and of actors and critics do: a sum with it says nothing.
bool IsOfAdversary(std::string_view name);

// Adds the sum of the parts where the run has no loss, and the one of the parts that were evaluated where it has no
// loss of the evaluation. A run with a loss, with rewards, or with parts below zero is left as it is.
void SumLossParts(model::Run& run);

}  // namespace vigil::tabular
