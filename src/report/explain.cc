#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "report/catalogue_page.h"
#include "report/figures_page.h"
#include "report/json.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/words.h"

namespace vigil::report {
namespace {

Result<std::vector<CataloguePage>> Find(std::string_view id) {
  std::vector<CataloguePage> pages = PagesOf(id);
  if (pages.empty()) pages = PagesOf(ToLower(id));  // ids are lower case; people quote them as headings
  if (!pages.empty()) return pages;
  const std::vector<std::string> nearest = NearestNames(id, catalogue::AllIds(), 5);
  const std::string offer = nearest.empty() ? std::string() : fmt::format("; did you mean {}?", Join(nearest, ", "));
  return Fail(
      ErrorCode::kInvalid,
      fmt::format(
          "'{}' is no finding, cause, evidence, remedy, config rule, signature, signal, measure or checklist item{}",
          OneLine(id), offer));
}

// ---- text

// A table as blocks: the first two columns lead, the rest stands below them. Columns side by side would not fit.
void DrawTable(Screen& screen, const Section& section) {
  for (const std::vector<Cell>& row : section.rows) {
    std::string head = row[0].text;
    if (row.size() > 1 && !row[1].text.empty()) head += fmt::format(" {} {}", row[1].number ? "=" : "-", row[1].text);
    screen.Item(2, "- ", head);
    for (std::size_t i = 2; i < row.size(); ++i) {
      if (!row[i].text.empty()) screen.Item(6, fmt::format("{}: ", section.columns[i]), row[i].text, Ink::kDim);
    }
  }
}

// Words stand in one paragraph, sentences one below the other.
void DrawList(Screen& screen, const std::vector<std::string>& items) {
  const bool words = std::all_of(items.begin(), items.end(),
                                 [](const std::string& item) { return item.find(' ') == std::string::npos; });
  if (words && !items.empty()) return screen.Item(2, "", Join(items, ", "));
  for (const std::string& item : items) screen.Item(2, "- ", item);
}

void DrawSection(Screen& screen, const Section& section) {
  screen.Heading(section.heading);
  if (!section.text.empty()) screen.Item(2, "", section.text);
  DrawList(screen, section.items);
  DrawTable(screen, section);
  if (section.example != nullptr) DrawExample(screen, *section.example);
}

bool IsWord(const Section& section) { return !section.text.empty() && section.text.find(' ') == std::string::npos; }

void DrawPage(Screen& screen, const CataloguePage& page) {
  screen.Item(0, page.id + "  ", page.title, Ink::kCyan, Ink::kBold);
  std::vector<std::string> words = {std::string(page.kind)};
  for (const Section& section : page.sections) {
    if (IsWord(section)) words.push_back(fmt::format("{} {}", ToLower(section.heading), section.text));
  }
  screen.Item(0, "", Join(words, ", "), Ink::kPlain, Ink::kDim);
  for (const Section& section : page.sections) {
    if (!IsWord(section)) DrawSection(screen, section);
  }
}

// ---- JSON

void WriteCells(JsonWriter& json, const Section& section, const std::vector<Cell>& row) {
  json.Open();
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string key(section.columns[i]);
    std::replace(key.begin(), key.end(), ' ', '_');
    json.Key(key);
    row[i].number ? json.Number(*row[i].number) : json.Text(row[i].text);
  }
  json.Close();
}

void WriteNumbers(JsonWriter& json, std::string_view key, std::span<const double> numbers) {
  json.Key(key);
  json.OpenList();
  for (const double number : numbers) json.Number(number);
  json.CloseList();
}

void WriteExample(JsonWriter& json, const catalogue::ExampleRow& example) {
  json.Open();
  json.Key("run");
  json.Text(example.run);
  json.Key("fault");
  json.Text(example.fault);
  json.Key("metric");
  json.Text(example.metric);
  json.Key("axis");
  json.Text(example.axis);
  json.Key("at");
  std::isnan(example.at) ? json.Null() : json.Number(example.at);
  WriteNumbers(json, "steps", example.steps);
  WriteNumbers(json, "values", example.values);
  json.Close();
}

void WriteSection(JsonWriter& json, const Section& section) {
  json.Key(section.key);
  if (!section.text.empty()) return json.Text(section.text);
  if (section.example != nullptr) return WriteExample(json, *section.example);
  json.OpenList();
  for (const std::string& item : section.items) json.Text(item);
  for (const std::vector<Cell>& row : section.rows) WriteCells(json, section, row);
  json.CloseList();
}

void WriteName(JsonWriter& json, const CataloguePage& page) {
  json.Key("kind");
  json.Text(page.kind);
  json.Key("id");
  json.Text(page.id);
  json.Key("title");
  json.Text(page.title);
}

void OpenDocument(JsonWriter& json, std::string_view schema) {
  json.Open();
  json.Key("schema");
  json.Text(schema);
  json.Key("pages");
  json.OpenList();
}

std::string CloseDocument(JsonWriter& json) {
  json.CloseList();
  json.Close();
  return json.Take() + "\n";
}

}  // namespace

Result<std::string> ExplainText(std::string_view id, const TextOptions& options) {
  const auto pages = Find(id);
  if (!pages) return tl::unexpected(pages.error());
  Screen screen(options);
  for (const CataloguePage& page : *pages) {
    if (&page != &pages->front()) screen.Blank();
    DrawPage(screen, page);
  }
  return screen.Take();
}

Result<std::string> ExplainJson(std::string_view id) {
  const auto pages = Find(id);
  if (!pages) return tl::unexpected(pages.error());
  JsonWriter json(JsonWriter::Layout::kPretty);
  OpenDocument(json, "vigil.explanation/1");
  for (const CataloguePage& page : *pages) {
    json.Open();
    WriteName(json, page);
    for (const Section& section : page.sections) WriteSection(json, section);
    json.Close();
  }
  return CloseDocument(json);
}

std::string ListText(const TextOptions& options) {
  Screen screen(options);
  for (const PageKind& kind : PageKinds()) {
    const std::vector<CataloguePage> pages = kind.pages({});
    if (pages.empty()) continue;
    if (kind.kind != PageKinds().front().kind) screen.Blank();
    screen.Item(0, "", fmt::format("{}: {}", kind.plural, kind.intro), Ink::kPlain, Ink::kBold);
    std::size_t widest = 0;
    for (const CataloguePage& page : pages) widest = std::max(widest, DisplayWidth(page.id));
    for (const CataloguePage& page : pages) screen.Short(2, PadRight(page.id, widest + 2), page.title, Ink::kCyan);
  }
  return screen.Take();
}

std::string ListJson() {
  JsonWriter json(JsonWriter::Layout::kPretty);
  OpenDocument(json, "vigil.catalogue/1");
  for (const PageKind& kind : PageKinds()) {
    for (const CataloguePage& page : kind.pages({})) {
      json.Open();
      WriteName(json, page);
      json.Close();
    }
  }
  return CloseDocument(json);
}

}  // namespace vigil::report
