// Metric lines of plain training loops: "step 120 | loss 2.31 | lr 3e-4", "iter 100: loss 3.1, time 12ms", "step:3/100
// train_loss:2.2", "iteration 5/ 100 | lm loss: 6.8E+00 |", "Epoch 3/10 - loss: 0.5 - val_loss: 0.6", ...
// A line is taken apart into named numbers; whether it is a metric line is for the reader, who knows the vocabulary.
#pragma once

#include <cstdint>
#include <string_view>

#include "textlog/pairs.h"

namespace vigil::textlog {

struct MetricLine {
  std::int64_t step = -1;          // -1: the line names none
  std::int64_t total_steps = 0;    // "120/1000": 1000; 0 when not given
  double epoch = -1;               // -1: the line names none
  bool step_within_epoch = false;  // "Epoch [2][40/500]": counted from the start of the epoch
  bool step_opens_line = false;    // "5120/10000 [=====>....] - loss: 0.65"
  bool step_is_bare = false;       // "[  3/100]": no word says what is counted
  bool step_is_global = false;     // "num_updates=3964": counted through all epochs
  bool is_summary = false;         // "epoch 1 | loss 2.3 | ... | num_updates 3964": of the epoch, not of that step
  bool irregular = false;          // "step 1.5": the next line of this form may read otherwise
  bool epoch_is_part = false;      // "epoch 1.25": written with its fraction, so that an epoch has many lines
  bool evaluation = false;         // "validate step: 100  loss: 3.1"
  NamedNumbers numbers;            // without step and epoch
  bool guessed = false;            // "E0 B20 loss 2.3": letters that may count epochs and steps
  bool counted = false;            // the step is the count without a name
  std::int64_t lead = -1;          // "[00120] loss=2.3": a count without a name before everything else, -1 without one
  std::uint32_t lead_at = 0;       // where the digits of each begin
  std::uint32_t step_at = 0;
  std::uint32_t epoch_at = 0;
  bool step_thousands = false;  // the step is written as 1,024
};

// Whether one of the last words before the step or value is of an evaluation: "INFO - validate step: 100",
// "| valid | epoch 001 |", "[eval] iter 5". `before` is the line up to there.
bool SpeaksOfEvaluation(std::string_view before);

// Takes the line apart into `line` (whose buffers are reused). False when it names neither step nor epoch, or no other
// number. A number that touches the end of an unfinished line (`cut`) may lack digits: it is marked, and left out when
// it is a step.
bool ParseMetricLine(std::string_view text, bool cut, MetricLine& line);

// "[batch=1/4800]:" and "[epoch=2][batch=1/4800]:", which head the lines of a step.
inline bool OpensBatches(std::string_view text) {
  return text.starts_with("[batch=") ||
         (text.starts_with("[epoch=") && text.find("][batch=") != std::string_view::npos);
}

// The same for "loss=2.3, lr=1e-4", where no step is expected.
void ParseNamedNumbers(std::string_view text, NamedNumbers& numbers);

}  // namespace vigil::textlog
