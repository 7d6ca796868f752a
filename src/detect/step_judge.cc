#include <array>
#include <cmath>
#include <utility>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

// Roles are the places of the signals in the row (`signals` in findings.toml), which the engine feeds by too.
constexpr std::uint32_t kJudged = 0;
constexpr std::uint32_t kCompanion = 1;

}  // namespace

struct StepJudge::State {
  // Detectors may keep the context they were made with: it points to members, so a State does not move.
  explicit State(const catalogue::Thresholds& given)
      : thresholds(given), loss_spike(Make("loss/spike")), grad_spike(Make("grad/spike")) {}

  // Null when the user turned the finding off: the engine does not run it either. The row names the code, so that this
  // is the detector that the engine makes.
  std::unique_ptr<Detector> Make(std::string_view id) const {
    if (!thresholds.Enabled(id)) return nullptr;
    Context context;
    context.run = &run;
    context.thresholds = &thresholds;
    context.row = catalogue::FindFinding(id);
    context.ended = false;
    context.judges_points = true;
    return FindFactory(context.row->detector)(context);
  }

  // The companion first, as the engine does it: the judged value is judged with the companion known. A value that is
  // not known is no point of its series.
  PointVerdict Feed(Detector* detector, double judged, double companion) const {
    if (detector == nullptr) return {};
    if (!model::IsNoValue(companion)) detector->Observe({kCompanion, step, companion});
    if (model::IsNoValue(judged)) return {};
    detector->Observe({kJudged, step, judged});
    return detector->LastPoint();
  }

  void Restart() const {
    for (Detector* detector : {loss_spike.get(), grad_spike.get()}) {
      if (detector != nullptr) detector->Restart(step);
    }
  }

  catalogue::Thresholds thresholds;
  model::Run run;  // nothing is known of the run: no settings, no method, no plan
  std::unique_ptr<Detector> loss_spike;
  std::unique_ptr<Detector> grad_spike;
  std::int64_t step = 0;  // counted here: detectors only compare steps, to see which values belong together
};

StepJudge::StepJudge(const catalogue::Thresholds& thresholds) : state_(std::make_unique<State>(thresholds)) {}
StepJudge::~StepJudge() = default;
StepJudge::StepJudge(StepJudge&&) noexcept = default;
StepJudge& StepJudge::operator=(StepJudge&&) noexcept = default;

StepVerdict StepJudge::Judge(double loss, double grad_norm) {
  State& state = *state_;
  ++state.step;
  const PointVerdict of_loss = state.Feed(state.loss_spike.get(), loss, grad_norm);
  const PointVerdict of_grad = state.Feed(state.grad_spike.get(), grad_norm, loss);
  StepVerdict verdict;
  verdict.non_finite_loss = !model::IsNoValue(loss) && !std::isfinite(loss);
  verdict.non_finite_grad = !model::IsNoValue(grad_norm) && !std::isfinite(grad_norm);
  verdict.loss_spike = of_loss.in_incident;
  verdict.grad_spike = of_grad.in_incident;
  verdict.loss_ratio = of_loss.ratio;
  verdict.grad_ratio = of_grad.ratio;
  return verdict;
}

void StepJudge::Restart() { state_->Restart(); }

}  // namespace vigil::detect
