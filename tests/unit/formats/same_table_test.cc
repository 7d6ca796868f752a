// One table through every reader, under every name of the step: the same series.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/base.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "journal/journal.h"
#include "support/tfevents_writer.h"
#include "tabular/column_roles.h"
#include "wandb_writer.h"

namespace vigil::formats {
namespace {

constexpr const char* kNames[] = {"loss", "grad_norm", "lr"};

struct TableRow {
  std::int64_t step = 0;
  std::optional<double> values[3];  // of kNames
};

// Sixty rows; the loss is NaN in one, and the gradient norm is logged in every second. All values are exact in a float.
std::vector<TableRow> Table() {
  std::vector<TableRow> rows;
  for (int i = 0; i < 60; ++i) {
    TableRow row;
    row.step = 10 * (i + 1);
    row.values[0] = i == 40 ? std::nan("") : 3 - i / 32.0;
    if (i % 2 == 0) row.values[1] = 1 + (i % 8) / 16.0;
    row.values[2] = (64 - i) / 65536.0;
    rows.push_back(row);
  }
  return rows;
}

std::string Spelled(double value, std::string_view nan) {
  return std::isnan(value) ? std::string(nan) : FormatExact(value);
}

const ingest::Format& FormatOf(std::string_view id) {
  for (const ingest::Format& format : Formats()) {
    if (format.id == id) return format;
  }
  ADD_FAILURE() << "no format " << id;
  std::abort();
}

using Runs = std::vector<model::Run>;

Runs ReadAs(std::string_view format, const std::string& path, std::string_view bytes) {
  auto runs = ingest::ReadRunsInBytes(path, bytes, FormatOf(format));
  EXPECT_TRUE(runs) << format << ": " << runs.error().Text();
  return runs ? std::move(*runs) : Runs();
}

// As a user would: the content says what it is.
Runs ReadRecognised(const std::string& path, std::string_view bytes) {
  const ingest::Format* const format = ingest::Recognise(Formats(), {path, bytes.substr(0, 65536), bytes.size()});
  if (format == nullptr) {
    ADD_FAILURE() << path << ": no format is sure of it\n" << bytes.substr(0, 300);
    return {};
  }
  return ReadAs(format->id, path, bytes);
}

const model::Series* FindSignal(const Runs& runs, std::string_view signal) {
  for (const model::Run& run : runs) {
    if (const model::Series* const series = run.Find(signal)) return series;
  }
  return nullptr;
}

void ExpectTheTable(const Runs& runs, model::Axis axis = model::Axis::kStep) {
  for (std::size_t column = 0; column < 3; ++column) {
    const model::Series* const series = FindSignal(runs, kNames[column]);
    ASSERT_NE(series, nullptr) << kNames[column];
    EXPECT_EQ(series->axis, axis) << kNames[column];
    std::size_t at = 0;
    for (const TableRow& row : Table()) {
      if (!row.values[column]) continue;
      ASSERT_LT(at, series->size()) << kNames[column];
      ASSERT_EQ(series->steps[at], row.step) << kNames[column];
      const double wanted = *row.values[column];
      ASSERT_EQ(std::isnan(series->values[at]), std::isnan(wanted)) << kNames[column] << " at " << row.step;
      if (!std::isnan(wanted)) {
        ASSERT_EQ(series->values[at], wanted) << kNames[column] << " at " << row.step;
      }
      ++at;
    }
    EXPECT_EQ(at, series->size()) << kNames[column];
    EXPECT_EQ(series->segment_starts.size(), 1U) << kNames[column];
  }
  for (const model::Run& run : runs) {
    for (const model::Series& series : run.series)
      EXPECT_EQ(tabular::StepPriority(series.raw), 0) << series.raw << " became a metric";
  }
}

// ---- formats in which the step has a name

std::string JsonRow(const TableRow& row, std::string_view step, std::string_view nan = "NaN") {
  std::string text = fmt::format("{{\"{}\": {}", step, row.step);
  for (std::size_t i = 0; i < 3; ++i) {
    if (row.values[i]) text += fmt::format(", \"{}\": {}", kNames[i], Spelled(*row.values[i], nan));
  }
  return text + "}";
}

std::string AsJsonLines(std::string_view step) {
  std::string text;
  for (const TableRow& row : Table()) text += JsonRow(row, step) + "\n";
  return text;
}

std::string AsJsonArray(std::string_view step) {
  std::string text = "[\n";
  for (const TableRow& row : Table()) text += (text.size() > 2 ? ",\n" : "") + JsonRow(row, step);
  return text + "\n]\n";
}

std::string AsCells(std::string_view step, char delimiter) {
  std::string text(step);
  for (const char* const name : kNames) text += fmt::format("{}{}", delimiter, name);
  text += '\n';
  for (const TableRow& row : Table()) {
    text += std::to_string(row.step);
    for (const auto& value : row.values) text += fmt::format("{}{}", delimiter, value ? Spelled(*value, "nan") : "");
    text += '\n';
  }
  return text;
}

std::string AsLongCells(std::string_view step) {
  std::string text = fmt::format("{},metric,value\n", step);
  for (const TableRow& row : Table()) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i]) text += fmt::format("{},{},{}\n", row.step, kNames[i], Spelled(*row.values[i], "nan"));
    }
  }
  return text;
}

