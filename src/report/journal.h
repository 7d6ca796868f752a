// report/journal: what `vigil journal` prints: what was found in a journal, as text and as JSON, and its records as
// lines of JSON. Nothing of it is printed that was not masked before.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "journal/inspect.h"
#include "journal/journal.h"
#include "report/json.h"

namespace vigil::report {

// What may be shown of a text; `key`: of a setting or a label, or empty.
using Mask = std::function<std::string(std::string_view key, std::string_view text)>;

std::string RenderSurvey(const std::string& path, const journal::Survey& survey, const Mask& mask);
// One line, schema vigil.journal-check/1.
std::string RenderSurveyJson(const std::string& path, const journal::Survey& survey, const Mask& mask);

// Every record as a line of JSON, written while the file is read. `write` returns false when nothing more can be
// written: it is not called again, and the rest is not read.
class JournalDump : public journal::Visitor {
 public:
  using Write = std::function<bool(std::string_view text)>;
  JournalDump(Mask mask, Write write) : mask_(std::move(mask)), write_(std::move(write)) {}

  bool is_damaged() const { return damaged_; }
  // Writes what is still held back. False when something could not be written, now or before.
  bool Flush();

  void OnBegin(const journal::Begin& begin) override;
  void OnDefinition(const journal::Definition& definition) override;
  void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps, std::span<const std::uint64_t> times_ms,
                 std::span<const double> values) override;
  void OnEvent(const journal::Event& event) override;
  void OnHyperparameter(const journal::Hyperparameter& hyperparameter) override;
  void OnBatch(const journal::Batch& batch) override;
  void OnArtifact(const journal::Artifact& artifact) override;
  void OnDropped(const journal::DroppedRecords& dropped) override;
  void OnEnd(const journal::End& end) override;
  void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t missing_blocks,
                std::string_view reason) override;
  void OnCut(std::uint64_t offset) override;
  bool wants_more() const override { return !stopped_; }

 private:
  void Text(JsonWriter& json, std::string_view key, std::string_view value) const;
  static void Whole(JsonWriter& json, std::string_view key, std::int64_t value);
  template <class Fill>
  void Line(std::string_view kind, const Fill& fill);

  Mask mask_;
  Write write_;
  std::string text_;
  bool damaged_ = false;
  bool stopped_ = false;
};

}  // namespace vigil::report
