// Small files that unfold to much: names, depth, series, runs, axes, bytes. The program names the file or reads what
// its limits allow, stays within its memory, and the good log beside it gets its verdict.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <zstd.h>

#include <functional>
#include <memory>

#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"
#include "unit/formats/wandb_writer.h"

namespace vigil::pipeline {
namespace {

using ::testing::HasSubstr;

struct Bomb {
  const char* name = nullptr;
  const char* file = nullptr;
  std::function<std::string()> make;
};

void PrintTo(const Bomb& bomb, std::ostream* out) { *out << bomb.name; }

std::string Repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string Packed(const std::string& raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
  return packed;
}

// A name of ten letters, then rounds that join the last name to itself.
std::string PickleOfDoubledNames() {
  std::string out("\x80\x04\x58\x0a\0\0\0aaaaaaaaaa\x94", 18);
  for (char i = 0; i < 31; ++i) out += {'h', i, 'h', i, '\x93', '\x94'};
  return out + '.';
}

// A megabyte of text, called as a constructor again and again.
std::string PickleOfCalledText() {
  const std::string text(1'000'000, 'a');
  return std::string("\x80\x04X\x40\x42\x0f\0", 7) + text + "\x94" + Repeated(std::string_view("h\0)R", 4), 20'000) +
         '.';
}

std::string DottedKey() { return "a" + Repeated(".a", 140'000) + " = 1\n"; }

std::string JsonDepth() { return "{\"step\": 1, \"x\": " + Repeated("[", 500'000) + "\n"; }

// Each name stands for two of the one before.
std::string YamlOfAliases() {
  std::string out = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) out += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  return out + "learning_rate: 1.0e-4\n";
}

std::string JsonlOfManyKeys() {
  std::string rows;
  for (int row = 0; row < 20'000; ++row) {
    rows += fmt::format("{{\"step\": {}", row);
    for (int key = 0; key < 30; ++key) rows += fmt::format(", \"key_{}_{}\": 1", row, key);
    rows += "}\n";
  }
  return Packed(rows);
}

std::string CsvOfManyColumns() {
  std::string header = "step";
  std::string row = "1";
  for (int i = 0; i < 300'000; ++i) {
    header += fmt::format(",c{}", i);
    row += ",1";
  }
  return Packed(header + "\n" + Repeated(row + "\n", 100));
}

std::string TrackioOfManyRuns() {
  sqlite3* opened = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &opened), SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  std::string values;
  for (int i = 0; i < 100; ++i) values += fmt::format("{}\"k{}\": 1.0", i == 0 ? "" : ", ", i);
  const std::string script = fmt::format(
      "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL, run_name TEXT NOT NULL, "
      "step INTEGER NOT NULL, metrics TEXT NOT NULL);"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO "
      "metrics(timestamp, run_name, step, metrics) SELECT '2026-01-01T00:00:00', 'run' || i, 0, '{{{}}}' FROM n;",
      values);
  EXPECT_EQ(sqlite3_exec(opened, script.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(opened, "main", &size, 0);
  const std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return Packed(file);
}

// 10,000 metrics with an axis each, and rows in which all of them stand.
std::string WandbOfManyAxes() {
  using namespace formats::wandb_writer;
  constexpr int kAxes = 10'000;
  LogFile log;
  Items row;
  for (int i = 0; i < kAxes; ++i) {
    const std::string name = fmt::format("m{}", i);
    const std::string axis = fmt::format("axis{}", i);
    log.Add(Bytes(12, Bytes(1, name) + Bytes(4, axis)));
    row.emplace_back(name, "1");
    row.emplace_back(axis, "2");
  }
  for (int i = 0; i < 10; ++i) log.Add(History(row));
  return Packed(log.bytes());
}

std::string Zeros() { return Packed(std::string(std::size_t{512} << 20U, '\0')); }
std::string ZerosTwice() { return Packed(Packed(std::string(std::size_t{512} << 20U, '\0'))); }
std::string OneLine() { return Packed("{\"step\": 1, \"loss\": " + std::string(std::size_t{512} << 20U, '1')); }

const std::vector<Bomb>& AllBombs() {
  static const std::vector<Bomb> all = {
      {"PickleOfDoubledNames", "x_training_args.bin", PickleOfDoubledNames},
      {"PickleOfCalledText", "y_training_args.bin", PickleOfCalledText},
      {"TomlDepth", "deep.toml", DottedKey},
      {"JsonDepth", "deep.jsonl", JsonDepth},
      {"YamlAliases", "config.yaml", YamlOfAliases},
      {"JsonlKeys", "keys.jsonl.zst", JsonlOfManyKeys},
      {"CsvColumns", "columns.csv.zst", CsvOfManyColumns},
      {"TrackioRuns", "project.db.zst", TrackioOfManyRuns},
      {"WandbAxes", "run-abc.wandb.zst", WandbOfManyAxes},
      {"Zeros", "zeros.log.zst", Zeros},
      {"ZerosTwice", "zeros.log.zst.zst", ZerosTwice},
      {"OneLine", "line.jsonl.zst", OneLine},
  };
  return all;
}

class Bombs : public ScratchTest, public ::testing::WithParamInterface<Bomb> {};

TEST_P(Bombs, LeaveTheLogBesideThemItsVerdict) {
  Write(std::string("bomb/") + GetParam().file, GetParam().make());
  std::string rows;
  for (int step = 1; step <= 60; ++step)
    rows +=
        fmt::format("{{\"step\": {}, \"loss\": {}}}\n", step, step < 40 ? fmt::format("{:.4f}", 3.0 / step) : "NaN");
  Write("good/train.jsonl", rows);
  const auto outcome = testing_support::RunVigil(
      testing_support::kProgram, "diagnose --json " + testing_support::QuoteForShell(Folder()) + " 2>&1");
  EXPECT_EQ(outcome.code, 1) << outcome.output.substr(0, 2000);
  EXPECT_THAT(outcome.output, HasSubstr("loss/non-finite"));
  rusage used = {};
  ::getrusage(RUSAGE_CHILDREN, &used);
  // 1 GiB is the budget of a small source; the rest is the program, and blocks that are counted late.
  constexpr long kMostKib = 1'500'000;
  // What sanitizers keep beside and behind each block.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr long kTimes = 4;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr long kTimes = 4;
#else
  constexpr long kTimes = 1;
#endif
#else
  constexpr long kTimes = 1;
#endif
  EXPECT_LT(used.ru_maxrss, kMostKib * kTimes);
  constexpr long kMostSeconds = 60;
  EXPECT_LT(used.ru_utime.tv_sec, kMostSeconds * kTimes);
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, Bombs, ::testing::ValuesIn(AllBombs()),
                         [](const auto& bomb) { return std::string(bomb.param.name); });

}  // namespace
}  // namespace vigil::pipeline