std::string AsLongJsonLines(std::string_view step) {
  std::string text;
  for (const TableRow& row : Table()) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i])
        text += fmt::format("{{\"{}\": {}, \"name\": \"{}\", \"value\": {}}}\n", step, row.step, kNames[i],
                            Spelled(*row.values[i], "NaN"));
    }
  }
  return text;
}

std::string AsWandb(std::string_view step) {
  wandb_writer::LogFile file;
  int calls = 0;
  for (const TableRow& row : Table()) {
    wandb_writer::Items items = {{std::string(step), std::to_string(row.step)}};
    // Where the client's own count is not the step it counts log calls.
    if (step != "_step") items.emplace_back("_step", std::to_string(calls++));
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i]) items.emplace_back(kNames[i], Spelled(*row.values[i], "\"NaN\""));
    }
    file.Add(wandb_writer::History(items));
  }
  return file.Add(wandb_writer::Exit(0)).bytes();
}

// A database as SQLite itself writes it after these statements.
std::string MakeDatabase(const std::vector<std::string>& statements) {
  sqlite3* opened = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &opened), SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  for (const std::string& statement : statements)
    EXPECT_EQ(sqlite3_exec(opened, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << statement;
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(opened, "main", &size, 0);
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

std::string AsTrackio(std::string_view step) {
  std::vector<std::string> statements = {
      "CREATE TABLE metrics (run_name TEXT, step INT, timestamp TEXT, metrics TEXT)"};
  int calls = 0;
  for (const TableRow& row : Table())
    statements.push_back(fmt::format("INSERT INTO metrics VALUES ('a', {}, '2026-01-01T00:00:{:02}', '{}')",
                                     step == "_step" ? row.step : calls, calls % 60,
                                     JsonRow(row, step == "_step" ? "x" : step)));
  return MakeDatabase(statements);
}

struct NamedStep {
  const char* format;
  std::function<Runs(std::string_view)> read;
};

std::vector<NamedStep> WithNamedSteps() {
  return {
      {"json_lines", [](std::string_view step) { return ReadRecognised("m.jsonl", AsJsonLines(step)); }},
      {"long_json_lines", [](std::string_view step) { return ReadAs("jsonl", "m.jsonl", AsLongJsonLines(step)); }},
      {"json_array", [](std::string_view step) { return ReadRecognised("m.json", AsJsonArray(step)); }},
      {"csv", [](std::string_view step) { return ReadRecognised("m.csv", AsCells(step, ',')); }},
      {"tsv", [](std::string_view step) { return ReadRecognised("m.tsv", AsCells(step, '\t')); }},
      {"long_csv", [](std::string_view step) { return ReadRecognised("m.csv", AsLongCells(step)); }},
      {"wandb", [](std::string_view step) { return ReadRecognised("run-a.wandb", AsWandb(step)); }},
      {"trackio", [](std::string_view step) { return ReadRecognised("a.db", AsTrackio(step)); }},
  };
}

class SameTable : public ::testing::TestWithParam<NamedStep> {};

TEST_P(SameTable, GivesTheSameSeriesUnderEveryNameOfTheStep) {
  for (const std::string_view step : tabular::StepNames()) {
    SCOPED_TRACE(step);
    ExpectTheTable(GetParam().read(step));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SameTable, ::testing::ValuesIn(WithNamedSteps()),
                         [](const auto& tested) { return std::string(tested.param.format); });

// ---- log text

std::string AsDictLines(std::string_view step) {
  std::string text;
  for (const TableRow& row : Table()) {
    text += "{";
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i]) text += fmt::format("'{}': {}, ", kNames[i], Spelled(*row.values[i], "nan"));
    }
    text += fmt::format("'{}': {}}}\n", step, row.step);
  }
  return text;
}

