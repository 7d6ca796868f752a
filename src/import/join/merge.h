// Putting the parts of one run together. Indices of sources are kept right throughout.
#pragma once

#include <cstdint>
#include <limits>

#include "import/join/compare.h"
#include "model/model.h"

namespace vigil::import {

// How many digits a format keeps: state files hold whole doubles, event files floats, logs what was printed.
int PrecisionOf(std::string_view format);

// `from` goes on where `into` ends, or overwrites its end: points above step `after` are appended behind those of
// `into`, as new segments where steps go back.
void AppendRun(model::Run& into, model::Run from, std::int64_t after = std::numeric_limits<std::int64_t>::min());

// Both tell the same training. A series that both have is kept once: with the restarts of the one that saw them, the
// digits of the more precise one, and the points of both. True when `from` added anything; its sources are marked as
// duplicates when not.
bool MergeRun(model::Run& into, model::Run from);

// Whether the run has a series of that signal and labels with the same values.
bool HoldsAlready(const model::Run& run, const model::Series& series);

// Gives the points of a part that counts rows the steps of those rows.
void PlaceRows(model::Run& part, const RowMatch& match);

}  // namespace vigil::import
