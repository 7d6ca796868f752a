// The parsers of lines, each by a table of text in and values out.
#include "textlog/line_parsers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/base.h"
#include "ingest/ingest.h"
#include "textlog/hints.h"

namespace vigil::textlog {
namespace {

constexpr std::string_view kNotMine = "not mine";

// One line for one parser, behind the lines before it. `gives` lists what the parser makes of the line: points as
// name@step=value (the axis before the step where it is no step), events as kind:name, settings as key=value.
struct Case {
  std::string_view parser;
  std::string_view before;
  std::string_view line;
  std::string_view gives;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.parser << ": " << one.line; }

std::string StepText(const model::Series& series, std::size_t i) {
  if (series.steps[i] >= kUnresolved) return "later";
  const std::string_view axis = series.axis == model::Axis::kEpoch ? "epoch"
                                : series.axis == model::Axis::kRow ? "row"
                                                                   : "";
  return fmt::format("{}{}", axis, series.steps[i]);
}

std::string_view KindName(model::EventKind kind) {
  switch (kind) {
    case model::EventKind::kException:
      return "exception";
    case model::EventKind::kSignature:
      return "signature";
    case model::EventKind::kCheckpoint:
      return "checkpoint";
    case model::EventKind::kResume:
      return "resume";
    case model::EventKind::kExit:
      return "exit";
    case model::EventKind::kNanHider:
      return "nan-hider";
    default:
      return "event";
  }
}

// A log that is fed line by line.
class Feed {
 public:
  const LineParserRow* Parse(std::string_view text) {
    LogLine line = Line(text);
    return parsers_.Parse(line);
  }

  // Gives the line to one parser alone.
  Outcome ParseWith(std::string_view parser, std::string_view text) {
    LogLine line = Line(text);
    return parsers_.Get(parser).Parse(line);
  }

  // What the latest line gave.
  std::string Given() {
    std::vector<std::string> all;
    for (const model::Series& series : builder_.part().series) {
      for (std::size_t i = 0; i < series.size(); ++i) {
        if (series.lines[i] == number_)
          all.push_back(fmt::format("{}@{}={}", series.raw, StepText(series, i), FormatExact(series.values[i])));
      }
    }
    for (const model::Event& event : builder_.part().events) {
      if (event.place.line == number_) all.push_back(fmt::format("{}:{}", KindName(event.kind), event.name));
    }
    for (const model::Fact& fact : builder_.part().facts) {
      if (fact.place.line == number_) all.push_back(fmt::format("{}={}", fact.key, fact.value));
    }
    return fmt::format("{}", fmt::join(all, " "));
  }

 private:
  LogLine Line(std::string_view text) {
    LogLine line;
    line.text = text;
    line.number = ++number_;
    line.offset = std::uint64_t{100} * number_;
    std::vector<Hint> hints;
    if (!scanner_.works()) line.hints = kHintAll;
    if (scanner_.works()) scanner_.Scan(text, hints);
    for (const Hint& hint : hints) line.hints |= HintScanner::BitsOf(hint.literal);
    return line;
  }

