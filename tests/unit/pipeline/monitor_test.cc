// Runs that are watched: at every look the findings are those of the files as they are then, and what only grew is
// neither joined nor judged again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "catalogue/catalogue.h"
#include "journal/journal.h"
#include "pipeline/pipeline.h"
#include "report/sentence.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  return lines;
}

std::string Content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// All that is reported about the runs, in the order of their names.
std::string TextOf(const std::vector<model::RunReport>& runs) {
  std::vector<std::string> texts;
  for (const model::RunReport& run : runs) {
    std::string text = run.run.name + "\n";
    for (const model::Finding& finding : run.findings) {
      text += fmt::format("  {} [{}] {} {}-{}: {}{}\n", finding.id, Name(finding.severity), finding.signal,
                          finding.first.value(), finding.last.value(), Name(finding.first.axis()),
                          report::Sentence(finding.says));
    }
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() : folder_(fs::temp_directory_path() / fmt::format("vigil_monitor_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~MonitorTest() override { fs::remove_all(folder_); }

  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << text;
  }
  std::string Paths() const { return folder_.string(); }

  // What reading the files from the beginning gives now.
  std::string Afterwards() const {
    std::vector<model::RunReport> runs;
    for (model::Run& run : ImportPaths({Paths()}).runs) runs.push_back(DiagnoseRun(std::move(run), thresholds_, false));
    return TextOf(runs);
  }

  // Rows of a JSON lines file; the loss is NaN at `bad`, and jumps at `spike`.
  static std::string Rows(int first, int last, int bad = -1, int spike = -1) {
    std::string text;
    for (int step = first; step <= last; ++step) {
      const double noise = 1 + 0.03 * std::sin(step * 12.9898) + 0.02 * std::sin(step * 78.233);
      const double loss = (2 + 6 / std::sqrt(step)) * noise * (step == spike ? 5 : 1);
      text += fmt::format("{{\"step\": {}, \"loss\": {}, \"grad_norm\": {:.4f}, \"lr\": 0.0003}}\n", step,
                          step == bad ? "NaN" : fmt::format("{:.5f}", loss), noise);
    }
    return text;
  }

  fs::path folder_;
  catalogue::Thresholds thresholds_;
};

TEST_F(MonitorTest, AppendsWhatIsNewWithoutJoiningAgain) {
  Append("metrics.jsonl", Rows(1, 3000));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  const Monitor::Work before = monitor.work();
  for (int step = 3001; step < 4000; step += 100) {
    Append("metrics.jsonl", Rows(step, step + 99, 3950, 3250));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
  }
  EXPECT_FALSE(monitor.Poll());
  EXPECT_EQ(monitor.work().joins, before.joins);
  EXPECT_EQ(monitor.work().replays, 0U);
  EXPECT_THAT(TextOf(monitor.report().runs), testing::HasSubstr("loss/non-finite"));
}

TEST_F(MonitorTest, TakesARestartASettingAndANewMetricAsTheyCome) {
  Append("config.json", "{\"learning_rate\": 0.0003, \"max_steps\": 5000, \"warmup_steps\": 100}\n");
  Append("metrics.jsonl", Rows(1, 3000));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  // A busy machine looks for new files less often.
  const auto poll = [&] {
    for (int i = 0; i < 500; ++i) {
      if (monitor.Poll()) return true;
      ::usleep(10'000);
    }
    return false;
  };
  const auto look = [&](const char* after) {
    ASSERT_TRUE(poll()) << after;
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << after;
  };
  Append("metrics.jsonl", Rows(2500, 2600));
  look("steps go back");
  Append("metrics.jsonl", "{\"step\": 2601, \"eval_loss\": 2.5}\n");
  look("a new metric");
  Append("metrics.jsonl", Rows(2601, 2700));
  look("rows as before");
  Append("other.jsonl", Rows(1, 2500, 2000));
  look("another file");
  Append("metrics.jsonl", Rows(2701, 2900, 2800));
  look("NaN");
}

TEST_F(MonitorTest, TwoFilesThatGrowAreJoinedAsTheirFinishedFilesAre) {
  fs::create_directories(folder_ / "a");
  fs::create_directories(folder_ / "b");
  Append("a/metrics.jsonl", Rows(1, 2500));
  Append("b/metrics.jsonl", Rows(1, 2000, -1, 700));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int i = 0; i < 5; ++i) {
    Append("a/metrics.jsonl", Rows(2501 + 50 * i, 2550 + 50 * i));
    Append("b/metrics.jsonl", Rows(2001 + 70 * i, 2070 + 70 * i, 2150));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << i;
  }
}

TEST_F(MonitorTest, ATableOfMetricsIsAppendedTo) {
  const auto rows = [](int first, int last, int bad) {
    std::string text;
    for (int step = first; step <= last; ++step)
      text += fmt::format("{},{},{:.3f},{:.2f}\n", step, step == bad ? "nan" : fmt::format("{:.5f}", 2 + 5.0 / step),
                          1 + 0.1 * std::sin(step), 120 + std::cos(step));
    return text;
  };
  Append("metrics.csv", "step,loss,grad_norm,step_time_ms\n" + rows(1, 4000, -1));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 4001; step < 5000; step += 250) {
    Append("metrics.csv", rows(step, step + 249, 4800));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
  }
  EXPECT_EQ(monitor.work().joins, 1U);
}

// A line as HF Trainer prints it.
std::string DictLine(int step, bool bad) {
  return fmt::format("{{'loss': {}, 'grad_norm': {:.4f}, 'learning_rate': 0.0003, 'epoch': {:.4f}}}\n",
                     bad ? "nan" : fmt::format("{:.4f}", 2 + 5.0 / step), 1 + 0.1 * std::sin(step), step / 1000.0);
}

TEST_F(MonitorTest, AnErrorInALongLogIsAnAlarmAtOnce) {
  for (int step = 1; step <= 3000; ++step) Append("train.log", DictLine(step, false));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  const auto look = [&](const std::string& text) {
    Append("train.log", text);
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << text;
  };
  look(DictLine(3001, false) + DictLine(3002, true));
  look("Saving model checkpoint to out/checkpoint-3000\n" + DictLine(3003, true));
  look(
      "Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n    main()\n"
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB\n");
  EXPECT_THAT(TextOf(monitor.report().runs), testing::HasSubstr("memory/oom"));
  look(DictLine(3004, true) + DictLine(3005, true));
  EXPECT_EQ(monitor.work().joins, 1U);
  EXPECT_EQ(monitor.work().replays, 0U);
}

TEST_F(MonitorTest, ALogAndATableOfOneTrainingAreOneRunAllTheTime) {
  for (int step = 1; step <= 2500; ++step) Append("train.log", DictLine(step, false));
  Append("metrics.jsonl", Rows(1, 2500));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 2501; step <= 2520; ++step) {
    Append(step % 2 == 0 ? "train.log" : "metrics.jsonl",
           step % 2 == 0 ? DictLine(step - 1, step > 2510) + DictLine(step, step > 2510)
                         : Rows(step, step + 1, step > 2510 ? step : -1));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
  }
}

// Rows of a table and lines of a log of one training, with so many digits.
std::string TableRow(int step, double loss, int digits) {
  return fmt::format("{},{:.{}f},0.0003\n", step, loss, digits);
}
std::string LogRow(int step, double loss, int digits) {
  return fmt::format("step {} | loss {:.{}f} | lr 0.0003\n", step, loss, digits);
}
double LossAt(int step) { return 2 + 5.0 / step + 0.02 * std::sin(step * 12.9898); }

TEST_F(MonitorTest, WhatTwoFilesLogAlikeIsAppendedOnce) {
  const auto write = [&](int first, int last) {
    std::string table;
    std::string log;
    for (int step = first; step <= last; ++step) {
      const double loss = step == 5300 ? 9 : LossAt(step);
      table += TableRow(step, loss, 6);
      log += LogRow(step, loss, 6);
    }
    Append("metrics.csv", table);
    Append("train.log", log);
  };
  Append("metrics.csv", "step,loss,lr\n");
  write(1, 5000);
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 5001; step <= 5500; step += 50) {
    write(step, step + 49);
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
    ASSERT_EQ(monitor.report().runs.size(), 1U);
    for (const model::Series& series : monitor.report().runs[0].run.series)
      EXPECT_EQ(series.segment_starts.size(), 1U) << series.raw << " at step " << step;
  }
  EXPECT_EQ(monitor.work().joins, 1U);
}

