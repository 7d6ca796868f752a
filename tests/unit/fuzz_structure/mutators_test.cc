// The mutators of the fuzz targets: what they make is framed soundly, differs, grows past 64 KiB, and any bytes may be
// given to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "codec/codec.h"
#include "codec/pickle.h"
#include "codec/torch_archive.h"
#include "formats/sqlite/database.h"
#include "journal/journal.h"
#include "structure.h"
#include "support/paths.h"
#include "support/scratch.h"

namespace vigil::fuzz {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kRounds = 400;

// Stands in for libFuzzer: sets, removes or adds a byte.
Mutation Seeded(std::uint64_t seed, std::size_t most_bytes = kMostBytes) {
  const auto mutate = [chance = Chance(seed + 1)](std::string& bytes, std::size_t most) mutable {
    const std::size_t at = chance.Below(bytes.size());
    const auto byte = static_cast<char>(chance.Next());
    const std::size_t change = chance.Below(3);
    if (change == 0 && !bytes.empty()) {
      bytes[at] = byte;
    } else if (change == 1 && !bytes.empty()) {
      bytes.erase(at, 1);
    } else if (bytes.size() < most) {
      bytes.insert(at, 1, byte);
    }
  };
  return {Chance(seed), most_bytes, mutate};
}

// Inputs that come of each other, each by one mutation, from a kept input of the target.
std::vector<std::string> Walk(Mutator mutator, const std::string& target, const std::string& name) {
  std::string input = BytesOf(std::filesystem::path(testing_support::kSourceDir) / "fuzz/corpus" / target / name);
  EXPECT_FALSE(input.empty()) << target << "/" << name;
  const std::string first = input;
  std::vector<std::string> walked;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    Mutation how = Seeded(seed);
    input = mutator(seed % 8 == 0 ? first : input, how);
    walked.push_back(input);
  }
  return walked;
}

std::size_t LargestOf(const std::vector<std::string>& inputs) {
  std::size_t largest = 0;
  for (const std::string& input : inputs) largest = std::max(largest, input.size());
  return largest;
}

void ExpectVaried(const std::vector<std::string>& inputs) {
  EXPECT_GT(std::set(inputs.begin(), inputs.end()).size(), inputs.size() / 2);
  EXPECT_GT(LargestOf(inputs), std::size_t{64} << 10U);
}

struct NamedMutator {
  const char* target;
  const char* input;
  Mutator mutator;
};
constexpr NamedMutator kMutators[] = {{"journal", "small", MutateJournal},
                                      {"tfevents", "raw_file", MutateTfevents},
                                      {"wandb", "small", MutateWandb},
                                      {"training_args", "training_args.bin", MutatePickle},
                                      {"sqlite", "mlflow", MutateSqlite}};

TEST(Mutators, TheSameSeedMakesTheSameBytes) {
  for (const NamedMutator& row : kMutators)
    EXPECT_EQ(Walk(row.mutator, row.target, row.input), Walk(row.mutator, row.target, row.input)) << row.target;
}

TEST(Mutators, TakeAnyBytesAndKeepToTheSizeGiven) {
  for (const NamedMutator& row : kMutators) {
    for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
      Chance chance(seed);
      const std::size_t most_bytes = chance.Below(3000);
      std::string input(chance.Below(2000), '\0');
      for (char& byte : input) byte = static_cast<char>(chance.Next());
      Mutation how = Seeded(seed, most_bytes);
      EXPECT_LE(row.mutator(input, how).size(), most_bytes) << row.target << " " << seed;
      Mutation of_kept = Seeded(seed, most_bytes);
      const std::string kept =
          BytesOf(std::filesystem::path(testing_support::kSourceDir) / "fuzz/corpus" / row.target / row.input);
      EXPECT_LE(row.mutator(kept, of_kept).size(), most_bytes) << row.target << " " << seed;
    }
  }
}

TEST(Mutators, EventFilesHaveRightChecksumsToTheirEnd) {
  const auto inputs = Walk(MutateTfevents, "tfevents", "client_tensors");
  for (std::string_view bytes : inputs) {
    while (!bytes.empty()) {
      const codec::TfRecord record = codec::ReadTfRecord(bytes);
      ASSERT_EQ(record.state, codec::RecordState::kWhole);
      bytes.remove_prefix(static_cast<std::size_t>(record.size_bytes));
    }
  }
  ExpectVaried(inputs);
}