std::string AsKeyValueLines(std::string_view step) {
  std::string text;
  for (const TableRow& row : Table()) {
    text += fmt::format("{}={}", step, row.step);
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i]) text += fmt::format(" {}={}", kNames[i], Spelled(*row.values[i], "nan"));
    }
    text += '\n';
  }
  return text;
}

class SameTableInLogs : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SameTableInLogs, GivesTheSameSeriesFromDictLines) {
  ExpectTheTable(ReadAs("log-text", "train.log", AsDictLines(GetParam())));
}

TEST_P(SameTableInLogs, GivesTheSameSeriesFromKeyValueLines) {
  ExpectTheTable(ReadAs("log-text", "train.log", AsKeyValueLines(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(StepNames, SameTableInLogs, ::testing::ValuesIn(tabular::StepNames()), [](const auto& tested) {
  std::string name(tested.param);
  for (char& c : name) c = c == '/' ? '_' : c;
  return fmt::format("{}_{}", tested.index, name);
});

// ---- formats that have a place of their own for the step

TEST(SameTableWithOwnSteps, FromAnEventFile) {
  std::string bytes = tfevents_writer::FileVersion();
  for (const TableRow& row : Table()) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (row.values[i]) bytes += tfevents_writer::Scalar(kNames[i], row.step, static_cast<float>(*row.values[i]));
    }
  }
  ExpectTheTable(ReadRecognised("events.out.tfevents.1.host", bytes));
}

TEST(SameTableWithOwnSteps, FromMlflowFiles) {
  Runs runs;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string text;
    for (const TableRow& row : Table()) {
      if (row.values[i]) text += fmt::format("1763200212345 {} {}\n", Spelled(*row.values[i], "nan"), row.step);
    }
    const std::string path = fmt::format("mlruns/0/0123456789abcdef0123456789abcdef/metrics/{}", kNames[i]);
    for (model::Run& run : ReadRecognised(path, text)) runs.push_back(std::move(run));
  }
  ExpectTheTable(runs);
}

TEST(SameTableWithOwnSteps, FromADatabaseOfMlflow) {
  std::vector<std::string> statements = {
      "CREATE TABLE runs (run_uuid TEXT, name TEXT)", "INSERT INTO runs VALUES ('1', 'a')",
      "CREATE TABLE metrics (key TEXT, value REAL, timestamp INT, step INT, is_nan INT, run_uuid TEXT)"};
  for (const TableRow& row : Table()) {
    for (std::size_t i = 0; i < 3; ++i) {
      if (!row.values[i]) continue;
      statements.push_back(fmt::format("INSERT INTO metrics VALUES ('{}', {}, 1763200212345, {}, {}, '1')", kNames[i],
                                       Spelled(*row.values[i], "0"), row.step, std::isnan(*row.values[i]) ? 1 : 0));
    }
  }
  ExpectTheTable(ReadRecognised("mlflow.db", MakeDatabase(statements)));
}

TEST(SameTableWithOwnSteps, FromAJournal) {
  std::string bytes = journal::FileHeader();
  journal::BlockBuilder builder;
  builder.AddBegin({});
  for (std::uint32_t i = 0; i < 3; ++i) {
    journal::Definition definition;
    definition.id = i;
    definition.name = kNames[i];
    builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
  }
  std::uint64_t time_ms = 1000;
  for (const TableRow& row : Table()) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (row.values[i]) builder.Add(i, row.step, *row.values[i], time_ms);
    }
    time_ms += 500;
  }
  builder.AddEntry(journal::Section::kEnd, EncodeEntry(journal::End{0, time_ms}));
  builder.Finish(0, bytes);
  ExpectTheTable(ReadRecognised("rank-0.vigil", bytes));
}

// ---- the framework is not in the format

TEST(SameTableFramework, ABareArrayOfRowsSaysNothingAboutWhoWroteIt) {
  for (const model::Run& run : ReadRecognised("m.json", AsJsonArray("step"))) EXPECT_EQ(run.framework, "");
}

}  // namespace
}  // namespace vigil::formats
