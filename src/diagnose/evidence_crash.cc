// Evidence about a crash: how far the run had come, what the sizes in the messages say, what the other ranks report.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "diagnose/evidence.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

using model::Event;
using model::EventKind;

// Two hundred steps show that all fits together; one or two show nothing.
constexpr double kManySteps = 20;
constexpr double kFewSteps = 3;

const model::Finding* CrashOf(const Incident& incident) {
  const auto at = std::find_if(incident.findings.begin(), incident.findings.end(),
                               [](const model::Finding* finding) { return IsMessage(*finding); });
  return at == incident.findings.end() ? nullptr : *at;
}

// Steps that were made before the crash. A traceback in a file of its own has no step: it stands at the end of what was
// logged.
std::optional<double> StepsBefore(const RunView& run, const model::Finding& crash) {
  if (crash.first.known()) {
    if (const auto steps = StepsUntil(run.axes(), crash.first)) return steps;
  }
  const model::Position last = LastSeen(run, model::Axis::kStep);
  if (last.known()) return static_cast<double>(last.value());
  return std::nullopt;
}

Answer GoodStepsBefore(const RunView& run, const Incident& incident) {
  const model::Finding* crash = CrashOf(incident);
  if (crash == nullptr) return Moot();
  const auto steps = StepsBefore(run, *crash);
  if (!steps) return Unknown();
  if (*steps >= kManySteps) return Yes(says::GoodStepsBeforeYes{.steps = *steps}, crash->first);
  if (*steps <= 0) return No(says::GoodStepsBeforeNo{}, crash->first);
  return *steps <= kFewSteps ? No(says::GoodStepsBeforeNoFew{.steps = *steps}, crash->first) : Unknown();
}

// What fitted for many steps is no wrong setting of a layer: what changes from step to step is the batch.
Answer BatchOfAnotherSize(const RunView& run, const Incident& incident) {
  const model::Finding* crash = CrashOf(incident);
  if (crash == nullptr || crash->id != "log/tensor-shapes") return Moot();
  const auto steps = StepsBefore(run, *crash);
  if (!steps || *steps < kManySteps) return Unknown();
  return Yes(says::BatchOfAnotherSizeYes{.steps = *steps}, crash->first);
}

// ---- sizes in messages

struct Mismatch {
  std::string tensor;
  std::vector<std::int64_t> theirs;  // of the checkpoint
  std::vector<std::int64_t> ours;    // of the model
};

// The numbers of "torch.Size([99, 64])" behind `from`; `from` moves behind it. Empty when there is none.
std::vector<std::int64_t> SizesBehind(std::string_view text, std::size_t& from) {
  constexpr std::size_t kMostDimensions = 8;
  std::vector<std::int64_t> sizes;
  const std::size_t open = text.find('[', from);
  const std::size_t close = text.find(']', from);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return sizes;
  std::string_view inside = text.substr(open + 1, close - open - 1);
  from = close + 1;
  while (!inside.empty() && sizes.size() < kMostDimensions) {
    const std::size_t comma = inside.find(',');
    const auto size = ParseInteger(Trim(inside.substr(0, comma)));
    if (!size) return {};
    sizes.push_back(*size);
    inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  }
  return sizes;
}

// "size mismatch for lm_head.weight: copying a param with shape torch.Size([128, 64]) from checkpoint, the shape in
// current model is torch.Size([99, 64])."
std::optional<Mismatch> ReadMismatch(std::string_view text) {
  constexpr std::string_view kLead = "mismatch for ";
  const std::size_t lead = text.find(kLead);
  if (lead == std::string_view::npos) return std::nullopt;
  text.remove_prefix(lead + kLead.size());
  Mismatch mismatch;
  mismatch.tensor = std::string(text.substr(0, text.find(':')));
  std::size_t from = mismatch.tensor.size();
  mismatch.theirs = SizesBehind(text, from);
  mismatch.ours = SizesBehind(text, from);
  if (mismatch.theirs.empty() || mismatch.ours.empty()) return std::nullopt;
  return mismatch;
}

