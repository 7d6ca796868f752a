// The page of one catalogue row, as sections. Text, JSON and Markdown are written from the same page, so that
// `vigil explain` and the reference cannot differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::catalogue {
struct ExampleRow;
}

namespace vigil::report {

struct Cell {
  std::string text;
  std::optional<double> number;  // JSON has it as a number
};

// One of: a text, a list, a table, a curve. `heading` is for people, `key` for JSON.
struct Section {
  std::string_view key;
  std::string_view heading;
  std::string text;
  std::vector<std::string> items;
  std::vector<std::string_view> columns;
  std::vector<std::vector<Cell>> rows;
  const catalogue::ExampleRow* example = nullptr;
};

struct CataloguePage {
  std::string_view kind;  // finding, cause, evidence, remedy, config rule, signature, signal, measure, checklist item
  std::string id;
  std::string title;
  std::vector<Section> sections;  // none is empty
};

// A kind of row: its name, the name of its reference page, and its pages in the order of the rows: that of one id, or
// all where none is given.
struct PageKind {
  std::string_view kind;
  std::string_view plural;  // "findings", "config-rules"
  std::string_view intro;   // what such a row is
  std::vector<CataloguePage> (*pages)(std::string_view id);
};
std::span<const PageKind> PageKinds();

// The pages of that id: usually one; more when rows of different kinds share it. An alias of a signal finds the signal.
std::vector<CataloguePage> PagesOf(std::string_view id);

}  // namespace vigil::report
