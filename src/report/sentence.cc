#include "report/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::report {
namespace {

std::string Whole(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : FormatNumber(value); }

std::string NumberText(const model::Quantity& quantity, std::string_view type) {
  const bool countable = quantity.value >= 0 && quantity.value < 1e18;
  if (type == "whole") return Whole(quantity.value);
  if (type == "count")
    return countable ? FormatCount(static_cast<std::uint64_t>(std::llround(quantity.value))) : Whole(quantity.value);
  if (type == "percent") return fmt::format("{}%", FormatNumber(std::round(quantity.value * 1000) / 10));
  if (type == "bytes" && countable) return FormatBytes(static_cast<std::uint64_t>(quantity.value));
  if (type == "seconds") return fmt::format("{} s", FormatNumber(quantity.value));
  return FormatNumber(quantity.value);
}

std::string NamesText(const model::Identifiers& names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const model::Identifier& name : names) texts.push_back(name.text);
  return Join(texts, ", ");
}

// What one place of a template is filled with. Clauses nest as deep as our own templates do.
struct ArgumentText {
  std::string_view type;

  std::string operator()(const model::Quantity& value) const { return NumberText(value, type); }
  std::string operator()(const model::Position& value) const { return PositionText(value); }
  std::string operator()(const model::PositionRange& value) const { return RangeText(value); }
  std::string operator()(const model::Extent& value) const { return ExtentText(value); }
  std::string operator()(const model::Identifier& value) const { return value.text; }
  std::string operator()(const model::Identifiers& value) const { return NamesText(value); }
  std::string operator()(const model::Quote& value) const { return QuoteText(value); }  // NOLINT(misc-no-recursion)
  std::string operator()(const std::vector<model::Statement>& clauses) const {          // NOLINT(misc-no-recursion)
    std::string text;
    for (const model::Statement& clause : clauses) text += Sentence(clause);
    return text;
  }
};

// A place of a template, "{name:type}".
struct Place {
  explicit Place(std::string_view text) : whole(text), name(text.substr(0, text.find(':'))) {
    if (name.size() < text.size()) type = text.substr(name.size() + 1);
  }
  std::string_view whole;
  std::string_view name;
  std::string_view type;
};

// Calls `text` with what stands between the places of a template, and `place` with each of them, in order.
template <class OnText, class OnPlace>
void ForEachPart(std::string_view pattern, OnText text, OnPlace place) {
  std::size_t copied = 0;
  for (std::size_t open = pattern.find('{'); open != std::string_view::npos; open = pattern.find('{', copied)) {
    const std::size_t close = pattern.find('}', open);
    text(pattern.substr(copied, open - copied));
    place(Place(pattern.substr(open + 1, close - open - 1)));
    copied = close + 1;
  }
  text(pattern.substr(copied));
}

// Words that give the sign of a value. The number beside one is written without it: "rose by 3%", never "fell by -3%".
struct Direction {
  std::string_view type;
  std::string_view otherwise;  // of a value below 0; else the type itself is the word
};
constexpr std::array kDirections = {Direction{"fell", "rose"}, Direction{"rose", "fell"}, Direction{"above", "below"}};

const Direction* FindDirection(std::string_view type) {
  const auto* at = std::find_if(kDirections.begin(), kDirections.end(),
                                [&](const Direction& direction) { return direction.type == type; });
  return at == kDirections.end() ? nullptr : at;
}

bool HasDirection(std::string_view pattern, std::string_view name) {
  return std::any_of(kDirections.begin(), kDirections.end(), [&](const Direction& direction) {
    return pattern.find(fmt::format("{{{}:{}}}", name, direction.type)) != std::string_view::npos;
  });
}

std::string QuantityText(model::Quantity quantity, const Place& place, std::string_view pattern) {
  if (place.type == "s") return quantity.value == 1 ? "" : "s";
  if (const Direction* direction = FindDirection(place.type))
    return std::string(quantity.value < 0 ? direction->otherwise : direction->type);
  if (HasDirection(pattern, place.name)) quantity.value = std::abs(quantity.value);
  return NumberText(quantity, place.type);
}

std::string PlaceText(const model::Statement& statement, const Place& place,  // NOLINT(misc-no-recursion)
                      std::string_view pattern) {
  const model::Argument* argument = statement.Find(place.name);
  if (argument == nullptr) return fmt::format("{{{}}}", place.whole);
  if (const auto* quantity = std::get_if<model::Quantity>(&argument->value))
    return QuantityText(*quantity, place, pattern);
  return place.type == "s" ? "s" : std::visit(ArgumentText{place.type}, argument->value);
}

struct MentionsPosition {
  model::Position wanted;

