// Measures of the learning rate: its height against what its optimizer is used with, and the shape of its schedule
// against what was declared.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "base/base.h"
#include "diagnose/facts.h"
#include "diagnose/measures.h"
#include "diagnose/places.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-20;

// The logged rate as shares of its peak; empty where it was not logged or never above 0.
std::vector<double> Shares(const RunDigest& run) {
  const Digest* rate = run.Of("lr");
  if (rate == nullptr || rate->empty()) return {};
  const double peak = *std::max_element(rate->values.begin(), rate->values.end());
  if (!(peak > 0)) return {};
  std::vector<double> shares = rate->values;
  for (double& share : shares) share /= peak;
  return shares;
}

std::optional<double> ShareBelow(const RunDigest& run, double limit) {
  const std::vector<double> shares = Shares(run);
  if (shares.empty()) return std::nullopt;
  const auto low = std::count_if(shares.begin(), shares.end(), [&](double share) { return share < limit; });
  return static_cast<double>(low) / static_cast<double>(shares.size());
}

std::optional<double> ZeroShare(const RunDigest& run) {
  const Digest* rate = run.Of("lr");
  if (rate == nullptr || rate->empty()) return std::nullopt;
  const auto zeros = std::count(rate->values.begin(), rate->values.end(), 0.0);
  return static_cast<double>(zeros) / static_cast<double>(rate->size());
}

std::optional<double> LowShare(const RunDigest& run) { return ShareBelow(run, 0.01); }

std::optional<double> First(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  return shares.empty() ? std::nullopt : std::optional(shares.front());
}
std::optional<double> Last(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  return shares.empty() ? std::nullopt : std::optional(shares.back());
}
std::optional<double> Middle(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  return shares.empty() ? std::nullopt : std::optional(shares[shares.size() / 2]);
}

// The largest step up behind the first fifth, where a warm-up has ended.
std::optional<double> StepUp(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 5) return std::nullopt;
  double largest = 0;
  for (std::size_t i = std::max<std::size_t>(1, shares.size() / 5) + 1; i < shares.size(); ++i)
    largest = std::max(largest, shares[i] - shares[i - 1]);
  return largest;
}

std::optional<double> StepDown(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 5) return std::nullopt;
  double largest = 0;
  for (std::size_t i = 1; i < shares.size(); ++i) largest = std::max(largest, shares[i - 1] - shares[i]);
  return largest;
}

// How often it turns from rising to falling or back.
std::optional<double> Turns(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 5) return std::nullopt;
  int turns = 0;
  double direction = 0;
  for (std::size_t i = 1; i < shares.size(); ++i) {
    const double step = shares[i] - shares[i - 1];
    if (std::abs(step) < 1e-6) continue;
    if (direction * step < 0) ++turns;
    direction = step;
  }
  return turns;
}

// The largest factor between neighbours behind the first eighth.
std::optional<double> Leap(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 5) return std::nullopt;
  double largest = 1;
  for (std::size_t i = std::max<std::size_t>(1, shares.size() / 8) + 1; i < shares.size(); ++i)
    largest = std::max(largest, std::max(shares[i], kTiny) / std::max(shares[i - 1], kTiny));
  return largest;
}

std::optional<double> OverSetting(const RunDigest& run) {
  const auto stated = run.Setting("lr");
  const Digest* rate = run.Of("lr");
  if (!stated || !(*stated > 0) || rate == nullptr || rate->empty()) return std::nullopt;
  return *std::max_element(rate->values.begin(), rate->values.end()) / *stated;
}

// ---- against what was declared

bool Declares(const RunDigest& run, std::initializer_list<std::string_view> words) {
  const model::Fact* fact = FindSetting(run.run(), "lr_schedule");
  if (fact == nullptr) return false;
  const std::string text = ToLower(fact->value);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

double Wander(const std::vector<double>& shares, double from) {
  const auto begin = static_cast<std::size_t>(from * static_cast<double>(shares.size()));
  const auto [low, high] = std::minmax_element(shares.begin() + static_cast<std::ptrdiff_t>(begin), shares.end());
  return *high - *low;
}

// How much of its peak a rate moves by that is declared constant.
std::optional<double> ConstantMoves(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 8 || !Declares(run, {"constant"})) return std::nullopt;
  return Wander(shares, 0.2);
}

