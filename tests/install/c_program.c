/* A training loop in C99 that records itself through the installed library. */
#include <stdio.h>
#include <vigil/vigil.h>

int main(int count, char** arguments) {
  vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
  vigil_series_options unit = VIGIL_SERIES_OPTIONS_INIT;
  vigil_label label = {"dataset", "tiny"};
  vigil_event event = VIGIL_EVENT_INIT;
  vigil_run run;
  vigil_series loss, eval_loss;
  vigil_tensor gradient;
  vigil_tensor_stats stats = {1.5, -1, 1, 0, 0.1, 64, 0, 1};
  int64_t step;
  int wrong = 0;
  if (count != 2) return 2;
  options.folder = arguments[1];
  options.name = "a loop in C";
  if (vigil_run_open(&options, &run) != VIGIL_OK) {
    fprintf(stderr, "%s\n", vigil_last_error());
    return 1;
  }
  unit.unit = "nats";
  unit.labels = &label;
  unit.label_count = 1;
  wrong += vigil_series_open(run, "loss", NULL, &loss) != VIGIL_OK;
  wrong += vigil_series_open(run, "eval_loss", &unit, &eval_loss) != VIGIL_OK;
  wrong += vigil_tensor_open(run, "gradient", "w", &gradient) != VIGIL_OK;
  wrong += vigil_config_set(run, "lr", "0.001") != VIGIL_OK;
  for (step = 0; step < 200; ++step) {
    wrong += vigil_step_begin(run, step) != VIGIL_OK;
    wrong += vigil_series_add(loss, step, 3.0 / (double)(step + 1)) != VIGIL_OK;
    wrong += vigil_tensor_add(gradient, step, &stats) != VIGIL_OK;
    wrong += vigil_batch_add(run, step, vigil_fingerprint(&step, sizeof(step))) != VIGIL_OK;
    if (step % 50 == 0) wrong += vigil_series_add(eval_loss, step, 1.0) != VIGIL_OK;
    wrong += vigil_step_end(run) != VIGIL_OK;
  }
  event.text = "done";
  wrong += vigil_event_add(run, &event) != VIGIL_OK;
  wrong += vigil_run_close(run, 0) != VIGIL_OK;
  wrong += vigil_run_close(run, 0) != VIGIL_CLOSED;
  return wrong == 0 ? 0 : 1;
}
