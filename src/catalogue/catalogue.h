// catalogue: what vigil knows, as rows. Signals, findings, causes, evidence, remedies, config rules and log signatures
// are written in rows/*.toml, turned into constant tables at build time, and tied to code by name. Settings hold what
// a user changed of them. `vigil explain`, the documentation pages and the JSON come from these rows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "model/finding.h"
#include "model/run.h"
#include "model/statement.h"

namespace vigil::catalogue {

using Words = std::span<const std::string_view>;

// Which way a signal improves.
enum class Better : std::uint8_t { kNeither, kLower, kHigher };

// A name under which a signal is logged in another unit, and the factor to the signal's own.
struct ScaledName {
  std::string_view name;
  double factor;
};

// A canonical signal, and the names that frameworks give it. An alias may hold one `*`, which becomes the label named
// by `label`: "rewards/*/mean" with label "reward". Aliases are matched after the case and separators are folded.
struct SignalRow {
  std::string_view id;
  std::string_view title;
  std::string_view unit;
  Better better;
  std::string_view label;
  Words aliases;
  std::span<const ScaledName> scaled;
  Words stems;  // what the name says without split, place, average, interval and unit (see NameParts)
  Words weak;   // stems that mean it only in a run where no other name does: "cost", "eta"
};

// Words that names of metrics are made of, beside the stem. `kind`: split, place, quantity, average, interval, unit.
struct NamePartRow {
  std::string_view id;
  std::string_view kind;
  Words words;
  std::string_view quantity;  // of a unit: what it measures
  double factor;              // of a unit: to the one that signals of that quantity have
};

// A canonical setting of a run ("lr", "max_grad_norm") and its names in configs.
struct FactRow {
  std::string_view id;
  std::string_view title;
  Words aliases;
};

struct ThresholdRow {
  std::string_view name;
  double value;
  std::string_view meaning;
  std::string_view origin;
};

struct FindingRow {
  std::string_view id;
  std::string_view title;
  model::Family family;
  model::Severity severity;
  std::string_view fires_when;
  std::string_view why;       // what it means for the person who trains
  std::string_view detector;  // name of the code, empty when it comes from a rule, a signature or another source
  Words signals;              // what the detector watches; the first is what it judges
  Words also;                 // judged in the same way, alone, where the first gives no finding
  Words covered_by;           // findings beside which, where both overlap, this one says nothing new
  std::span<const ThresholdRow> thresholds;
  std::string_view needs;  // what would open it, where neither metrics, logs nor settings show it; else empty
};

// In FindingRow::also: every series that is called a loss and that no signal stands for.
inline constexpr std::string_view kOtherLosses = "*loss";

// A test that code can answer about a run and an incident.
struct EvidenceRow {
  std::string_view id;
  std::string_view test;   // name of the code
  std::string_view says;   // the statement, when it holds
  std::string_view needs;  // what must be logged for it to be answered
  Words from;              // the signals (at every step) and facts that this is; empty where no list says it
};

// A number that says how a run went, and the limits between the levels it is judged in. Code in diagnose takes it under
// the same name.
struct MeasureRow {
  std::string_view id;
  std::span<const double> levels;  // rising; a value is in level i when i of them are at or below it
  std::string_view needs;          // what must be logged or known for it
  Words from;                      // the signals and facts that this is
  bool quiet;                      // moves the odds, and is no reason to give to a reader
};

// What each level of a measure (or yes and no of an evidence test, or a finding that is there) adds to a cause, in
// natural-log odds.
struct LevelWeights {
  std::string_view feature;
  std::span<const double> weights;
};

// As it was fitted to runs with known faults: the log odds of a cause against the other causes, or, under kAnyCause,
// of any trouble against none.
struct FittedRow {
  std::string_view id;  // of the cause
  double prior;
  std::span<const LevelWeights> weights;
};

inline constexpr std::string_view kAnyCause = "any";

// How much a piece of evidence moves a cause, in natural-log odds.
struct EvidenceWeight {
  std::string_view evidence;
  double if_true;
  double if_false;
};

struct CauseRow {
  std::string_view id;
  std::string_view title;
  model::Family family;
  std::string_view explanation;
  double prior;    // log odds before any evidence, among the causes of a finding it explains
  Words explains;  // finding ids
  std::span<const EvidenceWeight> evidence;
  std::string_view next;  // what to run or log to be sure
  Words remedies;         // fast to invasive
  // Evidence of which one must say yes before a curve can speak for the cause. Without it the files show nothing that
  // the cause could be made of, and other causes explain the same curve.
  Words shown_by;
};

// What distinguishes two causes, for a pair that is often mistaken for each other.
struct PairRow {
  std::string_view id;  // both ids, sorted, with a "+" between them
  Words causes;         // two
  std::string_view tell_apart;
};

// The setting that makes a metric appear, in the words of one framework ("*" for any).
struct EnablerRow {
  std::string_view id;  // "<metric>/<framework>"
  std::string_view metric;
  std::string_view framework;
  std::string_view phrase;  // id of a template without places
};

// A known error message. `role`: root (may be the first cause), cascade (set off by another rank's failure), teardown.
struct SignatureRow {
  std::string_view id;  // "log/<signature>"
  std::string_view title;
  model::Family family;
  model::Severity severity;
  Words patterns;  // RE2 syntax; any one matches
  std::string_view role;
  std::string_view cause;
  std::string_view finding;  // an additional finding id it stands for ("memory/oom"), or empty
  std::string_view explanation;
  std::string_view fix;
  double certainty;       // how often the message means that cause, 0..1, with nothing else known
  std::string_view link;  // documentation of the error, or empty
};

// A sentence with places to fill, "{name:type}". Code makes statements of it through catalogue/says.h.
struct TemplateRow {
  std::string_view id;  // "<row>.<name>", or the id of a phrase
  std::string_view text;
};
std::span<const TemplateRow> Templates();
// The text of a statement's template, or of the row that it names (see TextOf); empty when there is none.
std::string_view FindTemplate(std::string_view statement_id);
// A statement that is the text of a row: kind cause, evidence, measure, finding, next, pair, signature or remedy; a
// text field of it.
model::Statement TextOf(std::string_view kind, std::string_view id, std::string_view field);

std::span<const SignalRow> Signals();
std::span<const NamePartRow> NameParts();
std::span<const FactRow> Facts();
std::span<const FindingRow> Findings();
std::span<const EvidenceRow> EvidenceTests();
std::span<const MeasureRow> Measures();
std::span<const FittedRow> Fitted();
std::span<const CauseRow> Causes();
std::span<const PairRow> Pairs();
std::span<const EnablerRow> Enablers();
std::span<const SignatureRow> Signatures();

const FindingRow* FindFinding(std::string_view id);
const CauseRow* FindCause(std::string_view id);
// In either order; null when nothing is written for the two.
const PairRow* FindPair(std::string_view a, std::string_view b);
const EvidenceRow* FindEvidence(std::string_view id);
const SignatureRow* FindSignature(std::string_view id);
// The known message that a finding was read from; null when it was not.
const SignatureRow* SignatureOf(const model::Finding& finding);
const SignalRow* FindSignal(std::string_view id);

// Every id that `vigil explain` knows, in the order of the tables.
std::vector<std::string> AllIds();

// What a source's name means: the canonical signal, the labels taken from the name, the factor to its unit; nothing
// when it is unknown.
struct Meaning {
  std::string_view signal;
  std::string_view unit;
  model::Labels labels;
  double scale = 1;       // values under this name times this are in `unit`
  bool weak = false;      // another name of the run that means the same is surer
  bool has_unit = false;  // the name states the unit of its values
};
std::optional<Meaning> Interpret(std::string_view raw_name);

// A name of a metric taken apart: "val/avg_loss_epoch" is the split eval, the stem loss, an average over an epoch.
struct SplitName {
  bool is_eval = false;
  bool is_train = false;
  std::string quantity;    // "time", "memory", "share", or empty
  double unit_factor = 0;  // to the unit of the quantity; 0 where the name states none
  // What may be the stem, from all words that are left to the fewest, each word apart from the next by '_'.
  std::vector<std::string> stems;
};
SplitName TakeApart(std::string_view raw_name);
// The canonical key of a config setting, empty when unknown.
std::string_view InterpretFact(std::string_view raw_key);

// Thresholds and severities in force: the rows, and on top of them what a user's file changed.
class Thresholds {
 public:
  Thresholds() = default;
  // Reads a file of overrides (TOML):   ["loss/spike"]  z = 9.0   severity = "info"   enabled = false
  // An unknown id or threshold is an error that offers the nearest names. `origin` names the file in messages.
  static Result<Thresholds> Parse(std::string_view toml, std::string_view origin);

  // The threshold `name` of finding `id`. Both must exist in the rows.
  double Threshold(std::string_view id, std::string_view name) const;
  model::Severity SeverityOf(std::string_view id, model::Severity otherwise) const;
  bool Enabled(std::string_view id) const;

 private:
  // A value of the file: what it is, read as each type it may have.
  struct Value {
    std::optional<std::string> text;
    std::optional<bool> truth;
    std::optional<double> number;
  };
  Status Set(std::string_view id, std::string_view name, const Value& value, std::string_view place);

  std::map<std::string, double, std::less<>> thresholds_;  // "id name"
  std::map<std::string, model::Severity, std::less<>> severities_;
  std::map<std::string, bool, std::less<>> enabled_;
};

}  // namespace vigil::catalogue
