#include "gym/overseer.h"

#include <cmath>

#include "platform/clock.h"
#include "platform/files.h"

namespace vigil::gym {
namespace {

guard::Options OptionsOf(const Options& options) {
  guard::Options made;
  made.non_finite = made.spike = guard::ParsePolicy(options.guard).value_or(guard::Policy::kObserve);
  // A gym with checkpoints can always return to one.
  made.rollback_when_given_up = options.save_every > 0;
  return made;
}

}  // namespace

Overseer::Overseer(const Options& options, Group& group)
    : group_(group),
      given_(OptionsOf(options)),
      guard_(given_),
      control_(options.guard_control.empty() ? options.out + "/guard.toml" : options.guard_control) {}

Result<Verdict> Overseer::Judge(std::int64_t step, double loss, double grad_norm) {
  Verdict verdict;
  const bool decides = group_.rank() == 0;
  if (decides) {
    LookAtControl(verdict.notes);
    const guard::Decision decision = guard_.Judge(step, loss, grad_norm);
    verdict.action = decision.action;
    verdict.rollback_to = decision.rollback_to;
    if (!decision.message.empty())
      verdict.notes.push_back(
          {Happening::kDecision, std::string(guard::EventName(decision.action)), decision.severity, decision.message});
  }
  // The mean of what rank 0 says and of the others' zeros.
  const auto scale = static_cast<float>(decides ? group_.ranks() : 0);
  float shared[] = {scale * static_cast<float>(verdict.action), scale * static_cast<float>(verdict.rollback_to)};
  if (const Status met = group_.Mean(shared); !met) return Fail(met.error());
  if (group_.ranks() > 1) {
    verdict.action = static_cast<guard::Action>(std::lround(shared[0]));
    verdict.rollback_to = std::lround(shared[1]);
  }
  return verdict;
}

void Overseer::LookAtControl(std::vector<Note>& notes) {
  constexpr std::uint64_t kPauseNs = 200'000'000;
  constexpr std::uint64_t kMostBytes = 1U << 16U;
  const std::uint64_t now = platform::MonotonicNs();
  if (looked_ns_ != 0 && now - looked_ns_ < kPauseNs) return;
  looked_ns_ = now;
  const auto entry = platform::Stat(control_);
  if (!entry || (entry->modified_unix_s == modified_unix_s_ && entry->size_bytes == size_bytes_)) return;
  modified_unix_s_ = entry->modified_unix_s;
  size_bytes_ = entry->size_bytes;
  const auto text = platform::ReadWholeFile(control_, kMostBytes);
  const auto options = text ? guard::ParseControl(*text, control_, given_) : Result<guard::Options>(Fail(text.error()));
  if (options) guard_.SetOptions(*options);
  notes.push_back({Happening::kDecision, "guard/control", options ? model::Severity::kInfo : model::Severity::kWarning,
                   options ? control_ + " was read" : options.error().Text()});
}

}  // namespace vigil::gym
