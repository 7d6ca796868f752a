// A training loop in C++17 that records itself through the installed library.
#include <cmath>
#include <iostream>
#include <vigil/vigil.hpp>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  vigil::Run run(arguments[1]);
  if (!run.ok()) {
    std::cerr << vigil_last_error() << "\n";
    return 1;
  }
  run.Config("lr", "0.001");
  const vigil::Series loss = run.Series("loss");
  const vigil::Series reward = run.Series("reward", {{"task", "math"}}, "points");
  int wrong = 0;
  for (std::int64_t step = 0; step < 200; ++step) {
    const vigil::StepTimer timer(run, step);
    const vigil::PhaseTimer phase(run, vigil::Phase::kForward);
    wrong += loss.Add(step, 3.0 / static_cast<double>(step + 1)) != VIGIL_OK;
    wrong += reward.Add(step, 0.5) != VIGIL_OK;
    wrong += run.Batch(step, &step, sizeof(step)) != VIGIL_OK;
  }
  const vigil::Guard guard(run);
  wrong += guard.Judge(199, 2.0).action != VIGIL_ACTION_GO;
  wrong += guard.Judge(199, std::nan("")).action != VIGIL_ACTION_SKIP;
  wrong += run.Event(199, VIGIL_INFO, "done") != VIGIL_OK;
  vigil::Run moved = std::move(run);
  wrong += moved.Finish() != VIGIL_OK;
  wrong += loss.Add(200, 1) != VIGIL_CLOSED;
  wrong += vigil::Series().Add(1, 1) != VIGIL_INVALID;
  return wrong == 0 ? 0 : 1;
}
