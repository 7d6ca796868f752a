// The accuracy tables as Markdown.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accuracy/judge.h"

namespace vigil::accuracy {

// Headline, per fault, per trainer and per format over the runs kept for scoring; apart from them the runs that were
// never tuned on and those that thresholds were chosen on; every wrong answer.
std::string FixtureTables(const std::vector<Outcome>& outcomes);
// Runs of real trainers, each framework judged by a model that was fitted to none of its runs.
std::string HeldOutFrameworkTables(const std::vector<Outcome>& outcomes);
// The same over runs that were given to learn from.
std::string MadeTables(const std::vector<Outcome>& outcomes);
// Headline, per fault and strength, and every wrong answer over runs of `vigil gym`.
std::string GymTables(const std::vector<Outcome>& outcomes);
// Per kind and label over other people's files, and every disagreement with our reading of it.
std::string CorpusTables(const std::vector<Outcome>& outcomes, const std::map<std::string, std::string>& readings);

}  // namespace vigil::accuracy
