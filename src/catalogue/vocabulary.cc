#include <algorithm>
#include <unordered_map>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

// Names differ in case and separators between loggers: "Train/Loss", "train loss", "train-loss" are one name.
std::string Fold(std::string_view name) {
  std::string folded = ToLower(Trim(name));
  for (char& c : folded) {
    if (c == ' ' || c == '-') c = '_';
  }
  return folded;
}

struct Wildcard {
  std::string before;
  std::string after;
  const SignalRow* row;
};

struct Exact {
  const SignalRow* row;
  double scale;
};

// What a stem means, among the names of its quantity.
struct Stem {
  const SignalRow* row;
  bool weak;
};

struct Vocabulary {
  std::unordered_map<std::string, Exact> exact;
  std::unordered_map<std::string, Stem> stems;  // by quantity and stem
  std::vector<Wildcard> wildcards;
  std::unordered_map<std::string, std::string_view> facts;
};

// The quantity that values of the signal are of, by its unit.
std::string_view QuantityOf(const SignalRow& row) {
  if (row.unit == "s") return "time";
  return row.unit == "GiB" ? "memory" : std::string_view();
}

std::string StemKey(std::string_view quantity, std::string_view stem) {
  return std::string(quantity) + ":" + std::string(stem);
}

Vocabulary Build() {
  Vocabulary vocabulary;
  for (const SignalRow& row : Signals()) {
    vocabulary.exact.emplace(Fold(row.id), Exact{&row, 1});
    for (const ScaledName& name : row.scaled) vocabulary.exact.emplace(Fold(name.name), Exact{&row, name.factor});
    for (const std::string_view alias : row.aliases) {
      const std::string folded = Fold(alias);
      const std::size_t star = folded.find('*');
      if (star == std::string::npos) {
        vocabulary.exact.emplace(folded, Exact{&row, 1});
      } else {
        vocabulary.wildcards.push_back({folded.substr(0, star), folded.substr(star + 1), &row});
      }
    }
    for (const std::string_view stem : row.stems)
      vocabulary.stems.emplace(StemKey(QuantityOf(row), stem), Stem{&row, false});
    // A weak stem stands without its quantity as well: "Time 1.2 Data 0.4".
    for (const std::string_view stem : row.weak) {
      vocabulary.stems.emplace(StemKey(QuantityOf(row), stem), Stem{&row, true});
      vocabulary.stems.emplace(StemKey("", stem), Stem{&row, true});
    }
  }
  for (const FactRow& row : Facts()) {
    vocabulary.facts.emplace(Fold(row.id), row.id);
    for (const std::string_view alias : row.aliases) vocabulary.facts.emplace(Fold(alias), row.id);
  }
  return vocabulary;
}

// Built once, from constant rows, and never changed.
const Vocabulary& TheVocabulary() {
  static const Vocabulary vocabulary = Build();
  return vocabulary;
}

// Units of the quantity of the signal, and per cent of what is else a share of one.
double ScaleOf(const SplitName& split, const SignalRow& row) {
  if (split.unit_factor == 0) return 1;
  return split.quantity == "share" && row.unit == "%" ? 1 : split.unit_factor;
}

std::optional<Meaning> MeaningOf(const SplitName& split, const Stem& stem) {
  const SignalRow* row = stem.row;
  if (split.is_eval && !row->id.starts_with("eval_")) row = FindSignal("eval_" + std::string(row->id));
  // What is measured in an evaluation and has no row of its own is something else than in training.
  if (row == nullptr) return std::nullopt;
  return Meaning{row->id, row->unit, {}, ScaleOf(split, *row), stem.weak, split.unit_factor != 0};
}

// "img/s" and "images_per_second": a count by the second is no time.
std::optional<Meaning> InterpretRate(const SplitName& split) {
  if (split.quantity != "time" || split.unit_factor != 1) return std::nullopt;
  const auto& stems = TheVocabulary().stems;
  for (const std::string& stem : split.stems) {
    const std::string counted = stem.ends_with("_per") ? stem : stem + "_per";
    const auto at = stems.find(StemKey("", counted + "_sec"));
    if (at != stems.end()) return MeaningOf(split, at->second);
  }
  return std::nullopt;
}

// "step/s", "it/sec": a slash before the second counts by it; "step time/s" has its unit behind the slash.
bool CountsBySecond(std::string_view raw_name) {
  const std::size_t slash = raw_name.rfind('/');
  if (slash == std::string_view::npos || raw_name.find_first_of("_ ") < slash) return false;
  const std::string unit = ToLower(raw_name.substr(slash + 1));
  const std::string counted = ToLower(raw_name.substr(0, slash));
  return (unit == "s" || unit == "sec" || unit == "second") && counted.find("time") == std::string::npos;
}

