// The guard decides at a step what the findings say about it afterwards: both come from the same detectors. A twin that
// collects what the judge of steps says is compared with the findings of the engine on the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "guard/guard.h"

namespace vigil::guard {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kBecomesTheLevel = 65;  // points of a spike that is then taken for the new level

struct Step {
  std::int64_t step = 0;
  double loss = model::kNoValue;
  double grad_norm = model::kNoValue;
};
using Course = std::vector<Step>;

// ---- courses

struct Kind {
  const char* name;
  bool with_gradient;
  int narrow;    // spikes of one point
  int wide;      // of up to forty
  int shifts;    // of the level, for good or for some hundred points
  int broken;    // steps whose values are not finite
  int restarts;  // steps go back
};

constexpr Kind kKinds[] = {
    {"healthy", true, 0, 0, 0, 0, 0},
    {"narrow spikes", true, 4, 0, 0, 0, 0},
    {"narrow spikes without gradient norm", false, 4, 0, 0, 0, 0},
    {"wide spikes", true, 0, 4, 0, 0, 0},
    {"narrow and wide spikes without gradient norm", false, 3, 3, 0, 0, 0},
    {"spikes and NaN", true, 3, 3, 0, 6, 0},
    {"NaN without gradient norm", false, 0, 0, 0, 4, 0},
    {"levels that shift", true, 2, 1, 2, 0, 0},
    {"levels that shift, and NaN, without gradient norm", false, 2, 1, 2, 3, 0},
    {"restarts among spikes", true, 3, 4, 0, 0, 2},
};

class CourseMaker {
 public:
  CourseMaker(const Kind& kind, std::uint32_t seed) : kind_(kind), random_(seed) {}

  Course Make() {
    constexpr int kSteps = 1500;
    std::normal_distribution<double> noise(0, 0.03);
    for (int i = 0; i < kSteps; ++i) {
      const double loss = (1.5 + 6 * std::pow(i + 1, -0.5)) * std::exp(noise(random_));
      const double grad_norm = std::exp(4 * noise(random_));
      // A logger does not measure the norm at every step.
      const bool has_gradient = kind_.with_gradient && Uniform(0, 1) < 0.95;
      course_.push_back({i + 1, loss, has_gradient ? grad_norm : model::kNoValue});
    }
    for (int i = 0; i < kind_.narrow; ++i) Raise(Somewhere(), 1);
    for (int i = 0; i < kind_.wide; ++i) Raise(Somewhere(), Index(2, 40));
    for (int i = 0; i < kind_.shifts; ++i) Raise(Somewhere(), Index(100, 1500));
    for (int i = 0; i < kind_.broken; ++i) Break(Somewhere());
    for (int i = 0; i < kind_.restarts; ++i) GoBack(Somewhere(), Index(1, 200));
    return course_;
  }

 private:
  double Uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  std::size_t Index(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random_);
  }
  std::size_t Somewhere() { return Index(100, course_.size() - 2); }

  // The loss, the gradient norm or both stand out.
  void Raise(std::size_t from, std::size_t width) {
    const double what = Uniform(0, 1);
    const double by = Uniform(1.1, 4);
    for (std::size_t i = from; i < std::min(from + width, course_.size()); ++i) {
      if (what < 0.7) course_[i].loss *= by;
      if (what > 0.4 && !model::IsNoValue(course_[i].grad_norm)) course_[i].grad_norm *= 2 * by;
    }
  }
  void Break(std::size_t at) {
    const double bad = Uniform(0, 1) < 0.5 ? kNan : std::numeric_limits<double>::infinity();
    if (Uniform(0, 1) < 0.7) course_[at].loss = bad;
    if (kind_.with_gradient && Uniform(0, 1) < 0.5) course_[at].grad_norm = bad;
  }
  void GoBack(std::size_t at, std::size_t by) {
    for (std::size_t i = at; i < course_.size(); ++i) course_[i].step -= static_cast<std::int64_t>(std::min(by, at));
  }

  const Kind& kind_;
  std::mt19937 random_;
  Course course_;
};

model::Run RunOf(const Course& course, std::size_t steps) {
  model::Run run;
  run.series.resize(2);
  run.series[0].signal = run.series[0].raw = "loss";
  run.series[1].signal = run.series[1].raw = "grad_norm";
  for (std::size_t i = 0; i < steps; ++i) {
    if (!model::IsNoValue(course[i].loss)) run.series[0].Append(course[i].step, course[i].loss);
    if (!model::IsNoValue(course[i].grad_norm)) run.series[1].Append(course[i].step, course[i].grad_norm);
  }
  if (run.series[1].empty()) run.series.pop_back();
  return run;
}