  ingest::PartBuilder builder_{"train.log", "log-text"};
  LogState state_{builder_, true};
  LineParsers parsers_{state_};
  HintScanner scanner_;
  std::uint32_t number_ = 0;
};

void FeedLines(Feed& feed, std::string_view lines) {
  if (lines.empty()) return;
  for (const std::string_view line : Split(lines, '\n')) feed.Parse(line);
}

class LineParserCase : public testing::TestWithParam<Case> {};

TEST_P(LineParserCase, GivesWhatTheTableSays) {
  Feed feed;
  FeedLines(feed, GetParam().before);
  const Outcome outcome = feed.ParseWith(GetParam().parser, GetParam().line);
  if (outcome == Outcome::kNotMine) {
    EXPECT_EQ(GetParam().gives, kNotMine);
    EXPECT_EQ(feed.Given(), "") << "a line that is not taken leaves nothing";
    return;
  }
  EXPECT_EQ(feed.Given(), GetParam().gives);
}

// A line that a parser takes must reach it: none before it in the order may take it away.
TEST_P(LineParserCase, IsReachedInTheOrderOfTheTable) {
  if (GetParam().gives == kNotMine) return;
  Feed alone;
  FeedLines(alone, GetParam().before);
  if (alone.ParseWith(GetParam().parser, GetParam().line) == Outcome::kNoted) return;
  Feed feed;
  FeedLines(feed, GetParam().before);
  const LineParserRow* const row = feed.Parse(GetParam().line);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->name, GetParam().parser);
  EXPECT_EQ(feed.Given(), GetParam().gives);
}

constexpr std::string_view kStep5 = "step 5 | loss 2.5";
constexpr std::string_view kEpoch3 = "Epoch 3 - loss: 0.5";
constexpr std::string_view kTraceback = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>";
constexpr std::string_view kNumbers = "1 2.9\n2 2.8\n3 2.7\n4 2.6\n5 2.5\n6 2.4\n7 2.3";

const Case kCases[] = {
    {"table-row", "epoch  train_loss  valid_loss", "0      0.512       0.480",
     "train_loss@epoch0=0.512 valid_loss@epoch0=0.48"},
    {"table-row", "step  loss  lr", "20    2.5   0.001", "loss@20=2.5 lr@20=0.001"},
    {"table-row", "update  loss  lr", "20    2.5   0.001", "loss@20=2.5 lr@20=0.001"},
    {"table-row", "trainer/global_step  loss  lr", "20    2.5   0.001", "loss@20=2.5 lr@20=0.001"},
    {"table-row", "", "0      0.512       0.480", kNotMine},
    {"progress-bar", "", " 37%|###7      | 284/873 [25:49<45:20,  4.62s/it, loss=2.31]", "loss@284=2.31"},
    {"progress-bar", "", " 37%|###7      | 284/873 [25:49<45:20,  4.62s/it, loss=2.31, global_step=900]",
     "loss@900=2.31 global_step@900=900"},
    {"progress-bar", "", "284/873 files copied, 4.62s/it", kNotMine},
    {"traceback", "", "Traceback (most recent call last):", ""},
    {"traceback", kTraceback, "ValueError: bad value", "exception:ValueError"},
    {"traceback", "", "ValueError: bad value", kNotMine},
    {"settings", "", "Namespace(lr=0.1, max_steps=100)", "lr=0.1 max_steps=100"},
    {"settings", "", "step 120 | loss 2.31", kNotMine},
    {"timer", kStep5, "    forward-backward ......: (123.4, 130.1)",
     "timers/forward-backward@5=130.1 timers/forward-backward/min@5=123.4"},
    {"timer", "", "    forward-backward ......: (123.4, 130.1)", kNotMine},
    {"failed-process", "", "srun: error: node12: task 13: Exited with exit code 137", "exit:-9"},
    {"failed-process", "", "srun: job 4711 queued and waiting for resources", kNotMine},
    {"dict", "", "{'loss': 2.3, 'step': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'update': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'it': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'steps': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'train/step': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'training/global_step': 7}", "loss@7=2.3"},
    {"dict", "", "{\"loss\": 2.3, \"trainer/global_step\": 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, '_step': 9, 'global_step': 7}", "loss@7=2.3"},
    {"dict", "", "{'loss': 2.3, 'epoch': 0.1}", "loss@later=2.3 epoch@later=0.1"},
    {"dict", "", "{'learning_rate': 0.1, 'betas': [0.9, 0.95]}", kNotMine},
    {"result-tree", "", "Result for PPO_CartPole_0:", ""},
    {"result-tree", "Result for PPO_CartPole_0:\n  episode_reward_mean: 21.5\n  training_iteration: 4", "",
     "episode_reward_mean@4=21.5"},
    {"result-tree", "", "Result: loss is fine", kNotMine},
    {"block-line", "[batch=1/4800]:", "    optim/LR (group 0)=4.0E-05", "optim/LR (group 0)@1=4e-05"},
    {"block-line", "", "    optim/LR (group 0)=4.0E-05", kNotMine},
    {"evaluation-block", kStep5, "[Eval batch=50/50] Eval on eval data:", ""},
    {"evaluation-block", "", "[Eval batch=50/50] Eval on eval data:", kNotMine},
    {"known-shape", "step 120 | loss 2.31", "step 121 | loss 2.30", "loss@121=2.3"},
    {"known-shape", "step 120 | loss 2.31", "step 121 | loss nan", kNotMine},
    {"known-shape", "", "step 121 | loss 2.30", kNotMine},
    {"metric-line", "", "step 120 | loss 2.31 | lr 3e-4", "loss@120=2.31 lr@120=0.0003"},
    {"metric-line", "", "Epoch 3 - loss: 0.5 - val_loss: 0.6", "loss@epoch3=0.5 val_loss@epoch3=0.6"},
    {"metric-line", "", "update=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "it=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "steps=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "train/step=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "training/global_step=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "trainer/global_step=7 loss=2.5", "loss@7=2.5"},
    {"metric-line", "", "batch=3 loss=2.5 global_step=7", "loss@7=2.5"},
    {"metric-line", "", "loss 2.31", kNotMine},
    {"metric-line", "", "step 120 of the plan is done", kNotMine},
    {"epoch-header", "", "Epoch 3/10", ""},
    {"epoch-header", "", "Epoch 3/10 - loss: 0.5", kNotMine},
    {"block-header", "", "[batch=1/4800]:", ""},
    {"block-header", "", "batch 1 of 4800", kNotMine},
    {"memory-report", kStep5, "(after 2 iterations) memory (MB) | allocated: 2345.6 | max allocated: 3000.5",
     "allocated@5=2345.6 max allocated@5=3000.5"},
    {"memory-report", "", "(after 2 iterations) memory (MB) | allocated: 2345.6", kNotMine},
    {"bullet", "  --> STEP: 24/25 -- GLOBAL_STEP: 25", "     | > loss: 2.5  (2.75)", "loss@25=2.5"},
    {"bullet", "", "     | > loss: 2.5  (2.75)", kNotMine},
    {"split-table", "Epoch 3/5\n  Training |  Validation", "loss  |  0.75  |  0.5",
     "loss@epoch3=0.75 val/loss@epoch3=0.5"},
    {"split-table", "Epoch 3/5", "loss  |  0.75  |  0.5", kNotMine},
    {"epoch-block", "Epoch 1/3\nTrain metrics: Loss: 1.5\nEpoch 2/3\nTrain metrics: Loss: 1.25\nEpoch 3/3",
     "Train metrics: Loss: 1.125", "Loss@epoch3=1.125"},
    {"epoch-block", "", "Train metrics: Loss: 1.125", kNotMine},
    {"epoch-block", kStep5, "Train metrics: Loss: 1.125", kNotMine},
    {"lone-score", kStep5, "val loss 3.1", "val loss@5=3.1"},
    {"lone-score", kEpoch3, "val loss 3.1", "val loss@epoch3=3.1"},
    {"lone-score", "", "val loss 3.1", kNotMine},
    {"table-header", "", "epoch  train_loss  valid_loss", ""},
    {"table-header", "", "an epoch has passed, and the loss fell", kNotMine},
    {"repeated-line", "After 100 updates the training loss is 2.31.\nAfter 200 updates the training loss is 2.21.",
     "After 300 updates the training loss is 2.11.", "training loss@300=2.11"},
    {"repeated-line", "", "After 300 updates the training loss is 2.11.", kNotMine},
    {"plain-row", kNumbers, "8 2.2", "column 2@8=2.2"},
    {"plain-row", "1 2.9", "2 2.8", kNotMine},
    {"plain-row", kStep5, "2 2.8", kNotMine},
    {"loss-scale", kStep5, "OVERFLOW! Skipping step. Attempted loss scale: 65536, reducing to 32768",
     "loss_scale@5=65536 loss_scale@6=32768 skipped_steps@6=1"},
    {"loss-scale", "", "the loss scale is 65536", kNotMine},
    {"nan-hider", "", "loss = torch.nan_to_num(loss)", "nan-hider:nan_to_num"},
    {"nan-hider", "", "# loss = torch.nan_to_num(loss)", kNotMine},
    {"notice", "", "Saving model checkpoint to out/checkpoint-500", "checkpoint:"},
    {"notice", "", "Resuming training from out/checkpoint-500", "resume:"},
    {"notice", "", "Training finished", "exit:finished"},
    {"notice", "", "if is_last: print('Training finished')", kNotMine},
    {"signature", "", "RuntimeError: CUDA error: device-side assert triggered", "signature:log/device-assert"},
    {"signature", "", "No error was found", kNotMine},
};

INSTANTIATE_TEST_SUITE_P(LineParsers, LineParserCase, testing::ValuesIn(kCases));

TEST(LineParserTable, StandsInTheOrderOfItsPriorities) {
  const auto table = LineParserTable();
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(),
                             [](const auto& left, const auto& right) { return left.priority < right.priority; }));
  std::set<std::string_view> names;
  for (const LineParserRow& row : table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " comes twice";
    EXPECT_FALSE(row.matches.empty()) << row.name;
    EXPECT_FALSE(row.reason.empty()) << row.name;
  }
}

