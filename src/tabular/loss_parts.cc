#include "tabular/loss_parts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
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

// "LOSS TAGGER" and "losses/tagger": the component behind the word.
bool IsOfComponent(std::string_view raw) {
  constexpr std::string_view kWord = "loss";
  const PartName part = Take(raw);
  if (EqualsIgnoringCase(part.group, "losses")) return !part.name.empty();
  return part.group.empty() && part.name.size() > kWord.size() + 1 && part.name[kWord.size()] == ' ' &&
         StartsWithIgnoringCase(part.name, kWord);
}

bool IsPart(const model::Series& series) {
  const PartName part = Take(series.raw);
  const bool is_named = part.name.size() > kEnding.size() && part.name.ends_with(kEnding);
  return (is_named || IsOfComponent(series.raw)) && series.signal == series.raw && !IsOfAdversary(part.name) &&
         series.labels.empty() && !series.empty();
}

std::vector<const model::Series*> SeriesOf(const model::Run& run, const std::vector<std::size_t>& parts) {
  std::vector<const model::Series*> series;
  series.reserve(parts.size());
  for (const std::size_t part : parts) series.push_back(&run.series[part]);
  return series;
}

// Null when the parts were not logged together, or are no errors.
std::optional<model::Series> SumOf(const model::Run& run, const std::vector<std::size_t>& parts) {
  constexpr double kNearlyAll = 0.9;
  const std::vector<const model::Series*> series = SeriesOf(run, parts);
  model::Series sum;
  sum.TakeHeaderOf(*series.front());
  std::size_t longest = 0;
  for (const model::Series* part : series) {
    if (part->axis != sum.axis) return std::nullopt;
    sum.sum_of.push_back(part->raw);
    if (part != series.front()) sum.raw += "+" + std::string(Take(part->raw).name);
    longest = std::max(longest, part->size());
  }
  if (!PartSum().Extend(series, sum)) return std::nullopt;
  return static_cast<double>(sum.size()) >= kNearlyAll * static_cast<double>(longest) ? std::optional(std::move(sum))
                                                                                      : std::nullopt;
}

}  // namespace

bool IsOfAdversary(std::string_view name) {
  constexpr std::array<std::string_view, 8> kWords = {"d_", "g_", "disc", "gen", "adv", "critic", "actor", "policy"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return name.starts_with(word); });
}

// Restarts are counted, so that a step that was made twice is added to the same start of the other parts.
bool PartSum::Extend(const std::vector<const model::Series*>& parts, model::Series& sum) {
  cursors_.resize(parts.size());
  const auto place = [&](std::size_t part) {
    Cursor& cursor = cursors_[part];
    const std::vector<std::uint32_t>& starts = parts[part]->segment_starts;
    while (cursor.segment + 1 < starts.size() && starts[cursor.segment + 1] <= cursor.point) ++cursor.segment;
    return std::pair(cursor.segment, parts[part]->steps[cursor.point]);
  };
  for (;;) {
    double value = 0;
    auto latest = std::pair(std::size_t{0}, std::numeric_limits<std::int64_t>::min());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (cursors_[part].point == parts[part]->size()) return true;
      latest = std::max(latest, place(part));
      const double one = parts[part]->values[cursors_[part].point];
      if (one < 0) return false;
      value += one;
    }
    bool all = true;
    for (std::size_t part = 0; part < parts.size(); ++part) all = all && place(part) == latest;
    const std::size_t at = cursors_.front().point;
    const model::Series& first = *parts.front();
    if (all) {
      sum.Append(latest.second, value, first.times.empty() ? model::kNoValue : first.times[at],
                 first.lines.empty() ? 0 : first.lines[at]);
    }
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (all || place(part) < latest) ++cursors_[part].point;
    }
  }
}

void SumLossParts(model::Run& run) {
  if (run.Find("reward") != nullptr) return;
  std::map<std::string_view, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    if (IsPart(run.series[i])) groups[Take(run.series[i].raw).group].push_back(i);
  }
  std::vector<model::Series> sums;
  for (const auto& [group, parts] : groups) {
    // The only component that is trained is the whole.
    const bool is_whole = parts.size() == 1 && IsOfComponent(run.series[parts.front()].raw);
    if (parts.size() < 2 && !is_whole) continue;
    // What the vocabulary makes of a loss in that place: "train/loss", "val/loss".
    const auto meaning = catalogue::Interpret(group.empty() ? "loss" : std::string(group) + "/loss");
    if (!meaning || (meaning->signal != "loss" && meaning->signal != "eval_loss")) continue;
    const auto is_there = [&](const model::Series& series) { return series.signal == meaning->signal; };
    if (run.Find(meaning->signal) != nullptr || std::any_of(sums.begin(), sums.end(), is_there)) continue;
    if (is_whole) {
      run.series[parts.front()].signal = std::string(meaning->signal);
      continue;
    }
    std::optional<model::Series> sum = SumOf(run, parts);
    if (!sum) continue;
    sum->signal = std::string(meaning->signal);
    sum->unit = std::string(meaning->unit);
    sums.push_back(std::move(*sum));
  }
  for (model::Series& sum : sums) run.series.push_back(std::move(sum));
}

}  // namespace vigil::tabular
