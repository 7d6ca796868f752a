// Labelled runs: what is known to have happened, and what a right answer would be.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"

namespace vigil::accuracy {

// What a label asks for. Any one of `ids` at `warning` or above makes the answer right; "log/*" stands for a family.
struct Expectation {
  enum class Kind : std::uint8_t { kFinding, kHealthy, kReadable };
  Kind kind = Kind::kReadable;
  std::vector<std::string> ids;
  std::vector<std::int32_t> ranks;  // exactly these, when given
};
// "none", "-", or ids separated by commas or spaces, with an optional ";ranks=9,14".
Expectation ParseExpectation(std::string_view text);

// The split of fixtures that nobody looked at while rows, thresholds and readers were written.
inline constexpr std::string_view kNeverTunedOn = "unseen";

struct Case {
  std::string path;    // as the list spells it
  std::string group;   // trainer of a fixture, kind of a corpus file
  std::string label;   // the fault
  std::string split;   // fixtures: tune, score, or kNeverTunedOn
  std::string wanted;  // the expectation as the list spells it
  Expectation expectation;
  std::vector<std::string> causes;  // acceptable causes, empty when none is labelled
  std::int64_t onset_step = -1;
  std::string confidence;  // corpus: how sure the label is
};

// A table of tab-separated values with a header line. Columns are found by name; an unknown or missing column is an
// error that names the file.
Result<std::vector<Case>> ParseFixtureLabels(std::string_view tsv, std::string_view origin);
Result<std::vector<Case>> ParseCorpusManifest(std::string_view tsv, std::string_view origin);
// The same with a cause and an onset: runs that were made with a known fault.
Result<std::vector<Case>> ParseMadeManifest(std::string_view tsv, std::string_view origin);
// path to our reading of a disagreement.
Result<std::map<std::string, std::string>> ParseReadings(std::string_view tsv, std::string_view origin);

}  // namespace vigil::accuracy
