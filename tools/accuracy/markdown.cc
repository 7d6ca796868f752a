#include "accuracy/markdown.h"

#include <fmt/format.h>

#include <cmath>

#include "base/base.h"

namespace vigil::accuracy {
namespace {

std::string Begin(const std::string& name) { return fmt::format("<!-- begin {} -->\n", name); }
std::string End(const std::string& name) { return fmt::format("<!-- end {} -->", name); }

struct Bounds {
  std::size_t from = std::string::npos;
  std::size_t to = std::string::npos;
};

Bounds Find(const std::string& page, const std::string& name) {
  const std::size_t begin = page.find(Begin(name));
  const std::size_t to = page.find(End(name));
  if (begin == std::string::npos || to == std::string::npos || to < begin) return {};
  return {begin + Begin(name).size(), to};
}

}  // namespace

std::string Row(const Cells& cells) { return "| " + Join(cells, " | ") + " |\n"; }

std::string Header(const Cells& names) { return Row(names) + Row(Cells(names.size(), "---")); }

std::string Cell(const std::string& text) {
  std::string safe;
  for (const char c : Printable(text)) safe += c == '|' ? "\\|" : std::string(1, c);
  return safe;
}

std::string Of(int part, int whole) { return whole == 0 ? "-" : fmt::format("{} of {}", part, whole); }

std::string Share(double share) { return std::isnan(share) ? "-" : fmt::format("{:.0f}%", 100 * share); }

std::string ShareOf(int part, int whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}% ({} of {})", 100.0 * part / whole, part, whole);
}

std::string PartOf(const std::string& page, const std::string& name) {
  const Bounds bounds = Find(page, name);
  return bounds.from == std::string::npos ? std::string() : page.substr(bounds.from, bounds.to - bounds.from);
}

std::string ReplacePart(const std::string& page, const std::string& name, const std::string& content) {
  const Bounds bounds = Find(page, name);
  if (bounds.from == std::string::npos) return page;
  return page.substr(0, bounds.from) + content + page.substr(bounds.to);
}

std::string MarkedPart(const std::string& name, const std::string& content) {
  return Begin(name) + content + End(name);
}

}  // namespace vigil::accuracy
