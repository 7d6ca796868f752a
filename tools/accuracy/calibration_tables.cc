#include <fmt/format.h>

#include <cmath>
#include <map>

#include "accuracy/markdown.h"
#include "accuracy/scale_tables.h"

namespace vigil::accuracy {
namespace {

using scale::Calibration;
using scale::Judged;

constexpr int kLines = 10;  // of the diagram, a tenth each

std::string BinName(std::size_t bin) {
  return fmt::format("0.{} to {}", bin, bin == 9 ? "1.0" : fmt::format("0.{}", bin + 1));
}

std::string MeanOf(double sum, int cases) { return cases == 0 ? "-" : fmt::format("{:.2f}", sum / cases); }

std::string BinTable(const Calibration& calibration) {
  std::string table = Header({"stated", "cases", "mean stated", "right", ""});
  for (std::size_t i = 0; i < calibration.bins.size(); ++i) {
    const Calibration::Bin& bin = calibration.bins[i];
    table += Row({BinName(i), fmt::format("{}", bin.cases), MeanOf(bin.confidence_sum, bin.cases),
                  MeanOf(bin.right, bin.cases), bin.cases < scale::kFewCases ? "too few cases" : ""});
  }
  return table + "\n";
}

// By the cause that was named: a kind of fault is named rightly as often as it says, or not.
std::string CauseTable(const std::map<std::string, Calibration>& causes) {
  std::string table = Header({"cause named first", "cases", "mean stated", "right", ""});
  for (const auto& [cause, calibration] : causes) {
    Calibration::Bin all;
    for (const Calibration::Bin& bin : calibration.bins) {
      all.cases += bin.cases;
      all.right += bin.right;
      all.confidence_sum += bin.confidence_sum;
    }
    if (all.cases == 0) continue;
    table += Row({Cell(cause), fmt::format("{}", all.cases), MeanOf(all.confidence_sum, all.cases),
                  MeanOf(all.right, all.cases), all.cases < scale::kFewCases ? "too few cases" : ""});
  }
  return table + "\n";
}

// What one column of the diagram shows on a line, counted from below.
char MarkAt(const Calibration::Bin& bin, int line) {
  if (bin.cases < scale::kFewCases) return ' ';
  const double right = kLines * static_cast<double>(bin.right) / bin.cases;
  const double stated = kLines * bin.confidence_sum / bin.cases;
  const bool is_stated = static_cast<int>(std::min(stated, kLines - 0.5)) == line;
  const bool is_right = right >= line + 0.5;
  if (is_stated) return is_right ? '+' : 'o';
  return is_right ? '#' : ' ';
}

}  // namespace

std::string CalibrationDiagram(const Calibration& calibration) {
  std::string text = "```\nright\n";
  for (int line = kLines - 1; line >= 0; --line) {
    text += fmt::format("{:>4}% |", 10 * (line + 1));
    for (const Calibration::Bin& bin : calibration.bins) {
      const char mark = MarkAt(bin, line);
      text += fmt::format(" {}{}{}", mark, mark, mark);
    }
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  text += "      +" + std::string(4 * calibration.bins.size(), '-') + "\nstated";
  for (std::size_t i = 0; i < calibration.bins.size(); ++i) text += fmt::format("  .{}", i);
  return text + "\n```\n\n";
}

std::string CalibrationTable(const Calibration& calibration) {
  std::string text = "Fatal and weak runs whose first diagnosis names a cause.";
  if (const auto error = calibration.ExpectedError())
    text += fmt::format(" Mean distance of the stated confidence from the share that is right, over the bins: {:.3f}.",
                        *error);
  text += fmt::format("\nFewer than {} cases of a kind say nothing about it.\n\n", scale::kFewCases);
  return text + BinTable(calibration);
}

std::string CalibrationTables(const std::vector<Judged>& judged) {
  Calibration all;
  std::map<std::string, Calibration> causes;
  for (const Judged& run : judged) {
    all.Add(run.score);
    causes[run.score.cause_name].Add(run.score);
  }
  std::string text = "### Confidence against truth\n\n" + CalibrationTable(all);
  text += "The same as columns: `#` the share that was right, `o` the confidence that was stated, `+` both.\n\n";
  text += CalibrationDiagram(all);
  return text + CauseTable(causes);
}

}  // namespace vigil::accuracy