TEST(Mutators, LogsOfWandbHaveRightChecksumsToTheirEnd) {
  const auto inputs = Walk(MutateWandb, "wandb", "client_finished");
  std::size_t records = 0;
  for (const std::string& bytes : inputs) {
    codec::LogBlocks blocks(7);
    const std::string_view body = std::string_view(bytes).substr(7);
    codec::LogRecord record = blocks.Next(body);
    for (; record.state == codec::LogState::kRecord; record = blocks.Next(body)) ++records;
    EXPECT_EQ(record.state, codec::LogState::kEnd);
    EXPECT_EQ(blocks.taken(), body.size());
  }
  EXPECT_GT(records, kRounds);
  ExpectVaried(inputs);
}

// Everything that a decoder says about framing. Contents may make no sense: that is what they are mutated for.
class Framing : public journal::Visitor {
 public:
  void OnDamage(std::uint64_t /*offset*/, std::uint64_t /*resumed*/, std::uint64_t /*missing*/,
                std::string_view reason) override {
    reasons.insert(std::string(reason));
  }
  void OnCut(std::uint64_t /*offset*/) override { reasons.insert("cut"); }
  void OnRefused(std::string_view reason) override { reasons.insert(std::string(reason)); }
  std::set<std::string> reasons;
};

TEST(Mutators, BlocksOfAJournalHaveRightChecksums) {
  const auto inputs = Walk(MutateJournal, "journal", "every-section");
  Framing framing;
  for (const std::string& bytes : inputs) {
    journal::Decoder decoder(framing);
    std::string_view rest = bytes;
    for (std::size_t taken = 1; taken > 0 && !rest.empty(); rest.remove_prefix(taken))
      taken = decoder.Consume(rest, true);
  }
  EXPECT_THAT(framing.reasons, testing::IsSubsetOf({"a block that makes no sense", "a block that unfolds to too much",
                                                    "a block that was there before", "blocks are missing"}));
  ExpectVaried(inputs);
}

TEST(Mutators, PicklesStayInTheirArchiveAndManyAreReadToTheirEnd) {
  const auto inputs = Walk(MutatePickle, "training_args", "training_args.bin");
  std::size_t whole = 0;
  for (const std::string& bytes : inputs) {
    const auto member = codec::pickle::FindMember(bytes, "/data.pkl");
    ASSERT_TRUE(member.has_value());
    whole += codec::pickle::Parse(*member).problem.empty() ? 1U : 0U;
  }
  EXPECT_GT(whole, kRounds / 10);
  ExpectVaried(inputs);
}

TEST(Mutators, PagesOfADatabaseStayPagesAndMostStillOpen) {
  const auto inputs = Walk(MutateSqlite, "sqlite", "mlflow");
  std::size_t readable = 0;
  for (const std::string& bytes : inputs) {
    auto database = formats::sqlite::Database::Open(bytes);
    readable += database && database->Has("metrics", {"key", "value"}) ? 1U : 0U;
    EXPECT_EQ(bytes.size() % 512, 0U);
  }
  EXPECT_GT(readable, kRounds / 4);
  ExpectVaried(inputs);
}

TEST(Mutators, WriteAheadLogsHaveRightChecksumsAndMostAreApplied) {
  const auto inputs = Walk(MutateSqlite, "sqlite", "logged");
  std::size_t applied = 0;
  for (const std::string& bytes : inputs) {
    const std::size_t log_at = FindLog(bytes);
    ASSERT_LT(log_at, bytes.size());
    std::string image = bytes.substr(0, log_at);
    applied += formats::sqlite::ApplyLog(image, std::string_view(bytes).substr(log_at)) > 0 ? 1U : 0U;
  }
  EXPECT_GT(applied, kRounds / 2);
}

TEST(FindLog, LooksAtMultiplesOf512ForAWholeHeader) {
  const std::string log = std::string("\x37\x7f\x06\x82", 4) + std::string(28, '\0');
  EXPECT_EQ(FindLog(std::string(1024, 'x') + log), 1024U);
  EXPECT_EQ(FindLog(std::string(1000, 'x') + log), 1032U);
  EXPECT_EQ(FindLog(std::string(512, 'x') + log.substr(1)), 512U + 31U);
  EXPECT_EQ(FindLog(""), 0U);
}

}  // namespace
}  // namespace vigil::fuzz
