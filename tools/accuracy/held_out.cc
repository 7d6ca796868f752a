#include "accuracy/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "scale/read_set.h"

namespace vigil::accuracy {
namespace {

// As near to the optimum as a score can show, in half of the time.
fit::LearnOptions LearnQuickly() {
  fit::LearnOptions options;
  options.fit.rounds = 70;
  return options;
}

// A run of a list, by the number of its list and of its case.
using Listed = std::pair<std::size_t, std::size_t>;

std::map<std::string, std::vector<Listed>> ByFramework(const std::vector<ListedRuns>& lists) {
  std::map<std::string, std::vector<Listed>> frameworks;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    for (std::size_t i = 0; i < lists[list].cases.size(); ++i)
      frameworks[lists[list].cases[i].group].emplace_back(list, i);
  }
  return frameworks;
}

// One fit for each framework would take an hour for nothing: without eight others more is held out, never less.
constexpr std::size_t kFrameworkParts = 12;

// The frameworks in parts of about as many each, none in two.
std::vector<std::vector<std::string>> PartsOf(const std::map<std::string, std::vector<Listed>>& frameworks,
                                              std::size_t count) {
  std::vector<std::vector<std::string>> parts(std::min(count, frameworks.size()));
  std::size_t at = 0;
  for (const auto& [framework, listed] : frameworks) parts[at++ % parts.size()].push_back(framework);
  return parts;
}

std::vector<Listed> ListedOf(const std::vector<std::string>& part, const std::vector<ListedRuns>& lists) {
  std::vector<Listed> listed;
  for (auto& [framework, runs] : ByFramework(lists)) {
    if (std::find(part.begin(), part.end(), framework) != part.end())
      listed.insert(listed.end(), runs.begin(), runs.end());
  }
  return listed;
}

std::vector<Outcome> JudgeListed(const std::vector<Listed>& listed, const std::vector<ListedRuns>& lists,
                                 const diagnose::FittedModel& model) {
  std::vector<Outcome> judged(listed.size());
  scale::ForEachInParallel(listed.size(), 0, [&](std::size_t i) {
    const ListedRuns& list = lists[listed[i].first];
    const Case& labelled = list.cases[listed[i].second];
    judged[i] = Judge(labelled, Examine(list.folder + "/" + labelled.path, model));
  });
  return judged;
}

}  // namespace

scale::Fitter FitWithout(std::shared_ptr<const fit::Lessons> lessons) {
  return [lessons = std::move(lessons)](const std::vector<scale::Record>& records,
                                        const std::vector<std::size_t>& fitted_on) -> scale::Examiner {
    std::vector<bool> is_fitted_on(records.size(), false);
    for (const std::size_t place : fitted_on) is_fitted_on[place] = true;
    std::vector<bool> take;
    take.reserve(lessons->runs.size());
    for (const fit::Lessons::Origin& run : lessons->runs)
      take.push_back(run.record == fit::Lessons::kNoRecord || is_fitted_on[run.record]);
    auto model = std::make_shared<const diagnose::FittedModel>(fit::Learn(*lessons, take, LearnQuickly()).model);
    fmt::print(stderr, "held out: fitted to {} of {} runs\n", fitted_on.size(), records.size());
    return [model = std::move(model), thresholds = catalogue::Thresholds()](const scale::Record& record) {
      return scale::Examine(record, thresholds, *model);
    };
  };
}

std::vector<Outcome> JudgeEachFrameworkHeldOut(const fit::Lessons& lessons, const std::vector<ListedRuns>& lists) {
  std::vector<Outcome> outcomes;
  for (const std::vector<std::string>& part : PartsOf(ByFramework(lists), kFrameworkParts)) {
    std::vector<bool> take;
    take.reserve(lessons.runs.size());
    for (const fit::Lessons::Origin& run : lessons.runs)
      take.push_back(std::find(part.begin(), part.end(), run.framework) == part.end());
    const diagnose::FittedModel model = fit::Learn(lessons, take, LearnQuickly()).model;
    std::vector<Outcome> judged = JudgeListed(ListedOf(part, lists), lists, model);
    fmt::print(stderr, "held out: {} ({} runs)\n", Join(part, ", "), judged.size());
    std::move(judged.begin(), judged.end(), std::back_inserter(outcomes));
  }
  return outcomes;
}

}  // namespace vigil::accuracy