// The first dimension of what maps tokens in or out is the vocabulary.
bool IsOfTheVocabulary(const Mismatch& mismatch) {
  constexpr std::array<std::string_view, 9> kNames = {"embed",   "wte",   "lm_head", "word_emb", "tok_emb",
                                                      "decoder", "token", "vocab",   "output"};
  const std::string name = ToLower(mismatch.tensor);
  const bool named = std::any_of(kNames.begin(), kNames.end(),
                                 [&](std::string_view part) { return name.find(part) != std::string::npos; });
  return named && mismatch.theirs.size() == mismatch.ours.size() && mismatch.theirs.front() != mismatch.ours.front() &&
         std::equal(mismatch.theirs.begin() + 1, mismatch.theirs.end(), mismatch.ours.begin() + 1);
}

Answer VocabularyDiffers(const RunView& run, const Incident& incident) {
  if (CrashOf(incident) == nullptr) return Moot();
  std::optional<Mismatch> seen;
  for (const Event& event : run->events) {
    const auto mismatch = event.kind == EventKind::kSignature ? ReadMismatch(event.text) : std::nullopt;
    if (!mismatch) continue;
    if (!IsOfTheVocabulary(*mismatch)) return No(says::VocabularyDiffersNo{.tensor = mismatch->tensor}, event.at);
    if (!seen) seen = mismatch;
  }
  if (!seen) return Unknown();
  return Yes(says::VocabularyDiffersYes{.tensor = seen->tensor,
                                        .theirs = static_cast<double>(seen->theirs.front()),
                                        .ours = static_cast<double>(seen->ours.front())});
}

const Event* FirstEvent(const RunView& run, std::string_view name) {
  const auto at =
      std::find_if(run->events.begin(), run->events.end(), [&](const Event& event) { return event.name == name; });
  return at == run->events.end() ? nullptr : &*at;
}

// A set that is empty because the preparation dropped what had no label left.
Answer LabelsAllCut(const RunView& run, const Incident& incident) {
  if (!incident.Has("log/empty-dataset")) return Moot();
  const Event* dropped = FirstEvent(run, "log/masked-dropped");
  return dropped == nullptr ? Unknown() : Yes(says::LabelsAllCutYes{.what = model::QuoteOf(*run, *dropped)});
}

// ---- where the memory went

Answer DeviceMemoryClimbs(const RunView&, const Incident& incident) {
  if (const model::Finding* climb = incident.Find("memory/growth"))
    return Yes(says::DeviceMemoryClimbsYes{}, climb->first);
  if (const model::Finding* climb = incident.Find("memory/leak")) return No(says::DeviceMemoryClimbsNo{}, climb->first);
  return Unknown();
}

Answer ReservedBeyondAllocated(const RunView&, const Incident& incident) {
  const model::Finding* found = incident.Find("memory/fragmentation");
  if (found != nullptr && found->MeasureOr("growth", 0) > 1)
    return Yes(says::ReservedBeyondAllocatedYes{.what = found->says}, found->first);
  for (const model::Finding* finding : incident.findings) {
    if (finding->signature == "log/cuda-oom-fragmented")
      return Yes(says::ReservedBeyondAllocatedYesMessage{}, finding->first);
  }
  return Unknown();
}

// The reader knows by the frames of the traceback where it failed.
Answer FailedInEvaluation(const RunView& run, const Incident& incident) {
  const model::Finding* crash = CrashOf(incident);
  if (crash == nullptr || crash->id != "memory/oom") return Moot();
  const auto at = std::find_if(run->events.begin(), run->events.end(),
                               [&](const Event& event) { return event.name == crash->signature; });
  if (at == run->events.end()) return Unknown();
  const model::Quote quote = model::QuoteOf(*run, *at);
  if (crash->signature == "log/cuda-oom-evaluation") return Yes(says::FailedInEvaluationYes{.what = quote}, at->at);
  return at->detail.empty() ? Unknown() : No(says::FailedInEvaluationNo{.what = quote}, at->at);
}

// ---- other ranks

// Ranks that reported an error of any kind before the launcher cleared up.
std::set<std::int32_t> RanksThatReport(const RunView& run) {
  std::set<std::int32_t> ranks;
  for (const Event& event : run->events) {
    if (event.rank >= 0 && (event.kind == EventKind::kException || event.kind == EventKind::kSignature))
      ranks.insert(event.rank);
  }
  return ranks;
}

