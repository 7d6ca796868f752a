// Places that are written as letters and digits in one word: "E0 B20", "ep1 it100", "Epoch15".
#pragma once

#include <string_view>

#include "textlog/metric_line.h"

namespace vigil::textlog {

// Words of letters and then digits in front of the first number that has a name. "E1114 10:00:00" is how a logger says
// that it logs an error, and on what day. Letters that only may count make the line a guess.
void TakePlaceInLetters(std::string_view text, MetricLine& line);

}  // namespace vigil::textlog
