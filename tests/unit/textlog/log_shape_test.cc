// Lines read by the shape of an earlier one give what reading them from scratch gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "log_support.h"

namespace vigil::textlog {
namespace {

std::string Twin(std::string_view text) { return Describe(ReadLog(text, 0, false)); }
std::string Fast(std::string_view text) { return Describe(ReadLog(text, 0, true)); }

TEST(LineShape, GivesTheSameAsReadingFromScratchOnOddNumbers) {
  constexpr std::string_view kNumbers[] = {"2.5",
                                           "2",
                                           "-2.5",
                                           "+2.5",
                                           "2.",
                                           ".5",
                                           "1e5",
                                           "1E-05",
                                           "nan",
                                           "inf",
                                           "1,234",
                                           "12,34",
                                           "1,2",
                                           "1234567890",
                                           "2.5k",
                                           "2-5",
                                           "2:5",
                                           "2.5.6",
                                           "5%",
                                           "5ms",
                                           "5_a",
                                           "",
                                           "abc",
                                           "1e400",
                                           "0x10",
                                           "18446744073709551616",
                                           "2.000000000000000000001",
                                           "(2.5)",
                                           "[2.5, 3.5]",
                                           "2/3",
                                           "2/ 30",
                                           "2/0"};
  for (const std::string_view number : kNumbers) {
    for (const std::string_view other : kNumbers) {
      const std::string text = fmt::format(
          "step 1 | loss 2.5 | lr 0.1 | 5 tok/s\nstep 2 | loss {0} | lr {1} | 5 tok/s\nstep {0} | loss 1.5 | lr {1} | "
          "{1} "
          "tok/s\nstep 4 | loss 2.5 | lr 0.1 | 5 tok/s\n",
          number, other);
      EXPECT_EQ(Fast(text), Twin(text)) << text;
    }
  }
}

std::string RandomNumber(std::mt19937& random) {
  const double value = static_cast<double>(random() % 100000) / 1000.0;
  switch (random() % 9) {
    case 0:
      return fmt::format("{}", random() % 5000);
    case 1:
      return fmt::format("{:.2e}", value);
    case 2:
      return fmt::format("{:8.3f}", value);
    case 3:
      return fmt::format("{},{:03d}", 1 + random() % 900, random() % 1000);
    case 4:
      return fmt::format("-{:.4f}", value);
    case 5:
      return random() % 4 == 0 ? "nan" : fmt::format("{:.1f}%", value);
    case 6:
      return fmt::format("{:.1f} (+{:.2f}z)", value, value);
    case 7:
      return fmt::format("{:.2f}GiB({:.2f}%)", value, value);
    default:
      return fmt::format("{:.4f}", value);
  }
}

TEST(LineShape, GivesTheSameAsReadingFromScratchOnRandomLoops) {
  constexpr std::string_view kNames[] = {"loss",       "grad_norm", "lr",   "val_loss",      "tok/s",
                                         "mtp_1 loss", "Acc@1",     "time", "actor/lr(1e-4)"};
  constexpr std::string_view kSeparators[] = {" | ", ", ", " - ", "  ", "\t", " "};
  constexpr std::string_view kBetween[] = {": ", "=", " ", ":", ":  "};
  constexpr std::string_view kOpenings[] = {
      "step ", "[2026-01-02 10:20:30,123] iteration   ", "Epoch 2, step ", "s:", "validate step: ", "Epoch [2][", ""};
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const std::string_view separator = kSeparators[random() % std::size(kSeparators)];
    const std::string_view between = kBetween[random() % std::size(kBetween)];
    const std::string_view opening = kOpenings[random() % std::size(kOpenings)];
    const bool total = random() % 2 == 0 || opening.empty() || opening.ends_with('[');
    const std::size_t names = 1 + random() % 5;
    const std::size_t first = random() % std::size(kNames);
    std::string text;
    for (int step = 0; step < 12; ++step) {
      text += fmt::format("{}{}{}{}", opening, step * 7, total ? "/ 500" : "", opening.ends_with('[') ? "]" : "");
      for (std::size_t i = 0; i < names; ++i)
        text +=
            fmt::format("{}{}{}{}", separator, kNames[(first + i) % std::size(kNames)], between, RandomNumber(random));
      text += "\n";
    }
    ASSERT_EQ(Fast(text), Twin(text)) << text;
  }
}

// One line of a log in which much goes on at once.
std::string RandomLine(std::mt19937& random, int& step) {
  const double loss = static_cast<double>(random() % 1000) / 300.0;
  switch (random() % 16) {
    case 0:
      return fmt::format("[rank{}]: step {} | loss {:.3f} | lr 1e-4", random() % 3, step, loss);
    case 1:
      return fmt::format("[Rank {}] step {} | loss {:.3f} | lr 1e-4", random() % 3, step, loss);
    case 2:
      return fmt::format("\r {:3d}%|\u2588\u258c   | {}/900 [00:{:02d}<01:00,  4.62it/s]", step / 9, step, step % 60);
    case 3:
      return fmt::format("\r {:3d}%|#5   | {}/900 [00:{:02d}<?, ?it/s, loss={:.2f}]", step / 9, step, step % 60, loss);
    case 4:
      return fmt::format(
          "\r                    \r{{'loss': {:.3f}, 'epoch': {:.2f}}}\n\r {}%|#5 | {}/900 [00:05<00:07,  2s/it]", loss,
          step / 100.0, step / 9, step);
    case 5:
      return "RuntimeError: CUDA out of memory.";
    case 6:
      return "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    f()\nValueError: bad";
    case 7:
      return fmt::format("\x1b[32mstep {} | loss {:.3f} | lr 1e-4\x1b[0m", step, loss);
    case 8:
      return fmt::format("validate step: {}  loss: {:.3f}", step, loss);
    case 9:
      return "Saving checkpoint to out\r";
    case 10:
      return "";
    case 11:
      return fmt::format("{}: step {} | loss {:.3f} | lr 1e-4", random() % 200000, step, loss);
    default:
      step += static_cast<int>(random() % 5);
      if (random() % 60 == 0) step /= 2;
      return fmt::format("step {} | loss {:.3f} | lr 1e-4{}", step, loss, random() % 9 == 0 ? "\r" : "");
  }
}

TEST(LineShape, GivesTheSameAsReadingFromScratchInALogOfManyKindsOfLines) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    int step = 1;
    const auto lines = 20 + random() % 400;
    for (unsigned i = 0; i < lines; ++i) text += RandomLine(random, step) + "\n";
    const std::string twin = Twin(text);
    ASSERT_EQ(Fast(text), twin) << text;
    ASSERT_EQ(Describe(ReadLog(text, 1 + random() % 3000, true)), twin) << text;
  }
}

}  // namespace
}  // namespace vigil::textlog
