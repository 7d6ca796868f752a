// The accuracy tables as Markdown.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accuracy/judge.h"

namespace vigil::accuracy {

// Headline, per fault, per trainer and per format over the runs kept for scoring; the runs that thresholds were chosen
// on apart; every wrong answer.
std::string FixtureTables(const std::vector<Outcome>& outcomes);
// Headline, per fault and strength, and every wrong answer over runs of `vigil gym`.
std::string GymTables(const std::vector<Outcome>& outcomes);
// Per kind and label over other people's files, and every disagreement with our reading of it.
std::string CorpusTables(const std::vector<Outcome>& outcomes, const std::map<std::string, std::string>& readings);

// The page with the part between `<!-- begin NAME -->` and `<!-- end NAME -->` replaced; the page itself when it has
// no such part.
std::string ReplacePart(const std::string& page, const std::string& name, const std::string& content);
// That part, empty when there is none.
std::string PartOf(const std::string& page, const std::string& name);
// The page before anything was measured.
std::string EmptyPage();

}  // namespace vigil::accuracy