// ---- what the judge says, collected

struct Spike {
  std::int64_t start = 0;
  std::size_t start_index = 0;  // in the course
  std::int64_t peak_step = 0;
  double peak = 0;
  std::uint64_t points = 0;

  bool IsLevel() const { return points >= kBecomesTheLevel; }
};

struct Judged {
  std::vector<Spike> spikes;
  std::vector<std::int64_t> non_finite;
  std::uint64_t points = 0;  // that can be judged
  bool open = false;

  void Add(std::size_t index, std::int64_t step, double value, bool spike, bool bad) {
    if (bad) non_finite.push_back(step);
    if (bad || model::IsNoValue(value)) return;  // neither part of a spike nor the end of one
    ++points;
    if (spike && !open) spikes.push_back({step, index, step, value, 0});
    open = spike;
    if (!spike) return;
    Spike& now = spikes.back();
    ++now.points;
    if (value <= now.peak) return;
    now.peak = value;
    now.peak_step = step;
  }
  // What was open is overwritten by the steps that follow.
  void Restart() {
    if (open) spikes.pop_back();
    open = false;
  }
  bool HasLevels() const {
    return std::any_of(spikes.begin(), spikes.end(), [](const Spike& spike) { return spike.IsLevel(); });
  }
  // As many spikes as this are the noise of a run: they are no finding, although each stood out at its step.
  bool AreNoise() const {
    return static_cast<double>(spikes.size()) > std::max(2.0, 0.05 * static_cast<double>(points));
  }
};

struct JudgedCourse {
  Judged loss;
  Judged grad_norm;
};

// A guard that observes, and the judge that it asks, over the whole course.
JudgedCourse JudgeAll(const Course& course) {
  JudgedCourse all;
  Options options;
  options.non_finite = options.spike = Policy::kObserve;
  Guard guard(options);
  detect::StepJudge judge(catalogue::Thresholds{});
  std::int64_t last = 0;
  for (std::size_t i = 0; i < course.size(); ++i) {
    const Step& now = course[i];
    if (now.step < last) {
      guard.NoteRollback(now.step - 1);
      judge.Restart();
      all.loss.Restart();
      all.grad_norm.Restart();
    }
    last = now.step;
    const detect::StepVerdict verdict = judge.Judge(now.loss, now.grad_norm);
    const Decision decision = guard.Judge(now.step, now.loss, now.grad_norm);
    EXPECT_EQ(decision.action, Action::kGo);
    EXPECT_EQ(decision.trigger != Trigger::kNone, verdict.IsNonFinite() || verdict.IsSpike());
    all.loss.Add(i, now.step, now.loss, verdict.loss_spike, verdict.non_finite_loss);
    all.grad_norm.Add(i, now.step, now.grad_norm, verdict.grad_spike, verdict.non_finite_grad);
  }
  return all;
}

// ---- the comparison

const model::Finding* Get(const std::vector<model::Finding>& findings, std::string_view id) {
  const auto at = std::find_if(findings.begin(), findings.end(), [&](const auto& finding) { return finding.id == id; });
  return at == findings.end() ? nullptr : &*at;
}

// Each spike of the judge is one of the finding, with its width and its peak.
void ExpectSame(const model::Finding& finding, const Judged& judged) {
  EXPECT_EQ(finding.MeasureOr("count", 0), static_cast<double>(judged.spikes.size()));
  EXPECT_EQ(finding.first.value(), judged.spikes.front().start);
  EXPECT_EQ(finding.last.value(), judged.spikes.back().start);
  const auto top = std::find_if(judged.spikes.begin(), judged.spikes.end(), [&](const Spike& spike) {
    return static_cast<double>(spike.peak_step) == finding.MeasureOr("peak_step", 0);
  });
  ASSERT_NE(top, judged.spikes.end());
  EXPECT_EQ(static_cast<double>(top->points), finding.MeasureOr("width", 0));
  for (const model::Evidence& evidence : finding.evidence) {
    EXPECT_TRUE(std::any_of(judged.spikes.begin(), judged.spikes.end(), [&](const Spike& spike) {
      return spike.peak_step == evidence.at.value() && spike.peak == evidence.value;
    })) << evidence.at.value();
  }
}

