#include "accuracy/cases.h"

#include <fmt/format.h>

#include <functional>

namespace vigil::accuracy {
namespace {

using Row = std::vector<std::string_view>;

// Calls `take` for each row, its cells in the order of `columns`.
Status ForEachRow(std::string_view tsv, std::string_view origin, const std::vector<std::string>& columns,
                  const std::function<void(const Row&)>& take) {
  std::vector<std::size_t> places;
  int number = 0;
  for (const std::string_view line : Split(tsv, '\n')) {
    ++number;
    if (line.empty()) continue;
    const Row cells = Split(line, '\t');
    if (places.empty()) {
      for (const std::string& column : columns) {
        std::size_t at = 0;
        while (at < cells.size() && Trim(cells[at]) != column) ++at;
        if (at == cells.size())
          return Fail(ErrorCode::kInvalid, std::string(origin), fmt::format("the header has no column '{}'", column));
        places.push_back(at);
      }
      continue;
    }
    Row row;
    for (const std::size_t place : places) row.push_back(place < cells.size() ? Trim(cells[place]) : "");
    if (row[0].empty())
      return Fail(ErrorCode::kInvalid, fmt::format("{}:{}: the first column is empty", origin, number));
    take(row);
  }
  if (places.empty()) return Fail(ErrorCode::kInvalid, std::string(origin), "no header line");
  return {};
}

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(", ");
    if (end != 0) words.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return words;
}

}  // namespace

Expectation ParseExpectation(std::string_view text) {
  constexpr std::string_view kRanks = ";ranks=";
  Expectation expectation;
  text = Trim(text);
  if (text.empty() || text == "-") return expectation;
  if (text == "none") {
    expectation.kind = Expectation::Kind::kHealthy;
    return expectation;
  }
  expectation.kind = Expectation::Kind::kFinding;
  if (const std::size_t at = text.find(kRanks); at != std::string_view::npos) {
    for (const std::string& rank : WordsOf(text.substr(at + kRanks.size()))) {
      expectation.ranks.push_back(static_cast<std::int32_t>(ParseInteger(rank).value_or(-1)));
    }
    text = text.substr(0, at);
  }
  expectation.ids = WordsOf(text);
  return expectation;
}

Result<std::vector<Case>> ParseFixtureLabels(std::string_view tsv, std::string_view origin) {
  std::vector<Case> cases;
  const auto take = [&](const Row& row) {
    Case made;
    made.path = row[0];
    made.group = row[1];
    made.label = row[2];
    made.split = row[3];
    made.wanted = row[4];
    made.expectation = ParseExpectation(row[4]);
    made.causes = WordsOf(row[5]);
    made.onset_step = ParseInteger(row[6]).value_or(-1);
    cases.push_back(std::move(made));
  };
  const Status read =
      ForEachRow(tsv, origin, {"path", "trainer", "fault", "split", "expect", "cause", "onset_step"}, take);
  if (!read) return Fail(read.error());
  return cases;
}

Result<std::vector<Case>> ParseCorpusManifest(std::string_view tsv, std::string_view origin) {
  std::vector<Case> cases;
  const auto take = [&](const Row& row) {
    Case made;
    made.path = row[0];
    made.group = row[1];
    // "hang / uneven eval batch": the part before the slash names the label, the rest is a remark.
    made.label = Trim(row[2].substr(0, row[2].find(" / ")));
    made.wanted = row[3];
    made.expectation = ParseExpectation(row[3]);
    made.confidence = row[4];
    cases.push_back(std::move(made));
  };
  const Status read = ForEachRow(tsv, origin, {"path", "kind", "label", "expect", "confidence"}, take);
  if (!read) return Fail(read.error());
  return cases;
}

Result<std::vector<Case>> ParseMadeManifest(std::string_view tsv, std::string_view origin) {
  std::vector<Case> cases;
  const auto take = [&](const Row& row) {
    Case made;
    made.path = row[0];
    made.group = row[1];
    made.label = row[2];
    made.wanted = row[3];
    made.expectation = ParseExpectation(row[3]);
    if (row[4] != "-") made.causes = WordsOf(row[4]);
    made.onset_step = ParseInteger(row[5]).value_or(-1);
    made.confidence = row[6];
    cases.push_back(std::move(made));
  };
  const Status read =
      ForEachRow(tsv, origin, {"path", "kind", "label", "expect", "cause", "onset", "confidence"}, take);
  if (!read) return Fail(read.error());
  return cases;
}

Result<std::map<std::string, std::string>> ParseReadings(std::string_view tsv, std::string_view origin) {
  std::map<std::string, std::string> readings;
  const Status read = ForEachRow(tsv, origin, {"path", "reading"},
                                 [&](const Row& row) { readings[std::string(row[0])] = std::string(row[1]); });
  if (!read) return Fail(read.error());
  return readings;
}

}  // namespace vigil::accuracy
