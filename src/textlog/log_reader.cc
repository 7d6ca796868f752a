#include "textlog/log_reader.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "tabular/thinning.h"

namespace vigil::textlog {

LogReader::LogReader(ingest::PartBuilder& builder, const Options& options)
    : builder_(builder),
      state_(builder, options.use_hints && scanner_.works()),
      parsers_(state_),
      walker_(state_, parsers_, scanner_) {}

std::size_t LogReader::Consume(std::string_view bytes, bool last) {
  const std::size_t used = splitter_.Split(bytes, last, [this](const TextBlock& block) { walker_.Read(block); });
  if (last) Finish();
  return used;
}

ingest::Growth LogReader::growth() const {
  const bool moves_points = state_.dicts.was_revised() || parsers_.DecideAtEnd();
  return moves_points ? ingest::Growth::kSettlesAtEnd : ingest::Growth::kByRecords;
}

// Rows that named no step get theirs first: what is decided between series, and said of them, needs their steps.
void LogReader::Settle(bool paused) {
  model::Run& part = builder_.part();
  state_.dicts.Settle(part, state_.steps.total(), paused);
  state_.sink.table().Settle();
  part.planned_steps = PlannedSteps();
  part.ranks = std::max(part.ranks, walker_.highest_rank() + 1);
  NameFramework();
  SettleEvents();
}

void LogReader::NameFramework() {
  model::Run& part = builder_.part();
  framework_is_named_ = framework_is_named_ || part.framework.empty();
  if (framework_is_named_) part.framework = std::string(walker_.trainer().Name(part));
}

void LogReader::SettleEvents() {
  const std::int64_t latest = state_.steps.latest();
  if (latest >= kUnresolved) {
    if (const std::int64_t step = state_.dicts.StepOf(latest); step != model::kNoStep)
      state_.events.Settle(step, state_.dicts.axis());
  } else {
    state_.events.Settle(latest, state_.steps.axis());
  }
}

// The bar of a trainer that prints dictionaries counts the whole training; a bar beside lines may count an epoch.
std::optional<model::StepAt> LogReader::PlannedSteps() const {
  if (!state_.dicts.empty() && state_.dicts.bar_total() > 0) return model::StepAt(state_.dicts.bar_total());
  if (state_.steps.total() > 0) return model::StepAt(state_.steps.total());
  const std::int64_t stated = std::llround(builder_.part().FactNumber("max_steps").value_or(0));
  return stated > 0 ? std::optional(model::StepAt(stated)) : std::nullopt;
}

void LogReader::Finish() {
  SeriesTable& table = state_.sink.table();
  state_.sink.Finish();
  table.Finish();
  Settle(true);
  if (state_.dicts.counted_as_rows()) builder_.AddNote(says::NoteLinesWithoutSteps{});
  parsers_.Finish();
  if (table.stride() > 1) builder_.AddNote(tabular::ThinnedNote(table.stride()));
  state_.events.Finish();
  const model::Run& part = builder_.part();
  if (part.series.empty() && part.events.empty() && part.facts.empty()) {
    if (const model::Statement note = walker_.unrecognised().Note(); !note.empty()) builder_.AddNote(note);
  }
  if (const std::uint64_t cut = splitter_.TakeLongLines(); cut != 0)
    builder_.AddNote(says::NoteLongLinesCut{.count = cut, .limit = kLongestLine});
}

}  // namespace vigil::textlog
