#include "textlog/series_table.h"

#include <algorithm>

#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "tabular/column_roles.h"

namespace vigil::textlog {
namespace {

// Trainers log some hundred names; a file that makes up thousands is no metric log.
constexpr std::size_t kMostNames = 4096;
// Of all ranks together: a thousand ranks with a hundred names each. A series costs half a kilobyte beside its points.
constexpr std::size_t kMostEntries = 100'000;

// Keeps the series of different kinds of lines apart while they are opened.
constexpr std::string_view kOriginLabel = "origin";

std::string KeyOf(std::string_view name, std::int32_t rank, Origin origin) {
  std::string key = std::to_string(rank);
  key += static_cast<char>(static_cast<int>(origin) + 1);
  key += name;
  return key;
}

}  // namespace

SeriesTable::SeriesTable(ingest::PartBuilder& builder, std::uint64_t most_points)
    : builder_(builder), thinning_(builder, most_points), entries_(1), most_points_(most_points) {}

std::uint32_t SeriesTable::Find(std::string_view name, std::int32_t rank, Origin origin, bool keep_unknown) {
  // Rank 0 speaks for the run; the others get a label.
  const std::int32_t labelled = rank > 0 ? rank : -1;
  std::uint32_t found = entries_[previous_].successor;
  const bool right = found != 0 && entries_[found].rank == labelled && entries_[found].origin == origin &&
                     entries_[found].name == name;
  if (!right) {
    found = FindSlowly(name, labelled, origin, keep_unknown);
    if (found == 0) return 0;
    entries_[previous_].successor = found;
  }
  previous_ = found;
  return found;
}

std::uint32_t SeriesTable::FindSlowly(std::string_view name, std::int32_t rank, Origin origin, bool keep_unknown) {
  std::string key = KeyOf(name, rank, origin);
  if (const auto at = index_.find(key); at != index_.end()) return at->second;
  const auto meaning = catalogue::Interpret(name);
  if (!meaning && !keep_unknown) return 0;
  std::string name_of_all = KeyOf(name, -1, origin);
  const bool is_new = !names_.contains(name_of_all);
  if ((is_new && names_.size() >= kMostNames) || entries_.size() > kMostEntries) {
    left_out_ = true;
    return 0;
  }
  if (is_new) names_.insert(std::move(name_of_all));
  Entry entry;
  entry.name = std::string(name);
  entry.rank = rank;
  entry.origin = origin;
  entry.known = meaning.has_value();
  entry.is_weak = meaning && meaning->weak;
  // "eta 35" alone makes no line of a training; "cost 2.3" does.
  entry.is_metric = meaning && meaning->signal != "epoch" && (!meaning->weak || meaning->signal == "loss");
  entry.is_loss = meaning && meaning->signal == "loss";
  entry.is_grad_norm = meaning && meaning->signal == "grad_norm";
  entry.in_seconds = meaning && meaning->unit == "s" && !meaning->has_unit;
  entry.in_gibibytes = meaning && meaning->unit == "GiB" && !meaning->has_unit;
  entry.is_share =
      meaning && meaning->unit.empty() && (meaning->signal == "accuracy" || meaning->signal == "eval_accuracy");
  const auto index = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back(std::move(entry));
  index_.emplace(std::move(key), index);
  return index;
}

// A line without the loss stands for a loss that was left out, until the line comes that has it.
void SeriesTable::AddAgain(const Entry& entry, double value, const RowPlace& place) {
  model::Series& series = builder_.series(entry.series);
  if (series.empty() || series.steps.back() != entry.last_step) return;
  if (!place.replaces && !model::IsNoValue(series.values.back())) return;
  series.values.ReplaceLast(value);
  if (!series.lines.empty()) series.lines.ReplaceLast(place.line);
}

void SeriesTable::Add(std::uint32_t index, double value, const RowPlace& place) {
  Entry& entry = entries_[index];
  const std::int64_t step = place.step;
  if (step < latest_step_) ++start_;
  latest_step_ = step;
  if (step == entry.last_step && start_ == entry.last_start) return AddAgain(entry, value, place);
  if (!entry.is_open) {
    model::Labels labels;
    labels.emplace_back(kOriginLabel, std::to_string(static_cast<int>(entry.origin)));
    if (entry.rank > 0) labels.emplace_back("rank", std::to_string(entry.rank));
    entry.series = builder_.OpenSeries(entry.name, labels);
    std::erase_if(builder_.series(entry.series).labels, [](const auto& label) { return label.first == kOriginLabel; });
    builder_.series(entry.series).axis = place.axis;
    entry.is_open = true;
  }
  entry.last_step = step;
  entry.last_start = start_;
  thinning_.AddUnresolved(entry.series, step, value, place.line);
  if (++points_ > most_points_) MakeRoom();
}

bool SeriesTable::HasOpenLoss() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.is_open && entry.is_loss; });
}

void SeriesTable::MakeRoom() {
  thinning_.MakeRoom();
  points_ = 0;
  for (const model::Series& series : builder_.part().series) points_ += series.size();
}

void SeriesTable::Settle() {
  std::unordered_map<std::string, const Entry*> best;
  const auto size = [&](const Entry& entry) { return builder_.series(entry.series).size(); };
  const bool placed = std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.is_open && entry.is_loss && entry.origin != Origin::kUnplaced;
  });
  // Evaluations are often written in words where the rows of the training are not.
  const bool named = std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.is_open && entry.is_loss && entry.origin != Origin::kPlain;
  });
  const bool has_loss = std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.is_open && entry.is_loss && !entry.is_weak;
  });
  for (const Entry& entry : entries_) {
    if (!entry.is_open || (placed && entry.origin == Origin::kUnplaced)) continue;
    if (named && entry.origin == Origin::kPlain) continue;
    const Entry*& winner = best[KeyOf(entry.name, entry.rank, Origin::kLine)];
    if (winner == nullptr || size(entry) > size(*winner)) winner = &entry;
  }
  for (const Entry& entry : entries_) {
    if (!entry.is_open) continue;
    model::Series& series = builder_.series(entry.series);
    if (entry.is_loss && entry.is_weak && has_loss) series.signal = series.raw;
    builder_.LeaveOut(entry.series, best[KeyOf(entry.name, entry.rank, Origin::kLine)] != &entry);
  }
}

void SeriesTable::Finish() {
  thinning_.Finish();
  if (!left_out_) return;
  builder_.AddNote(says::NoteTooManyNames{.names = kMostNames, .entries = kMostEntries});
  left_out_ = false;
}

}  // namespace vigil::textlog
