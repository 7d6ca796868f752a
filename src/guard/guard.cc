#include "guard/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vigil::guard {
namespace {

constexpr std::array<std::string_view, 5> kPolicyNames = {"observe", "warn", "skip", "raise", "rollback"};

std::string Describe(const detect::StepVerdict& verdict, std::int64_t step, double loss, double grad_norm) {
  if (verdict.non_finite_loss) return fmt::format("step {}: the loss is {}", step, FormatNumber(loss));
  if (verdict.non_finite_grad) return fmt::format("step {}: the gradient norm is {}", step, FormatNumber(grad_norm));
  if (verdict.loss_spike)
    return fmt::format("step {}: the loss is {}, {} times its level", step, FormatNumber(loss),
                       FormatNumber(verdict.loss_ratio));
  return fmt::format("step {}: the gradient norm is {}, {} times its level", step, FormatNumber(grad_norm),
                     FormatNumber(verdict.grad_ratio));
}

Trigger TriggerOf(const detect::StepVerdict& verdict) {
  if (verdict.IsNonFinite()) return Trigger::kNonFinite;
  return verdict.IsSpike() ? Trigger::kSpike : Trigger::kNone;
}

}  // namespace

std::string_view Name(Policy policy) { return kPolicyNames[static_cast<std::size_t>(policy)]; }

std::string_view EventName(Action action) {
  constexpr std::array<std::string_view, 4> kNames = {model::kGuardObserved, model::kGuardSkipped, model::kGuardStopped,
                                                      model::kGuardRolledBack};
  return kNames[static_cast<std::size_t>(action)];
}

std::optional<Policy> ParsePolicy(std::string_view name) {
  const auto at = std::find(kPolicyNames.begin(), kPolicyNames.end(), name);
  if (at == kPolicyNames.end()) return std::nullopt;
  return static_cast<Policy>(at - kPolicyNames.begin());
}

Guard::Guard(const Options& options, const catalogue::Thresholds& thresholds) : options_(options), judge_(thresholds) {}

Policy Guard::PolicyFor(Trigger trigger, const detect::StepVerdict& verdict) const {
  if (trigger == Trigger::kNonFinite) return options_.non_finite;
  const double ratio =
      std::max(verdict.loss_spike ? verdict.loss_ratio : 0, verdict.grad_spike ? verdict.grad_ratio : 0);
  return ratio >= options_.spike_ratio ? options_.spike : Policy::kObserve;
}

Decision Guard::Judge(std::int64_t step, double loss, double grad_norm) {
  ++counts_.judged;
  const detect::StepVerdict verdict = judge_.Judge(loss, grad_norm);
  Decision decision;
  decision.trigger = TriggerOf(verdict);
  if (decision.trigger == Trigger::kNone || !options_.enabled) {
    consecutive_ = left_out_ = 0;
    decision.trigger = Trigger::kNone;
    return decision;
  }
  decision.consecutive = ++consecutive_;
  decision.message = Describe(verdict, step, loss, grad_norm);
  const Policy policy = PolicyFor(decision.trigger, verdict);
  return Apply(policy, std::move(decision));
}

Decision Guard::Apply(Policy policy, Decision decision) {
  switch (policy) {
    case Policy::kObserve:
      left_out_ = 0;  // it is applied: the training goes on
      decision.severity = model::Severity::kWarning;
      decision.message += "; observed";
      return decision;
    case Policy::kWarn:
    case Policy::kSkip:
      if (left_out_ >= options_.max_consecutive) return GiveUp(std::move(decision));
      ++left_out_;
      ++counts_.skipped;
      decision.action = Action::kSkip;
      decision.severity = policy == Policy::kWarn ? model::Severity::kWarning : model::Severity::kInfo;
      decision.message += "; left out";
      return decision;
    case Policy::kRaise:
      decision.action = Action::kStop;
      decision.severity = model::Severity::kError;
      decision.message += "; stopped";
      return decision;
    case Policy::kRollback:
      return RollBack(std::move(decision));
  }
  return decision;
}

Decision Guard::GiveUp(Decision decision) {
  decision.message += fmt::format("; {} bad steps in a row were left out", left_out_);
  if (options_.rollback_when_given_up) return RollBack(std::move(decision));
  decision.action = Action::kStop;
  decision.severity = model::Severity::kError;
  decision.message += "; stopped";
  return decision;
}

Decision Guard::RollBack(Decision decision) {
  decision.severity = model::Severity::kError;
  decision.action = Action::kStop;
  if (checkpoint_ == model::kNoStep) {
    decision.message += "; stopped: there is no checkpoint to return to";
  } else if (counts_.rollbacks >= options_.max_rollbacks) {
    decision.message += fmt::format("; stopped after {} rollbacks", counts_.rollbacks);
  } else {
    ++counts_.rollbacks;
    left_out_ = 0;
    decision.action = Action::kRollback;
    decision.rollback_to = checkpoint_;
    decision.message += fmt::format("; back to step {}", checkpoint_);
  }
  return decision;
}

void Guard::NoteCheckpoint(std::int64_t step) {
  if (consecutive_ == 0) checkpoint_ = step;
}

void Guard::NoteRollback(std::int64_t step) {
  consecutive_ = left_out_ = 0;
  // What was saved later belongs to the course that was left.
  if (checkpoint_ > step) checkpoint_ = step;
  judge_.Restart();
}

}  // namespace vigil::guard