TEST_F(MonitorTest, TheFileThatGoesOnIsUsedWhenTheOtherStops) {
  Append("metrics.csv", "step,loss,lr\n");
  for (int step = 1; step <= 5000; ++step) {
    Append("metrics.csv", TableRow(step, LossAt(step), 6));
    Append("train.log", LogRow(step, LossAt(step), 4));
  }
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 5001; step <= 5200; ++step) {
    Append("train.log", LogRow(step, step > 5150 ? std::nan("") : LossAt(step), 4));
    if (step % 20 != 0) continue;
    ASSERT_TRUE(monitor.Poll());
  }
  EXPECT_THAT(TextOf(monitor.report().runs), testing::HasSubstr("loss/non-finite"));
  EXPECT_EQ(TextOf(monitor.report().runs), Afterwards());
}

TEST_F(MonitorTest, AFileThatNoReaderKnowsJoinsNothing) {
  Append("metrics.jsonl", Rows(1, 3000));
  Append("state.dat", std::string(5000, '\x01'));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  const std::uint64_t joins = monitor.work().joins;
  for (int step = 3001; step < 3100; step += 10) {
    Append("metrics.jsonl", Rows(step, step + 9));
    Append("state.dat", std::string(100, '\x02'));
    ASSERT_TRUE(monitor.Poll());
  }
  EXPECT_EQ(monitor.work().joins, joins);
}

