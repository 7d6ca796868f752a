// The guard as a state machine: what it lets pass, leaves out, stops and sets back.
#include "guard/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <limits>
#include <random>

namespace vigil::guard {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Options With(Policy non_finite, Policy spike = Policy::kObserve) {
  Options options;
  options.non_finite = non_finite;
  options.spike = spike;
  return options;
}

// A healthy course, so that there is a level. Returns the next step.
std::int64_t WarmUp(Guard& guard, std::int64_t from = 0, std::int64_t steps = 200) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.03);
  for (std::int64_t step = from; step < from + steps; ++step) {
    const Decision decision = guard.Judge(step, 2 * std::exp(noise(random)), std::exp(3 * noise(random)));
    EXPECT_EQ(decision.action, Action::kGo) << decision.message;
    EXPECT_THAT(decision.message, IsEmpty());
  }
  return from + steps;
}

TEST(Guard, LetsAHealthyRunPassUntouched) {
  Guard guard(Options{});
  WarmUp(guard, 0, 5000);
  EXPECT_EQ(guard.counts().skipped, 0);
}

TEST(Guard, DoesWithANonFiniteStepWhatThePolicySays) {
  const std::pair<Policy, Action> cases[] = {{Policy::kObserve, Action::kGo},
                                             {Policy::kWarn, Action::kSkip},
                                             {Policy::kSkip, Action::kSkip},
                                             {Policy::kRaise, Action::kStop},
                                             {Policy::kRollback, Action::kStop}};  // no checkpoint
  for (const auto& [policy, action] : cases) {
    Guard guard(With(policy));
    const Decision decision = guard.Judge(7, kNan, 1);
    EXPECT_EQ(decision.action, action) << Name(policy);
    EXPECT_EQ(decision.trigger, Trigger::kNonFinite);
    EXPECT_THAT(decision.message, HasSubstr("step 7: the loss is nan"));
  }
}

TEST(Guard, SeesABadGradientBehindAGoodLoss) {
  Guard guard(Options{});
  const Decision decision = guard.Judge(3, 2.0, std::numeric_limits<double>::infinity());
  EXPECT_EQ(decision.action, Action::kSkip);
  EXPECT_THAT(decision.message, HasSubstr("gradient norm is inf"));
}

TEST(Guard, AValueThatIsNotKnownIsNotBad) {
  Guard guard(Options{});
  EXPECT_EQ(guard.Judge(1, 2.0, model::kNoValue).action, Action::kGo);
  EXPECT_EQ(guard.Judge(2, model::kNoValue, model::kNoValue).action, Action::kGo);
}

TEST(Guard, LeavesASpikeOutAtItsOwnStep) {
  Guard guard(With(Policy::kWarn, Policy::kSkip));
  const std::int64_t step = WarmUp(guard);
  const Decision decision = guard.Judge(step, 9.0, 40.0);
  EXPECT_EQ(decision.action, Action::kSkip);
  EXPECT_EQ(decision.trigger, Trigger::kSpike);
  EXPECT_THAT(decision.message, HasSubstr("times its level"));
  EXPECT_EQ(guard.Judge(step + 1, 2.0, 1.0).action, Action::kGo);
}

// A loss may touch zero from below once: that point has no height, and the ones behind it have theirs.
TEST(Guard, ALossBelowZeroDoesNotEndTheJudging) {
  for (const bool restarts : {false, true}) {
    Guard guard(With(Policy::kWarn, Policy::kSkip));
    EXPECT_EQ(guard.Judge(0, -0.01, 1.0).action, Action::kGo);
    if (restarts) guard.NoteRollback(0);
    const std::int64_t step = WarmUp(guard, 1);
    EXPECT_EQ(guard.Judge(step, 40.0, 1.0).action, Action::kSkip);
  }
}

TEST(Guard, ObservesSpikesBelowTheRatio) {
  Options options = With(Policy::kWarn, Policy::kRaise);
  options.spike_ratio = 10;
  Guard guard(options);
  const std::int64_t step = WarmUp(guard);
  EXPECT_EQ(guard.Judge(step, 8.0, 1.0).action, Action::kGo);
  EXPECT_EQ(guard.Judge(step + 1, 80.0, 1.0).action, Action::kStop);
}