std::optional<Meaning> InterpretParts(std::string_view raw_name) {
  const SplitName split = TakeApart(raw_name);
  const auto& stems = TheVocabulary().stems;
  if (CountsBySecond(raw_name)) return InterpretRate(split);
  const std::string_view quantity = split.quantity == "share" ? std::string_view() : std::string_view(split.quantity);
  for (const std::string& stem : split.stems) {
    if (const auto at = stems.find(StemKey(quantity, stem)); at != stems.end()) return MeaningOf(split, at->second);
    // A whole name counts in other places than its own, too: "train/pg_clipfrac".
    const auto& exact = TheVocabulary().exact;
    const auto named = quantity.empty() ? exact.find(stem) : exact.end();
    if (named != exact.end() && named->second.scale == 1) return MeaningOf(split, {named->second.row, false});
  }
  return InterpretRate(split);
}

// A part of a name that means something by itself. It does where the run has no better name; a loss below a name that
// is not known is the loss of a part, and an evaluation measures something else.
std::optional<Meaning> InterpretPart(std::string_view part, std::string_view rest) {
  std::optional<Meaning> meaning = Trim(part).empty() ? std::nullopt : Interpret(part);
  if (!meaning || meaning->scale != 1 || !meaning->labels.empty() || meaning->signal.ends_with("loss"))
    return std::nullopt;
  const SplitName about = TakeApart(rest);
  // "time/epoch" is a time.
  if (!about.quantity.empty() || (about.is_eval && !meaning->signal.starts_with("eval_"))) return std::nullopt;
  meaning->weak = true;
  return meaning;
}

// "info/learner/default_policy/learner_stats/cur_lr": where a tree of results keeps a number says nothing about it.
// "Hyper/lr": nor does a name that people made up for a group of charts, where it is the only one.
std::optional<Meaning> InterpretLeaf(std::string_view raw_name) {
  constexpr std::ptrdiff_t kDeep = 3;
  const std::size_t slash = raw_name.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const std::string_view leaf = raw_name.substr(slash + 1);
  if (TakeApart(leaf).unit_factor != 0) return std::nullopt;  // "it/sec"
  if (std::count(raw_name.begin(), raw_name.end(), '/') < kDeep) return InterpretPart(leaf, raw_name.substr(0, slash));
  std::optional<Meaning> meaning = leaf.empty() ? std::nullopt : Interpret(leaf);
  return meaning && !meaning->weak ? meaning : std::nullopt;
}

// "lr(PiecewiseDecay)": a remark in brackets behind a name that is known.
std::optional<Meaning> InterpretBeforeBrackets(std::string_view raw_name) {
  const std::size_t open = raw_name.find('(');
  if (!raw_name.ends_with(')') || open == std::string_view::npos || open == 0) return std::nullopt;
  return InterpretPart(raw_name.substr(0, open), raw_name.substr(open));
}

}  // namespace

std::optional<Meaning> Interpret(std::string_view raw_name) {
  const std::string name = Fold(raw_name);
  const Vocabulary& vocabulary = TheVocabulary();
  if (const auto at = vocabulary.exact.find(name); at != vocabulary.exact.end())
    return Meaning{at->second.row->id, at->second.row->unit, {}, at->second.scale, false, at->second.scale != 1};
  for (const Wildcard& wildcard : vocabulary.wildcards) {
    const std::size_t fixed = wildcard.before.size() + wildcard.after.size();
    if (name.size() <= fixed || !name.starts_with(wildcard.before) || !name.ends_with(wildcard.after)) continue;
    const std::string_view value = Trim(raw_name).substr(wildcard.before.size(), name.size() - fixed);
    return Meaning{wildcard.row->id, wildcard.row->unit, {{std::string(wildcard.row->label), std::string(value)}}};
  }
  if (std::optional<Meaning> meaning = InterpretParts(raw_name)) return meaning;
  if (std::optional<Meaning> meaning = InterpretBeforeBrackets(raw_name)) return meaning;
  return InterpretLeaf(raw_name);
}

std::string_view InterpretFact(std::string_view raw_key) {
  const auto& facts = TheVocabulary().facts;
  const auto at = facts.find(Fold(raw_key));
  return at == facts.end() ? std::string_view() : at->second;
}

}  // namespace vigil::catalogue
