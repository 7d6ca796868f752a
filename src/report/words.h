// Words and small texts that every report uses. Sentences of findings and diagnoses are in texts.h, the verdict in
// verdict.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/finding.h"

namespace vigil::report {

// The id of a diagnosis whose evidence does not decide.
inline constexpr std::string_view kUndecided = "unknown";

// Text from a file as one line of at most 2,000 bytes: no control characters, line breaks and tabs as blanks, valid
// UTF-8.
std::string OneLine(std::string_view text);

// "learning rate too high"; "cause unknown" when the evidence does not decide; the id when no row has it.
std::string CauseTitle(std::string_view cause);
std::string Percent(double share);
// "1 file", "12 files": a noun whose plural has an s.
std::string CountOf(std::uint64_t count, std::string_view noun);
// "layer=12 rank=0", empty without labels.
std::string LabelText(const model::Labels& labels);

// As JSON has them: "read", "partial", "duplicate"; "checked", "partly", "blind".
std::string_view Name(model::SourceState state);
std::string_view Name(model::CoverageState state);
// For people: "checked", "partly", "not checked".
std::string_view Word(model::CoverageState state);

}  // namespace vigil::report