  bool operator()(const model::Position& value) const { return SamePosition(value, wanted); }
  bool operator()(const model::PositionRange& value) const {
    const model::Position last = value.last.known() ? value.last : value.first;
    return std::is_lteq(CompareOnAxis(value.first, wanted)) && std::is_lteq(CompareOnAxis(wanted, last));
  }
  bool operator()(const std::vector<model::Statement>& clauses) const {  // NOLINT(misc-no-recursion)
    return std::any_of(clauses.begin(), clauses.end(),
                       [&](const model::Statement& clause) { return Mentions(clause, wanted); });
  }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

struct IsName {
  std::string_view wanted;

  bool operator()(const model::Identifier& value) const { return value.text == wanted; }
  bool operator()(const std::vector<model::Statement>& clauses) const {  // NOLINT(misc-no-recursion)
    return std::any_of(clauses.begin(), clauses.end(),
                       [&](const model::Statement& clause) { return MentionsName(clause, wanted); });
  }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

struct FindQuote {
  const model::Quote* operator()(const model::Quote& value) const { return &value; }
  const model::Quote* operator()(const std::vector<model::Statement>& clauses) const {  // NOLINT(misc-no-recursion)
    for (const model::Statement& clause : clauses) {
      if (const model::Quote* quote = QuoteIn(clause)) return quote;
    }
    return nullptr;
  }
  template <class Other>
  const model::Quote* operator()(const Other&) const {
    return nullptr;
  }
};

}  // namespace

// Rows are numbered by us when a file has no step: people know them as logged points.
std::string_view AxisWord(model::Axis axis) {
  constexpr std::array<std::string_view, model::kAxisCount> kWords = {"step",  "token",  "sample",
                                                                      "epoch", "second", "logged point"};
  return kWords[static_cast<std::size_t>(axis)];
}

bool Mentions(const model::Statement& statement, model::Position position) {  // NOLINT(misc-no-recursion)
  return position.known() && std::any_of(statement.arguments.begin(), statement.arguments.end(),
                                         [&](const model::Argument& argument) {  // NOLINT(misc-no-recursion)
                                           return std::visit(MentionsPosition{position}, argument.value);
                                         });
}

bool MentionsName(const model::Statement& statement, std::string_view name) {  // NOLINT(misc-no-recursion)
  return std::any_of(statement.arguments.begin(), statement.arguments.end(),
                     [&](const model::Argument& argument) {  // NOLINT(misc-no-recursion)
                       return std::visit(IsName{name}, argument.value);
                     });
}

const model::Quote* QuoteIn(const model::Statement& statement) {  // NOLINT(misc-no-recursion)
  for (const model::Argument& argument : statement.arguments) {
    if (const model::Quote* quote = std::visit(FindQuote(), argument.value)) return quote;
  }
  return nullptr;
}

std::string QuoteText(const model::Quote& quote) {  // NOLINT(misc-no-recursion)
  std::string text = quote.text;
  for (const model::Statement& statement : quote.says) text += Sentence(statement);
  return text;
}

std::string PositionText(model::Position position) {
  return position.known() ? fmt::format("{} {}", AxisWord(position.axis()), position.value()) : std::string();
}

std::string RangeText(model::PositionRange range) {
  const bool one = !range.last.known() || CompareOnAxis(range.first, range.last) != std::partial_ordering::less;
  if (one || !range.first.known()) return PositionText(range.first);
  return fmt::format("{}s {}-{}", AxisWord(range.first.axis()), range.first.value(), range.last.value());
}

std::string ExtentText(model::Extent extent) {
  const bool whole = extent.amount >= 0 && extent.amount < 1e15 && extent.amount == std::floor(extent.amount);
  const std::string amount =
      whole ? FormatCount(static_cast<std::uint64_t>(extent.amount)) : FormatNumber(extent.amount);
  return fmt::format("{} {}{}", amount, AxisWord(extent.axis), extent.amount == 1 ? "" : "s");
}

std::string Sentence(const model::Statement& statement) {  // NOLINT(misc-no-recursion)
  const std::string_view text = catalogue::FindTemplate(statement.id);
  if (text.empty()) return statement.id;
  std::string sentence;
  ForEachPart(
      text, [&](std::string_view plain) { sentence += plain; },
      [&](const Place& place) { sentence += PlaceText(statement, place, text); });  // NOLINT(misc-no-recursion)
  return sentence;
}

std::string SentencePattern(std::string_view statement_id, std::string_view letter) {
  std::string sentence;
  ForEachPart(
      catalogue::FindTemplate(statement_id), [&](std::string_view plain) { sentence += plain; },
      [&](const Place& place) {
        if (place.type == "s" || FindDirection(place.type) != nullptr) return void(sentence += place.type);
        sentence += letter;
        if (place.type == "percent") sentence += '%';
      });
  return sentence;
}

}  // namespace vigil::report
