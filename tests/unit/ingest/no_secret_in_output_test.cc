// The promise of ingest/secrets, kept by the whole program: a folder with a secret in every kind of file, and every
// output there is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../formats/wandb_writer.h"
#include "journal/journal.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"

namespace vigil::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::Outcome;
using testing_support::QuoteForShell;
using testing_support::RunVigil;

// Every one holds this, so that one search finds all. Made up here, so that no scanner takes this file for a leak.
constexpr std::string_view kMark = "q1W2e3R4t5Y6";
std::string Token() { return fmt::format("hf_{}u7I8o9P0a1S2d3F4", kMark); }
std::string Key() { return fmt::format("{}u7I8o9P0a1S2d3F4", kMark); }

std::string LogText() {
  std::string text = fmt::format("python train.py --api-key {} --lr 0.1\n", Key());
  text += fmt::format("wandb login {}\nHF_TOKEN={}\n", Key(), Token());
  for (int step = 1; step < 60; ++step) text += fmt::format("step {} loss {:.4f} lr 0.1\n", step, 4.0 / step);
  text += fmt::format(
      "Traceback (most recent call last):\n  File \"/x/{0}/train.py\", line 3, in main\n    login(token='{0}')\n"
      "RuntimeError: CUDA out of memory for {0} at https://u:{1}@host/\n",
      Token(), Key());
  return text;
}

std::string JsonLines() {
  std::string text;
  for (int step = 1; step < 60; ++step)
    text += fmt::format(R"({{"step": {}, "loss": {}, "note": "{}", "acc {}": 1}})", step, 7.0 - 0.05 * step, Token(),
                        Token()) +
            "\n";
  return text;
}

std::string Wandb() {
  using namespace formats::wandb_writer;
  LogFile file;
  file.Add(Config({{"api_key", fmt::format("\"{}\"", Key())}, {"note", fmt::format("\"{}\"", Token())}}));
  for (int step = 1; step < 60; ++step)
    file.Add(History({{"_step", std::to_string(step)}, {"loss", "1.5"}, {"x " + Token(), "2"}}));
  file.Add(Console(fmt::format("RuntimeError: CUDA out of memory {}\n", Token())));
  file.Add(Exit(1));
  return file.bytes();
}

std::string Journal() {
  journal::BlockBuilder builder;
  journal::Begin begin;
  begin.run = "run " + Token();
  begin.name = "name " + Token();
  begin.program = "train.py --api-key " + Key();
  begin.host = "host";
  builder.AddBegin(begin);
  journal::Definition definition;
  definition.name = "loss " + Token();
  definition.labels = {{"api_key", Key()}, {"note", Token()}};
  builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
  for (int step = 0; step < 60; ++step) builder.Add(0, step, 1.0, 1000U + static_cast<std::uint64_t>(step));
  journal::Event event;
  event.name = "event " + Token();
  event.text = "RuntimeError: CUDA out of memory " + Token();
  event.severity = model::Severity::kError;
  event.json = fmt::format(R"({{"password": "{}"}})", Key());
  builder.AddEntry(journal::Section::kEvents, EncodeEntry(event));
  event.text.clear();
  builder.AddEntry(journal::Section::kEvents, EncodeEntry(event));
  builder.AddEntry(journal::Section::kHyperparameters, EncodeEntry(journal::Hyperparameter{1, "wandb.api_key", Key()}));
  journal::Artifact artifact;
  artifact.kind = "table " + Token();
  artifact.path = "s3://bucket/" + Token();
  builder.AddEntry(journal::Section::kArtifacts, EncodeEntry(artifact));
  std::string bytes = journal::FileHeader();
  builder.Finish(0, bytes);
  return bytes;
}

class NoSecretInOutput : public ScratchTest {
 protected:
  void SetUp() override {
    ScratchTest::SetUp();
    Write("runs/a/train.log", LogText());
    Write("runs/b/metrics.jsonl", JsonLines());
    Write("runs/b/config.yaml", fmt::format("lr: 0.1\nwandb:\n  apiKey: {}\nnote: {}\n", Key(), Token()));
    Write("runs/b/config.json", fmt::format(R"({{"learning_rate": 0.1, "hub_token": "{}"}})", Token()));
    Write("runs/c/run-abc.wandb", Wandb());
    Write("runs/d/rank-0.vigil", Journal());
  }
  Outcome Run(const std::string& arguments) const { return RunVigil(testing_support::kProgram, arguments + " 2>&1"); }
  std::string Runs() const { return QuoteForShell(folder_ / "runs"); }
  std::string File(const std::string& name) const { return QuoteForShell(folder_ / name); }
  // Everything that the program shows of the folder: its name, then the text.
  std::vector<std::pair<std::string, std::string>> Outputs(const std::string& option) const {
    std::vector<std::pair<std::string, std::string>> outputs;
    for (const std::string arguments : {"", "-v", "--json", "--what", "--what --json"})
      outputs.emplace_back(arguments, Run(fmt::format("diagnose {} {} {}", arguments, option, Runs())).output);
    Run(fmt::format("diagnose {} {} --html {} --sarif {} --junit {} --openmetrics {} --tensorboard", option, Runs(),
                    File("o.html"), File("o.sarif"), File("o.junit"), File("o.metrics")));
    for (const std::string file : {"o.html", "o.sarif", "o.junit", "o.metrics"})
      outputs.emplace_back(file, BytesOf(folder_ / file));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "runs")) {
      if (entry.path().extension() == ".vigil" && entry.path().filename() != "rank-0.vigil")
        outputs.emplace_back(entry.path(), BytesOf(entry.path()));
    }
    for (const std::string action : {"dump", "check", "check --json"})
      outputs.emplace_back(action,
                           Run(fmt::format("journal {} {} {}", action, option, File("runs/d/rank-0.vigil"))).output);
    return outputs;
  }
};

TEST_F(NoSecretInOutput, OfAnyKind) {
  const auto outputs = Outputs("");
  EXPECT_GE(outputs.size(), 16U) << "event files of four runs among them";
  for (const auto& [name, text] : outputs) {
    EXPECT_FALSE(text.empty()) << name;
    const std::size_t at = text.find(kMark);
    EXPECT_EQ(at, std::string::npos) << name << ": " << text.substr(at < 200 ? 0 : at - 200, 400);
  }
}

TEST_F(NoSecretInOutput, UnlessTheyAreToBeKept) {
  std::size_t shown = 0;
  for (const auto& [name, text] : Outputs("--keep-secrets")) shown += text.find(kMark) != std::string::npos ? 1 : 0;
  EXPECT_GE(shown, 8U);
  EXPECT_THAT(Run("journal dump --keep-secrets " + File("runs/d/rank-0.vigil")).output,
              HasSubstr("s3://bucket/hf_q1W2"));
}

}  // namespace
}  // namespace vigil::ingest
