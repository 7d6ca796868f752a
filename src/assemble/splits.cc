#include "assemble/splits.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "assemble/place.h"
#include "base/base.h"
#include "catalogue/catalogue.h"
#include "ingest/ingest.h"

namespace vigil::assemble {
namespace {

enum class Split : std::uint8_t { kNone, kTraining, kEvaluation };

// "train", "val_log", "metrics-valid": a word of the name says it.
Split SplitOf(std::string_view stem) {
  constexpr std::array<std::string_view, 4> kTraining = {"train", "training", "trn", "learn"};
  constexpr std::array<std::string_view, 6> kEvaluation = {"val", "valid", "validation", "eval", "dev", "test"};
  std::string name = ToLower(stem);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  Split split = Split::kNone;
  for (const std::string_view word : vigil::Split(name, '_')) {
    const bool training = std::find(kTraining.begin(), kTraining.end(), word) != kTraining.end();
    const bool evaluation = std::find(kEvaluation.begin(), kEvaluation.end(), word) != kEvaluation.end();
    if (!training && !evaluation) continue;
    if (split != Split::kNone) return Split::kNone;  // of both
    split = training ? Split::kTraining : Split::kEvaluation;
  }
  return split;
}

// The name without the word that names the split: equal for the two of a pair.
std::string PairOf(const model::Run& part) {
  const std::string_view path = ingest::WithoutCompression(part.sources.front().path);
  std::string name = ToLower(ingest::StemOf(ingest::FileOf(path)));
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  std::string rest = std::string(ingest::FolderOf(path)) + '\n' + part.sources.front().format;
  for (const std::string_view word : vigil::Split(name, '_')) {
    if (SplitOf(word) == Split::kNone) rest += '\n' + std::string(word);
  }
  return rest;
}

Split SplitOf(const model::Run& part) {
  return SplitOf(ingest::StemOf(ingest::FileOf(ingest::WithoutCompression(part.sources.front().path))));
}

std::set<std::string> SignalsOf(const model::Run& part) {
  std::set<std::string> signals;
  for (const model::Series& series : part.series) signals.insert(series.signal);
  return signals;
}

void MoveToEvaluation(model::Run& part) {
  for (model::Series& series : part.series) {
    const auto before = catalogue::Interpret(series.raw);
    const auto meaning = catalogue::Interpret("val/" + series.raw);
    // Values were taken in the unit of the name that stood in the file.
    const bool same_unit = (before ? before->scale : 1) == (meaning ? meaning->scale : 1);
    series.raw = "val/" + series.raw;
    series.signal = meaning && same_unit ? std::string(meaning->signal) : series.raw;
    if (meaning && same_unit) series.unit = std::string(meaning->unit);
  }
}

}  // namespace

void NameSplits(std::vector<model::Run>& parts) {
  std::map<std::string, const model::Run*> trainings;
  for (const model::Run& part : parts) {
    if (SplitOf(part) == Split::kTraining) trainings.emplace(PairOf(part), &part);
  }
  if (trainings.empty()) return;
  for (model::Run& part : parts) {
    if (SplitOf(part) != Split::kEvaluation) continue;
    const auto training = trainings.find(PairOf(part));
    if (training == trainings.end()) continue;
    // A name that says it itself needs no help.
    const auto signals = SignalsOf(*training->second);
    const bool alike = std::any_of(part.series.begin(), part.series.end(), [&](const model::Series& series) {
      return series.signal == "loss" && signals.contains(series.signal);
    });
    if (alike) MoveToEvaluation(part);
  }
}

void JoinSplitFolders(std::vector<model::Run>& parts, ingest::FormatTable formats, std::vector<std::string>& folders) {
  struct Splits {
    std::vector<std::size_t> training;
    std::vector<std::size_t> evaluation;
  };
  std::map<std::string_view, Splits> above;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const model::Source& source = parts[i].sources.front();
    const bool per_start = ingest::TraitsOf(formats, source.format).files == ingest::RunFiles::kOnePerStart;
    if (!per_start || !folders[i].empty()) continue;
    const std::string_view folder = ingest::FolderOf(source.path);
    const Split split = SplitOf(ingest::FileOf(folder));
    Splits& splits = above[ingest::FolderOf(folder)];
    if (split == Split::kTraining) splits.training.push_back(i);
    if (split == Split::kEvaluation) splits.evaluation.push_back(i);
  }
  for (const auto& [folder, splits] : above) {
    // Of several starts it is open which evaluation belongs to which.
    if (splits.training.size() != 1 || splits.evaluation.size() != 1) continue;
    const std::size_t evaluation = splits.evaluation.front();
    const auto signals = SignalsOf(parts[splits.training.front()]);
    const bool alike = std::any_of(parts[evaluation].series.begin(), parts[evaluation].series.end(),
                                   [&](const model::Series& series) { return signals.contains(series.signal); });
    if (!alike) continue;
    MoveToEvaluation(parts[evaluation]);
    folders[evaluation] = folders[splits.training.front()] = std::string(folder);
  }
}

}  // namespace vigil::assemble