Answer OneSilentRank(const RunView& run, const Incident& incident) {
  if (run->ranks < 2 || CrashOf(incident) == nullptr) return Moot();
  const std::set<std::int32_t> reporting = RanksThatReport(run);
  if (reporting.empty()) return Unknown();
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> silent;
  std::size_t count = 0;
  for (std::int32_t rank = 0; rank < run->ranks; ++rank) {
    if (reporting.contains(rank)) continue;
    if (++count <= kMostNamed) silent.push_back(std::to_string(rank));
  }
  if (count == 0) return No(says::OneSilentRankNo{}, incident.onset);
  if (count > reporting.size()) return Unknown();  // most say nothing: their logs are not here
  return Yes(says::OneSilentRankYes{.ranks = silent}, incident.onset);
}

Answer SizesDiffer(const RunView& run, const Incident&) {
  for (const std::string_view name : {"log/gloo-size-mismatch", "log/collective-mismatch"}) {
    if (const Event* event = FirstEvent(run, name))
      return Yes(says::SizesDifferYes{.what = model::QuoteOf(*run, *event)}, event->at);
  }
  return Unknown();
}

Answer PeersLostIt(const RunView& run, const Incident& incident) {
  if (run->ranks < 2) return Moot();
  for (const Event& event : run->events) {
    if (event.kind != EventKind::kSignature) continue;
    const catalogue::SignatureRow* row = catalogue::FindSignature(event.name);
    if (row != nullptr && row->role == "cascade" && row->cause == "rank-died")
      return Yes(says::PeersLostItYes{.what = model::QuoteOf(*run, event)}, incident.onset);
  }
  return Unknown();
}

// SIGKILL cannot be caught: the kernel sends it when memory is short, others ask with SIGTERM first.
bool SaysSigkill(std::string_view line) {
  constexpr std::array<std::string_view, 6> kWords = {"Killed", "SIGKILL", "-9", "137", "signal: 9", "signal 9"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

Answer KilledOutright(const RunView& run, const Incident& incident) {
  if (!incident.Has("log/killed-signal")) return Moot();
  const Event* event = FirstEvent(run, "log/killed-signal");
  if (event == nullptr) return Unknown();
  const bool outright = SaysSigkill(event->text);
  return outright ? Yes(says::KilledOutrightYes{.what = model::QuoteOf(*run, *event)}, event->at)
                  : No(says::KilledOutrightNo{.what = model::QuoteOf(*run, *event)}, event->at);
}

// A point may stand for the steps since the one before it, so the end counts as reached within one interval of it.
Answer AtEndOfData(const RunView& run, const Incident& incident) {
  if (run->ranks < 2) return Moot();
  for (const Event& event : run->events) {
    if (event.kind == EventKind::kExit && event.name == "finished")
      return Yes(says::AtEndOfDataYesFinished{.what = model::QuoteOf(*run, event)}, event.at);
  }
  const model::Finding* crash = CrashOf(incident);
  const model::Position at = crash == nullptr ? incident.onset : crash->first;
  if (!at.known()) return Unknown();
  const RunEnd end = EndOf(run, at.axis());
  if (!end.planned || !end.at.known()) return Unknown();
  const model::Series* loss = run.Find("loss");
  const double interval = loss == nullptr ? 1 : std::max(1.0, loss->LoggingInterval());
  const bool reached = static_cast<double>(at.value()) >= end.length() - interval - 1;
  if (reached) return Yes(says::AtEndOfDataYes{.at = at, .end = end.at}, at);
  return No(says::AtEndOfDataNo{.end = end.at}, at);
}

constexpr std::array kTests = {
    NamedTest{"good-steps-before", GoodStepsBefore},
    NamedTest{"batch-of-another-size", BatchOfAnotherSize},
    NamedTest{"vocabulary-differs", VocabularyDiffers},
    NamedTest{"labels-all-cut", LabelsAllCut},
    NamedTest{"one-silent-rank", OneSilentRank},
    NamedTest{"sizes-differ", SizesDiffer},
    NamedTest{"at-end-of-data", AtEndOfData},
    NamedTest{"peers-lost-it", PeersLostIt},
    NamedTest{"device-memory-climbs", DeviceMemoryClimbs},
    NamedTest{"reserved-beyond-allocated", ReservedBeyondAllocated},
    NamedTest{"failed-in-evaluation", FailedInEvaluation},
    NamedTest{"killed-outright", KilledOutright},
};

}  // namespace

std::span<const NamedTest> CrashTests() { return kTests; }

}  // namespace vigil::diagnose
