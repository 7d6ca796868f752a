#include "report/counted.h"

#include <algorithm>
#include <cctype>

#include "report/report.h"

namespace vigil::report {
namespace {

constexpr std::string_view kStep = "step";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Whether the "step" at `at` (with its plural's s, `end` behind it) stands beside a number.
bool CountsSomething(std::string_view text, std::size_t at, std::size_t end) {
  const bool number_behind = end + 1 < text.size() && text[end] == ' ' && IsDigit(text[end + 1]);
  const bool number_before = at >= 2 && text[at - 1] == ' ' && IsDigit(text[at - 2]);
  return number_behind || number_before;
}

void Reword(std::string& text, std::string_view word) { text = CountedAs(text, word); }

void Reword(std::vector<model::Evidence>& evidence, std::string_view word) {
  for (model::Evidence& one : evidence) Reword(one.text, word);
}

}  // namespace

std::string_view CountWord(const model::Run& run) {
  if (run.series.empty()) return kStep;
  const model::Axis axis = run.series.front().axis;
  const bool alike =
      std::all_of(run.series.begin(), run.series.end(), [&](const model::Series& one) { return one.axis == axis; });
  if (!alike) return kStep;
  if (axis == model::Axis::kEpoch) return "epoch";
  return axis == model::Axis::kRow ? "logged point" : kStep;
}

std::string CountedAs(std::string_view text, std::string_view word) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = text.find(kStep); word != kStep && at != std::string_view::npos;
       at = text.find(kStep, at + 1)) {
    std::size_t end = at + kStep.size();
    if (end < text.size() && text[end] == 's') ++end;
    const bool whole = (at == 0 || !IsLetter(text[at - 1])) && (end == text.size() || !IsLetter(text[end]));
    if (!whole || !CountsSomething(text, at, end)) continue;
    out += text.substr(copied, at - copied);
    out += word;
    copied = at + kStep.size();
  }
  out += text.substr(copied);
  return out;
}

void SayWhatIsCounted(model::RunReport& report) {
  const std::string_view word = CountWord(report.run);
  if (word == kStep) return;
  for (model::Finding& finding : report.findings) {
    if (finding.id.starts_with("log/")) continue;  // quotes a log, which is not to be reworded
    Reword(finding.message, word);
    Reword(finding.evidence, word);
  }
  for (model::Diagnosis& diagnosis : report.diagnoses) {
    Reword(diagnosis.summary, word);
    Reword(diagnosis.supporting, word);
    Reword(diagnosis.opposing, word);
    Reword(diagnosis.restart, word);
  }
}

}  // namespace vigil::report
