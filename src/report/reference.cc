#include <fmt/format.h>

#include <iterator>

#include "base/base.h"
#include "report/catalogue_page.h"
#include "report/figures_page.h"
#include "report/report.h"

namespace vigil::report {
namespace {

// Text of the catalogue as Markdown shows it literally; `in_table` also keeps it inside its cell.
std::string Escape(std::string_view text, bool in_table) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '>' || c == '[' || c == ']';
    if (special || (in_table && c == '|')) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Capitalised(std::string_view word) {
  std::string title(word);
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  for (char& c : title) c = c == '-' ? ' ' : c;
  return title;
}

void AddRow(std::string& out, const std::vector<std::string>& cells) { out += "| " + Join(cells, " | ") + " |\n"; }

void AddTable(std::string& out, const Section& section) {
  const std::vector<std::string> head(section.columns.begin(), section.columns.end());
  AddRow(out, head);
  AddRow(out, std::vector<std::string>(head.size(), "---"));
  for (const std::vector<Cell>& row : section.rows) {
    std::vector<std::string> cells;
    cells.reserve(row.size());
    for (const Cell& cell : row) cells.push_back(Escape(cell.text, true));
    AddRow(out, cells);
  }
}

// As `vigil explain` draws it.
void AddCurve(std::string& out, const catalogue::ExampleRow& example) {
  Screen screen(TextOptions{});
  DrawExample(screen, example);
  out += "```text\n" + screen.Take() + "```\n";
}

void AddSection(std::string& out, const Section& section) {
  const auto at = std::back_inserter(out);
  if (!section.text.empty()) {
    fmt::format_to(at, "**{}**: {}\n\n", section.heading, Escape(section.text, false));
    return;
  }
  fmt::format_to(at, "**{}**\n\n", section.heading);
  for (const std::string& item : section.items) fmt::format_to(at, "* {}\n", Escape(item, false));
  if (!section.rows.empty()) AddTable(out, section);
  if (section.example != nullptr) AddCurve(out, *section.example);
  out += '\n';
}

void AddPage(std::string& out, const CataloguePage& page) {
  fmt::format_to(std::back_inserter(out), "## {}\n\n{}\n\n", Escape(page.id, false), Escape(page.title, false));
  for (const Section& section : page.sections) AddSection(out, section);
}

}  // namespace

std::vector<std::string> ReferenceKinds() {
  std::vector<std::string> kinds;
  for (const PageKind& kind : PageKinds()) kinds.emplace_back(kind.plural);
  return kinds;
}

Result<std::string> ReferenceMarkdown(std::string_view kind) {
  for (const PageKind& one : PageKinds()) {
    if (one.plural != kind) continue;
    std::string out = fmt::format("<!-- Generated from the rows of the catalogue; `make golden` rewrites it. -->\n\n");
    out += fmt::format("# {}\n\n{}\n\n", Capitalised(one.plural), one.intro);
    for (const CataloguePage& page : one.pages({})) AddPage(out, page);
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
  }
  return Fail(ErrorCode::kInvalid,
              fmt::format("'{}' is no kind of page; known: {}", kind, Join(ReferenceKinds(), ", ")));
}

}  // namespace vigil::report