// Logs of real trainers, written in pieces.
class MonitoredLog : public MonitorTest, public testing::WithParamInterface<const char*> {};

TEST_P(MonitoredLog, SaysAtEveryLookWhatTheFilesSay) {
  const fs::path source = fs::path(testing_support::kSourceDir) / "tests/fixtures/runs" / GetParam();
  std::vector<std::string> lines = Split(Content(source));
  const std::string name = source.filename().string();
  Monitor monitor({Paths()}, thresholds_);
  std::mt19937 random(5);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t count = 1 + random() % (lines.size() / 8 + 1);
    std::string text;
    for (const std::size_t end = std::min(lines.size(), at + count); at < end; ++at) text += lines[at];
    Append(name, text);
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << "after line " << at;
  }
  const model::Report end = monitor.Conclude();
  EXPECT_EQ(TextOf(end.runs), TextOf(DiagnosePaths({Paths()}, thresholds_).report.runs));
}

// Small files are read again as they grow; behind so many other lines a log is appended to.
std::string OtherLines() {
  std::string text;
  for (int i = 0; text.size() < 80'000; ++i) text += fmt::format("worker {} is alive and waits for others\n", i % 7);
  return text;
}

TEST_F(MonitorTest, EveryLogThatIsAppendedToSaysWhatItsFileSays) {
  const char* const other = std::getenv("VIGIL_LOGS");
  const fs::path runs =
      other != nullptr ? fs::path(other) : fs::path(testing_support::kSourceDir) / "tests/fixtures/runs";
  std::size_t logs = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(runs)) {
    const std::string kind = entry.path().extension().string();
    if (!entry.is_regular_file() || (kind != ".log" && kind != ".out" && kind != ".txt") || entry.file_size() > 400'000)
      continue;
    const std::vector<std::string> lines = Split(Content(entry.path()));
    fs::remove(folder_ / "train.log");
    Append("train.log", OtherLines());
    Monitor monitor({Paths()}, thresholds_);
    monitor.Poll();
    std::mt19937 random(static_cast<unsigned>(++logs));
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t count = 1 + random() % (lines.size() / 3 + 1);
      std::string text;
      for (const std::size_t end = std::min(lines.size(), at + count); at < end; ++at) text += lines[at];
      Append("train.log", text);
      monitor.Poll();
      monitor.Poll();  // a row that names no step waits a look for the bar that is drawn behind it
      EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << entry.path() << " after line " << at;
    }
    EXPECT_EQ(TextOf(monitor.Conclude().runs), TextOf(DiagnosePaths({Paths()}, thresholds_).report.runs))
        << entry.path();
  }
  EXPECT_GT(logs, 5U);
}

// A journal of a training whose loss is NaN from `bad` on, a block for every hundred steps.
std::vector<std::string> JournalBlocks(int steps, int bad) {
  std::vector<std::string> blocks = {journal::FileHeader()};
  std::uint32_t sequence = 0;
  for (int first = 1; first <= steps; first += 100) {
    journal::BlockBuilder builder;
    if (first == 1) {
      journal::Begin begin;
      begin.run = "r1";
      begin.name = "r1";
      builder.AddBegin(begin);
      journal::Definition definition;
      definition.id = 1;
      definition.name = "loss";
      builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
    }
    for (int step = first; step < first + 100; ++step)
      builder.Add(1, step, step >= bad ? std::nan("") : 2 + 5.0 / step, static_cast<std::uint64_t>(step) * 50);
    builder.Finish(sequence++, blocks.emplace_back());
  }
  return blocks;
}