TEST(Guard, LeavesOutAsManyInARowAsAllowedThenGivesUp) {
  Guard guard(Options{});
  for (std::int64_t step = 0; step < 10; ++step) EXPECT_EQ(guard.Judge(step, kNan, kNan).action, Action::kSkip);
  EXPECT_EQ(guard.counts().skipped, 10);
  const Decision last = guard.Judge(10, kNan, kNan);
  EXPECT_EQ(last.action, Action::kStop);
  EXPECT_EQ(last.consecutive, 11);
  EXPECT_THAT(last.message, HasSubstr("10 bad steps in a row were left out; stopped"));
}

// Observed steps are applied: they neither use up what may be left out, nor keep a row of left-out steps together.
TEST(Guard, ObservedStepsDoNotCountAsLeftOut) {
  Guard guard(Options{});
  std::int64_t step = WarmUp(guard);
  for (int i = 0; i < 9; ++i) {
    const Decision observed = guard.Judge(step++, 40, 50);
    EXPECT_EQ(observed.action, Action::kGo);
    EXPECT_EQ(observed.consecutive, i + 1);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(guard.Judge(step++, kNan, kNan).action, Action::kSkip);
  EXPECT_EQ(guard.Judge(step++, 40, 50).action, Action::kGo);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(guard.Judge(step++, kNan, kNan).action, Action::kSkip);
  EXPECT_EQ(guard.Judge(step, kNan, kNan).action, Action::kStop);
}

TEST(Guard, ACheckpointAmongObservedSpikesIsNotReturnedTo) {
  Guard guard(With(Policy::kRollback));
  const std::int64_t step = WarmUp(guard);
  guard.NoteCheckpoint(step - 1);
  EXPECT_EQ(guard.Judge(step, 40, 50).action, Action::kGo);
  guard.NoteCheckpoint(step);
  EXPECT_EQ(guard.Judge(step + 1, kNan, kNan).rollback_to, step - 1);
}

TEST(Guard, AGoodStepBetweenStartsTheCountAgain) {
  Guard guard(Options{});
  for (std::int64_t step = 0; step < 100; ++step) {
    const bool bad = step % 5 != 0;
    EXPECT_EQ(guard.Judge(step, bad ? kNan : 2.0, 1).action, bad ? Action::kSkip : Action::kGo);
  }
}

TEST(Guard, RollsBackToACheckpointFromBeforeTheTrouble) {
  Options options = With(Policy::kRollback);
  options.max_rollbacks = 2;
  Guard guard(options);
  guard.NoteCheckpoint(100);
  EXPECT_EQ(guard.Judge(150, 2.0, 1).action, Action::kGo);
  for (int round = 0; round < 2; ++round) {
    const Decision decision = guard.Judge(151, kNan, 1);
    EXPECT_EQ(decision.action, Action::kRollback);
    EXPECT_EQ(decision.rollback_to, 100);
    guard.NoteCheckpoint(151);  // saved within the trouble: not to be returned to
    guard.NoteRollback(100);
    EXPECT_EQ(guard.Judge(101, 2.0, 1).action, Action::kGo);
  }
  const Decision decision = guard.Judge(151, kNan, 1);
  EXPECT_EQ(decision.action, Action::kStop);
  EXPECT_THAT(decision.message, HasSubstr("after 2 rollbacks"));
}

TEST(Guard, RollsBackWhenGivenUpIfAllowed) {
  Options options;
  options.rollback_when_given_up = true;
  options.max_consecutive = 3;
  Guard guard(options);
  guard.NoteCheckpoint(40);
  EXPECT_EQ(guard.Judge(50, kNan, 1).action, Action::kSkip);
  EXPECT_EQ(guard.Judge(51, kNan, 1).action, Action::kSkip);
  EXPECT_EQ(guard.Judge(52, kNan, 1).action, Action::kSkip);
  EXPECT_EQ(guard.Judge(53, kNan, 1).rollback_to, 40);
  // A training that was asked to go back has made no step since: the count of skipped steps begins again.
  EXPECT_EQ(guard.Judge(54, kNan, 1).action, Action::kSkip);
}

TEST(Guard, AsksForNoMoreRollbacksThanAllowedEvenIfNobodyNotesThem) {
  Options options = With(Policy::kRollback);
  options.max_rollbacks = 2;
  Guard guard(options);
  guard.NoteCheckpoint(1);
  EXPECT_EQ(guard.Judge(2, kNan, 1).action, Action::kRollback);
  EXPECT_EQ(guard.Judge(3, kNan, 1).action, Action::kRollback);
  for (std::int64_t step = 4; step < 9; ++step) EXPECT_EQ(guard.Judge(step, kNan, 1).action, Action::kStop);
  EXPECT_EQ(guard.counts().rollbacks, 2);
}

TEST(Guard, AnEventIsNamedAfterWhatIsDone) {
  EXPECT_EQ(EventName(Action::kGo), "guard/observe");
  EXPECT_EQ(EventName(Action::kSkip), "guard/skip");
  EXPECT_EQ(EventName(Action::kStop), "guard/stop");
  EXPECT_EQ(EventName(Action::kRollback), "guard/rollback");
}

TEST(Guard, OptionsCanBeChangedWhileItRuns) {
  Guard guard(Options{});
  EXPECT_EQ(guard.Judge(1, kNan, 1).action, Action::kSkip);
  guard.SetOptions(ParseControl("non_finite = \"raise\"", "guard.toml", guard.options()).value());
  EXPECT_EQ(guard.Judge(2, kNan, 1).action, Action::kStop);
  guard.SetOptions(ParseControl("enabled = false", "guard.toml", guard.options()).value());
  EXPECT_EQ(guard.Judge(3, kNan, 1).action, Action::kGo);
}

TEST(GuardControl, TakesEverySettingAndKeepsTheRest) {
  const auto options = ParseControl(
      "enabled = true\nnon_finite = \"skip\"\nspike = \"rollback\"\nspike_ratio = 4\nmax_consecutive = 20\n"
      "rollback_when_given_up = true\nmax_rollbacks = 0\n",
      "guard.toml", Options{});
  ASSERT_TRUE(options) << options.error().Text();
  EXPECT_EQ(*options, (Options{true, Policy::kSkip, Policy::kRollback, 4, 20, true, 0}));
  EXPECT_EQ(*ParseControl("", "guard.toml", *options), *options);
}

TEST(GuardControl, MayBeginWithAMarkOfTheByteOrder) {
  const auto options = ParseControl("\xEF\xBB\xBFspike_ratio = 2.5", "guard.toml", Options{});
  ASSERT_TRUE(options) << options.error().Text();
  EXPECT_EQ(options->spike_ratio, 2.5);
}

// The thread that reads it is the training's, and its stack may be as small as threads can have.
TEST(GuardControl, DepthIsAMistakeOnTheSmallestStack) {
  std::string deep = "a";
  while (deep.size() < 65'000) deep += ".a";
  const std::string texts[] = {deep + " = 1", "[" + deep + "]", "a = " + std::string(65'000, '['),
                               "a = " + std::string(65'000, '{')};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{128} << 10U), 0);
  for (const std::string& text : texts) {
    const auto parse = [](void* given) -> void* {
      return ParseControl(*static_cast<const std::string*>(given), "guard.toml", Options{}) ? given : nullptr;
    };
    pthread_t thread = {};
    void* taken = nullptr;
    ASSERT_EQ(pthread_create(&thread, &attributes, parse, const_cast<std::string*>(&text)), 0);
    ASSERT_EQ(pthread_join(thread, &taken), 0);
    EXPECT_EQ(taken, nullptr) << text.substr(0, 20);
  }
  pthread_attr_destroy(&attributes);
}

TEST(GuardControl, SaysWhereAMistakeIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nspik = \"skip\"", "guard.toml:2: the guard has no setting spik; did you mean spike?"},
      {"spike = \"jump\"", "guard.toml:1: spike: expected observe, warn"},
      {"max_consecutive = 0", "from 1 on"},
      {"max_consecutive = 2.5", "whole number"},
      {"spike_ratio = -1", "from 0 on"},
      {"enabled = 3", "true or false"},
      {"enabled = ", "guard.toml:1"},
      {"enabled = true\n[\xC3\xA4]", "guard.toml:2: what stands there is no TOML"},
  };
  for (const auto& [text, complaint] : cases) {
    const auto options = ParseControl(text, "guard.toml", Options{});
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().Text(), HasSubstr(complaint));
  }
}

}  // namespace
}  // namespace vigil::guard