// The same for one that is declared to fall.
std::optional<double> DecayMoves(const RunDigest& run) {
  const std::vector<double> shares = Shares(run);
  if (shares.size() < 8 || !Declares(run, {"cosine", "linear", "exponential", "polynomial", "step"}))
    return std::nullopt;
  return Wander(shares, 0.25);
}

// Where a cosine or a line that ends with the run is at half of it.
std::optional<double> DecayMiddle(const RunDigest& run) {
  if (!Declares(run, {"cosine", "linear"}) || Declares(run, {"restart", "cyclic"})) return std::nullopt;
  return Middle(run);
}

// ---- its height

// The highest rates that an optimizer is commonly used with; 0 for one that is not known here.
double HighestUsual(std::string_view optimizer) {
  struct Use {
    std::string_view word;
    double highest;
  };
  // More special names first: "adagrad" holds no "adam", but "lion8bit" and "adamw8bit" hold digits of others.
  constexpr std::array kUses = {Use{"adagrad", 3e-2}, Use{"adafactor", 1e-2}, Use{"adam", 3e-3}, Use{"lion", 5e-4},
                                Use{"rmsprop", 3e-3}, Use{"sgd", 0.3},        Use{"muon", 5e-2}};
  const std::string text = ToLower(optimizer);
  for (const Use& use : kUses) {
    if (text.find(use.word) != std::string::npos) return use.highest;
  }
  return 0;
}

std::optional<double> OverUse(const RunDigest& run) {
  const auto peak = run.PeakRate();
  if (!peak) return std::nullopt;
  const model::Fact* stated = FindSetting(run.run(), "optimizer");
  double highest = stated == nullptr ? 0 : HighestUsual(stated->value);
  if (stated == nullptr && UsesAdam(run.run())) highest = HighestUsual("adam");
  return highest > 0 ? std::optional(*peak / highest) : std::nullopt;
}

// An optimizer that divides by the size of the gradient moves each weight by about the rate in a step.
bool MovesByRate(const RunView& run) {
  const model::Fact* stated = FindSetting(run, "optimizer");
  if (stated == nullptr) return UsesAdam(run);
  const std::string text = ToLower(stated->value);
  return text.find("adam") != std::string::npos || text.find("lion") != std::string::npos ||
         text.find("rmsprop") != std::string::npos;
}

// How far a weight can have moved in the whole run: the sum of the rates of its steps.
std::optional<double> Reach(const RunDigest& run) {
  if (!MovesByRate(run.run())) return std::nullopt;
  const double steps = EndOf(run.run(), model::Axis::kStep).length();
  const Digest* rate = run.Of("lr");
  if (!(steps > 0)) return std::nullopt;
  if (rate == nullptr || rate->empty()) {
    const auto stated = run.Setting("lr");
    return stated ? std::optional(*stated * steps) : std::nullopt;
  }
  const double sum = std::accumulate(rate->values.begin(), rate->values.end(), 0.0);
  return sum / static_cast<double>(rate->size()) * steps;
}

// Where nothing says which optimizer it is.
std::optional<double> Peak(const RunDigest& run) { return OverUse(run) ? std::nullopt : run.PeakRate(); }

constexpr std::array kMeasures = {
    NamedMeasure{"rate-zero-share", ZeroShare},
    NamedMeasure{"rate-low-share", LowShare},
    NamedMeasure{"rate-first", First},
    NamedMeasure{"rate-last", Last},
    NamedMeasure{"rate-middle", Middle},
    NamedMeasure{"rate-step-up", StepUp},
    NamedMeasure{"rate-step-down", StepDown},
    NamedMeasure{"rate-turns", Turns},
    NamedMeasure{"rate-leap", Leap},
    NamedMeasure{"rate-over-setting", OverSetting},
    NamedMeasure{"rate-constant-moves", ConstantMoves},
    NamedMeasure{"rate-decay-moves", DecayMoves},
    NamedMeasure{"rate-decay-middle", DecayMiddle},
    NamedMeasure{"rate-over-use", OverUse},
    NamedMeasure{"rate-peak", Peak},
    NamedMeasure{"rate-reach", Reach},
};

}  // namespace

std::span<const NamedMeasure> RateMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