TEST_F(MonitorTest, AJournalIsAppendedTo) {
  const std::vector<std::string> blocks = JournalBlocks(40'000, 39'500);
  Monitor monitor({Paths()}, thresholds_);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Append("rank0.vgl", blocks[i]);
    if (i % 10 != 0) continue;
    monitor.Poll();
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << "after block " << i;
  }
  EXPECT_LT(monitor.work().joins, 20U) << "of 41: small files are read again";
  EXPECT_EQ(monitor.work().replays, 0U);
  EXPECT_THAT(TextOf(monitor.report().runs), testing::HasSubstr("loss/non-finite"));
}

TEST_F(MonitorTest, EveryBinaryRecordThatIsAppendedToSaysWhatItsFileSays) {
  const char* const other = std::getenv("VIGIL_LOGS");
  const fs::path runs = other != nullptr ? fs::path(other) : fs::path(testing_support::kSourceDir) / "tests/fixtures";
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(runs)) {
    const std::string name = entry.path().filename().string();
    const bool wanted = name.ends_with(".wandb") || name.find("tfevents") != std::string::npos;
    if (!entry.is_regular_file() || !wanted || entry.file_size() < 66'000 || entry.file_size() > 4'000'000) continue;
    ++files;
    const std::string bytes = Content(entry.path());
    Append(name, bytes.substr(0, 66'000));
    Monitor monitor({Paths()}, thresholds_);
    monitor.Poll();
    const std::size_t piece = bytes.size() / 7 + 1;
    for (std::size_t at = 66'000; at < bytes.size(); at += piece) {
      Append(name, bytes.substr(at, piece));
      monitor.Poll();
      monitor.Poll();
      EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << entry.path() << " at byte " << at;
    }
    EXPECT_EQ(TextOf(monitor.Conclude().runs), TextOf(DiagnosePaths({Paths()}, thresholds_).report.runs))
        << entry.path();
    fs::remove(folder_ / name);
  }
  EXPECT_GT(files, 0U);
}

TEST_F(MonitorTest, ASumOfLossPartsGrowsWithItsParts) {
  const auto rows = [](int first, int last) {
    std::string text;
    for (int step = first; step <= last; ++step)
      text +=
          fmt::format("{{\"step\": {}, \"box_loss\": {}, \"cls_loss\": {:.5f}, \"dfl_loss\": {:.5f}}}\n", step,
                      step == 3500 ? "NaN" : fmt::format("{:.5f}", 1 + 2.0 / step), 2 + 1.0 / step, 0.5 + 0.1 / step);
    return text;
  };
  Append("metrics.jsonl", rows(1, 3000));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 3001; step < 4000; step += 100) {
    Append("metrics.jsonl", rows(step, step + 99));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
  }
  EXPECT_EQ(monitor.work().joins, 1U);
  EXPECT_EQ(monitor.work().replays, 0U);
}

TEST_F(MonitorTest, AnEpochTableKeepsTheStepsOfItsMapWhileItGrows) {
  const auto rows = [](int first, int last) {
    std::string text;
    for (int step = first; step <= last; ++step)
      text += fmt::format("{},{:.4f},{:.5f},{:.4f}\n", step, step / 500.0, step == 3900 ? std::nan("") : 2 + 5.0 / step,
                          1 + 0.1 * std::sin(step));
    return text;
  };
  Append("metrics.csv", "step,epoch,loss,grad_norm\n" + rows(1, 3000));
  Monitor monitor({Paths()}, thresholds_);
  ASSERT_TRUE(monitor.Poll());
  for (int step = 3001; step < 4000; step += 100) {
    Append("metrics.csv", rows(step, step + 99));
    ASSERT_TRUE(monitor.Poll());
    EXPECT_EQ(TextOf(monitor.report().runs), Afterwards()) << step;
  }
  EXPECT_EQ(monitor.work().joins, 1U);
}

INSTANTIATE_TEST_SUITE_P(Logs, MonitoredLog,
                         testing::Values("torch/lr-too-high-s12/train.log", "hf/nan-hidden-s12/train.log",
                                         "hf/nonfinite-input-s3/train.log"),
                         [](const auto& log) { return fmt::format("Log{}", log.index); });

}  // namespace
}  // namespace vigil::pipeline
