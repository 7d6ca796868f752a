// Right or wrong: the verdict on a record, held against its label, and counts of it that can be added up.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scale/record.h"
#include "scale/verdict.h"

namespace vigil::scale {

// What is asked of a run.
enum class Asked : std::uint8_t {
  kSilence,      // healthy: no error or fatal finding
  kNoError,      // a fault without measurable harm: it may be reported as a warning
  kEitherWay,    // weak harm: counted, and asked for neither
  kFinding,      // fatal: must be found
  kInterrupted,  // stopped by its user: counted apart
  kNothing,      // left out: not learned, twin not learned, or nothing that was logged shows the fault
};
Asked AskedOf(const Record& record);

// What the first diagnosis says about the cause.
enum class CauseAnswer : std::uint8_t { kNotAsked, kRight, kInPair, kWrong, kUnknown, kNone };

// One run, judged.
struct Score {
  Asked asked = Asked::kNothing;
  bool is_found = false;  // an expected finding at `warning` or above
  bool has_error = false;
  bool has_warning = false;  // and no error
  CauseAnswer cause = CauseAnswer::kNotAsked;
  std::string cause_name = {};           // named first, or empty
  double confidence = 0;                 // of that cause
  std::int64_t steps = 0;                // logged points
  std::optional<std::int64_t> delay;     // first step of an expected finding after the onset
  std::vector<std::string> errors = {};  // ids at error or above
};
Score ScoreOf(const Record& record, const Verdict& verdict);

// Counts over any number of scores; two of them can be added.
struct Tally {
  int runs = 0;      // that anything is asked of
  int left_out = 0;  // Asked::kNothing
  int interrupted = 0;
  int interrupted_found = 0;
  int fatal = 0;
  int found = 0;
  int fatal_with_error = 0;  // at error or above, expected or not
  int causes = 0;            // fatal, with a labelled cause
  int cause_right = 0;
  int cause_in_pair = 0;  // another one or "unknown" first, the right one named as its rival
  int cause_wrong = 0;
  int cause_unknown = 0;
  int cause_none = 0;  // no diagnosis at all
  int weak = 0;
  int weak_found = 0;
  int healthy = 0;
  int healthy_errors = 0;
  int healthy_warned = 0;
  std::int64_t healthy_steps = 0;
  int harmless = 0;
  int harmless_errors = 0;
  int harmless_found = 0;
  std::vector<std::int64_t> delays;  // of fatal runs
  std::map<std::string, int> healthy_error_ids;

  void Add(const Score& score);
  void Add(const Tally& other);
};

// Of the sorted values, the one below which `share` of them are; nullopt when there is none.
std::optional<std::int64_t> QuantileOf(std::vector<std::int64_t> values, double share);

// ---- confidence against truth

// How often causes that were named with a confidence are right, in ten bins of it. Runs with a labelled cause, fatal or
// weak, whose first diagnosis names a cause.
struct Calibration {
  struct Bin {
    int cases = 0;
    int right = 0;
    double confidence_sum = 0;
  };
  std::array<Bin, 10> bins = {};

  void Add(const Score& score);
  void Add(const Calibration& other);
  int cases() const;
  // Mean over all cases of |stated - right share of the bin|; nullopt without cases.
  std::optional<double> ExpectedError() const;
};
// Fewer cases than this do not say anything about a share.
inline constexpr int kFewCases = 30;

}  // namespace vigil::scale