TEST(LineParserTable, HasALineForAndOneAgainstEachParser) {
  for (const LineParserRow& row : LineParserTable()) {
    const auto is_of = [&](bool taken) {
      return std::any_of(std::begin(kCases), std::end(kCases),
                         [&](const Case& one) { return one.parser == row.name && (one.gives != kNotMine) == taken; });
    };
    EXPECT_TRUE(is_of(true)) << row.name << " has no line that it takes";
    EXPECT_TRUE(is_of(false)) << row.name << " has no line that it leaves";
  }
}

// The order in force: of two parsers that both take a line the one with the lower priority gets it.
TEST(LineParserTable, IsTriedInItsOrder) {
  struct Both {
    std::string_view before;
    std::string_view line;
    std::string_view first;
    std::string_view second;
  };
  constexpr Both kBoth[] = {
      {"step  loss  lr", "20  2.5  0.001", "table-row", "table-header"},
      {"step 120 | loss 2.31", "step 121 | loss 2.30", "known-shape", "metric-line"},
      {"[batch=1/4800]:", "    step 121 | loss: 2.30", "block-line", "metric-line"},
      {kStep5, "[Eval batch=50/50] loss=2.5:", "evaluation-block", "metric-line"},
  };
  const auto priority = [](std::string_view name) {
    const auto table = LineParserTable();
    return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; })->priority;
  };
  for (const Both& both : kBoth) {
    Feed alone;
    FeedLines(alone, both.before);
    EXPECT_NE(alone.ParseWith(both.second, both.line), Outcome::kNotMine) << both.second << " takes " << both.line;
    Feed feed;
    FeedLines(feed, both.before);
    const LineParserRow* const row = feed.Parse(both.line);
    ASSERT_NE(row, nullptr) << both.line;
    EXPECT_EQ(row->name, both.first);
    EXPECT_LT(priority(both.first), priority(both.second));
  }
}

}  // namespace
}  // namespace vigil::textlog