// Where a level shifted, later values decide whether that was a spike. What is one in the end was seen at its first
// step, and what is too narrow for a level is in the finding.
void ExpectSameButLevels(const model::Finding& finding, const Judged& judged) {
  const auto levels =
      std::count_if(judged.spikes.begin(), judged.spikes.end(), [](const Spike& spike) { return spike.IsLevel(); });
  const double count = finding.MeasureOr("count", 0);
  EXPECT_LE(count, static_cast<double>(judged.spikes.size()));
  EXPECT_GE(count, static_cast<double>(judged.spikes.size()) - static_cast<double>(levels));
  const auto is_start = [&](std::int64_t step) {
    return std::any_of(judged.spikes.begin(), judged.spikes.end(),
                       [&](const auto& spike) { return spike.start == step; });
  };
  EXPECT_TRUE(is_start(finding.first.value())) << finding.first.value();
  EXPECT_TRUE(is_start(finding.last.value())) << finding.last.value();
}

// What a look of `watch` at the first step of a spike would have said, whatever came later.
void ExpectSeenAtOnce(const Course& course, const Spike& spike, std::string_view id) {
  const auto findings = detect::Detect(RunOf(course, spike.start_index + 1), catalogue::Thresholds(), false);
  const model::Finding* finding = Get(findings, id);
  if (finding == nullptr) {
    EXPECT_NE(Get(findings, "grad/explosion"), nullptr) << id << " " << spike.start;
  } else {
    EXPECT_EQ(finding->last.value(), spike.start) << id;
  }
}

// Returns how many spikes were compared.
std::size_t CompareSpikes(const Course& course, const std::vector<model::Finding>& findings, const Judged& judged,
                          std::string_view id) {
  const model::Finding* finding = Get(findings, id);
  if (judged.AreNoise()) return 0;
  for (const Spike& spike : judged.spikes) ExpectSeenAtOnce(course, spike, id);
  if (finding == nullptr) {
    // The engine leaves a spike of the gradient out where it found that gradients exploded.
    const bool covered = id == "grad/spike" && Get(findings, "grad/explosion") != nullptr;
    const bool only_levels = std::all_of(judged.spikes.begin(), judged.spikes.end(), std::mem_fn(&Spike::IsLevel));
    EXPECT_TRUE(covered || only_levels) << id << ": " << judged.spikes.size() << " by the judge, none in the findings";
    return 0;
  }
  EXPECT_FALSE(judged.spikes.empty()) << id << " is a finding, and the judge saw nothing";
  if (judged.spikes.empty()) return 0;
  judged.HasLevels() ? ExpectSameButLevels(*finding, judged) : ExpectSame(*finding, judged);
  return judged.spikes.size();
}

void CompareNonFinite(const std::vector<model::Finding>& findings, const Judged& judged, std::string_view id) {
  const model::Finding* finding = Get(findings, id);
  ASSERT_EQ(finding == nullptr, judged.non_finite.empty()) << id;
  if (finding == nullptr) return;
  EXPECT_EQ(finding->first.value(), judged.non_finite.front()) << id;
  EXPECT_EQ(finding->last.value(), judged.non_finite.back()) << id;
  EXPECT_EQ(finding->MeasureOr("count", 0), static_cast<double>(judged.non_finite.size())) << id;
}

// Courses where spikes are so many that the engine takes them for noise (Judged::AreNoise) may differ: the judge does
// not know how many will come. None of these courses is one of them by intent.
TEST(Guard, StandsOutWhereTheSpikeFindingsOfTheEngineAre) {
  std::size_t compared = 0;
  for (const Kind& kind : kKinds) {
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(testing::Message() << kind.name << ", seed " << seed);
      const Course course = CourseMaker(kind, seed).Make();
      const JudgedCourse judged = JudgeAll(course);
      const auto findings = detect::Detect(RunOf(course, course.size()), catalogue::Thresholds());
      compared += CompareSpikes(course, findings, judged.loss, "loss/spike");
      compared += CompareSpikes(course, findings, judged.grad_norm, "grad/spike");
      CompareNonFinite(findings, judged.loss, "loss/non-finite");
      CompareNonFinite(findings, judged.grad_norm, "grad/non-finite");
    }
  }
  EXPECT_GT(compared, 200U) << "courses without spikes compare nothing";
}

TEST(Guard, DoesNotJudgeWhatTheThresholdsTurnOff) {
  const auto thresholds = catalogue::Thresholds::Parse("[\"loss/spike\"]\nenabled = false\n", "vigil.toml");
  ASSERT_TRUE(thresholds) << thresholds.error().Text();
  detect::StepJudge judge(*thresholds);
  for (int step = 0; step < 100; ++step)
    EXPECT_FALSE(judge.Judge(2 + 0.01 * (step % 7), 1 + 0.1 * (step % 5)).IsSpike());
  const detect::StepVerdict verdict = judge.Judge(40, 50);
  EXPECT_FALSE(verdict.loss_spike);
  EXPECT_TRUE(verdict.grad_spike);
}

}  // namespace
}  // namespace vigil::guard
