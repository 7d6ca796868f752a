#include "tabular/loss_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::tabular {
namespace {

constexpr std::string_view kEnding = "_loss";

struct PartName {
  std::string_view group;  // "train" of "train/box_loss"
  std::string_view name;
};

PartName Take(std::string_view raw) {
  const std::size_t slash = raw.rfind('/');
  if (slash == std::string_view::npos) return {{}, raw};
  return {raw.substr(0, slash), raw.substr(slash + 1)};
}

bool IsPart(const model::Series& series) {
  const PartName part = Take(series.raw);
  return part.name.size() > kEnding.size() && part.name.ends_with(kEnding) && series.signal == series.raw &&
         !IsOfAdversary(part.name) && series.labels.empty() && !series.empty();
}

// Values below zero are of objectives that are no sum of errors.
bool HasNegative(const model::Series& series) {
  return std::any_of(series.values.begin(), series.values.end(), [](double value) { return value < 0; });
}

model::Series SumOf(const model::Run& run, const std::vector<std::size_t>& parts) {
  model::Series sum = run.series[parts.front()];
  for (const std::size_t part : parts) sum.sum_of.push_back(run.series[part].raw);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const model::Series& part = run.series[parts[i]];
    sum.raw += "+";
    sum.raw += Take(part.raw).name;
    for (std::size_t point = 0; point < sum.size(); ++point) sum.values[point] += part.values[point];
  }
  return sum;
}

// Whether the parts were written together.
bool StandTogether(const model::Run& run, const std::vector<std::size_t>& parts) {
  const model::Series& first = run.series[parts.front()];
  return std::all_of(parts.begin(), parts.end(), [&](std::size_t part) {
    return run.series[part].steps == first.steps && !HasNegative(run.series[part]);
  });
}

}  // namespace

bool IsOfAdversary(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords = {"d_", "g_", "disc", "gen", "adv", "critic", "actor", "policy"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return name.starts_with(word); });
}

void SumLossParts(model::Run& run) {
  if (run.Find("reward") != nullptr) return;
  std::map<std::string_view, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    if (IsPart(run.series[i])) groups[Take(run.series[i].raw).group].push_back(i);
  }
  std::vector<model::Series> sums;
  for (const auto& [group, parts] : groups) {
    if (parts.size() < 2 || !StandTogether(run, parts)) continue;
    // What the vocabulary makes of a loss in that place: "train/loss", "val/loss".
    const auto meaning = catalogue::Interpret(group.empty() ? "loss" : std::string(group) + "/loss");
    if (!meaning || (meaning->signal != "loss" && meaning->signal != "eval_loss")) continue;
    const auto is_there = [&](const model::Series& series) { return series.signal == meaning->signal; };
    if (run.Find(meaning->signal) != nullptr || std::any_of(sums.begin(), sums.end(), is_there)) continue;
    model::Series& sum = sums.emplace_back(SumOf(run, parts));
    sum.signal = std::string(meaning->signal);
    sum.unit = std::string(meaning->unit);
  }
  for (model::Series& sum : sums) run.series.push_back(std::move(sum));
}

}  // namespace vigil::tabular
