#include "scale/render.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

namespace vigil::scale {
namespace {

// The values of one row in the order in which their series stand in the run.
using Row = std::vector<std::pair<const Points*, double>>;

// By part of the run, then by step: a step that comes again after a resume is a row of its own.
std::map<std::pair<int, std::int64_t>, Row> RowsOf(const StoredRun& run) {
  std::map<std::pair<int, std::int64_t>, Row> rows;
  for (const Points& points : run.series) {
    int part = 0;
    for (std::size_t i = 0; i < points.values.size(); ++i) {
      if (i > 0 && points.steps[i] <= points.steps[i - 1]) ++part;
      rows[{part, points.steps[i]}].emplace_back(&points, points.values[i]);
    }
  }
  return rows;
}

std::string MetricsText(const StoredRun& run) {
  std::string text;
  for (const auto& [place, row] : RowsOf(run)) {
    text += fmt::format("{{\"step\": {}", place.second);
    for (const auto& [points, value] : row) text += fmt::format(", \"{}\": {}", points->name, PythonNumber(value));
    text += "}\n";
  }
  return text.empty() ? "\n" : text;
}

std::string PrintedLines(const StoredRun& run) {
  std::string text;
  for (const PrintedText& event : run.events) {
    const std::size_t end = event.text.find_last_not_of(" \t\r\n\f\v");
    text += event.text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return text;
}

// Where a token of JSON that needs a line of its own begins.
class Indenter {
 public:
  void Take(char c) {
    if (is_in_string_ || c == '"') {
      TakeOfString(c);
    } else if (c == '{' || c == '[') {
      Begin();
      out_ += c;
      is_open_ = true;
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
      if (!is_open_) Break();
      is_open_ = false;
      out_ += c;
    } else if (c == ',') {
      out_ += c;
      Break();
    } else if (c == ':') {
      out_ += ": ";
    } else if (c != ' ' && c != '\n') {
      Begin();
      out_ += c;
    }
  }
  std::string&& out() && { return std::move(out_); }

 private:
  void Begin() {
    if (is_open_) Break();
    is_open_ = false;
  }
  void Break() { out_ += "\n" + std::string(2 * depth_, ' '); }
  void TakeOfString(char c) {
    if (!is_in_string_) Begin();
    const bool is_escaped = is_escape_;
    is_escape_ = is_in_string_ && c == '\\' && !is_escaped;
    if (c == '"' && !is_escaped) is_in_string_ = !is_in_string_;
    out_ += c;
  }

  std::string out_;
  std::size_t depth_ = 0;
  bool is_open_ = false;  // a container began, and nothing is in it yet
  bool is_in_string_ = false;
  bool is_escape_ = false;
};

}  // namespace

std::string PythonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string IndentJson(std::string_view compact) {
  Indenter indenter;
  for (const char c : compact) indenter.Take(c);
  return std::move(indenter).out();
}

std::vector<RenderedFile> RenderJsonLines(const StoredRun& run) {
  std::vector<RenderedFile> files;
  files.push_back({"config.json", IndentJson(run.settings) + "\n"});
  files.push_back({"metrics.jsonl", MetricsText(run)});
  if (!run.events.empty()) files.push_back({"stderr.log", PrintedLines(run)});
  return files;
}

}  // namespace vigil::scale
