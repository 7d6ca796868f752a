// Input that is hostile, broken, or not what its name says: named, counted, left or read to the damage, while the rest
// is read as if it were alone. Nothing of it is executed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

std::string Rows(int count) {
  std::string rows;
  for (int i = 1; i <= count; ++i) rows += fmt::format("{{\"step\": {}, \"loss\": {:.6f}}}\n", i, 3.0 / i);
  return rows;
}

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<unsigned>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

auto Names(const std::string& path, const std::string& reason) {
  return AllOf(Field(&model::Unread::path, HasSubstr(path)), testing::ResultOf(report::WhyUnread, HasSubstr(reason)));
}

// The note of the source of that name, whichever run it is part of.
std::string NoteOf(const Imported& imported, const std::string& name) {
  for (const model::Run& run : imported.runs) {
    for (const model::Source& source : run.sources) {
      if (source.path.ends_with(name)) return report::NoteText(source);
    }
  }
  return {};
}

// Whether the file is accounted for: unread or left with a reason, or read with a remark.
bool IsNamed(const Imported& imported, const std::string& name) {
  const auto is_it = [&](const model::Unread& unread) { return unread.path.ends_with(name) && !unread.reason.empty(); };
  return std::any_of(imported.unread.begin(), imported.unread.end(), is_it) ||
         std::any_of(imported.ignored.begin(), imported.ignored.end(), is_it) || !NoteOf(imported, name).empty();
}

// Root may read everything, so the test runs as another user.
class AsNobody {
 public:
  AsNobody() : was_(::geteuid()) { EXPECT_TRUE(was_ != 0 || ::seteuid(65534) == 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  AsNobody(AsNobody&&) = delete;
  AsNobody& operator=(AsNobody&&) = delete;
  ~AsNobody() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  uid_t was_;
};

// A folder with one sound run in it, and what a test puts beside it.
class BadInput : public ScratchTest {
 protected:
  void SetUp() override {
    ScratchTest::SetUp();
    Write("good/metrics.jsonl", Rows(100));
  }

  // Reads the folder: the sound run must be there whatever else is.
  Imported Read() const {
    Imported imported = ImportPaths({Folder()});
    const bool sound = std::any_of(imported.runs.begin(), imported.runs.end(), [](const model::Run& run) {
      return run.Find("loss") != nullptr && run.Find("loss")->size() == 100;
    });
    EXPECT_TRUE(sound) << "the run beside it was lost";
    return imported;
  }
};

TEST_F(BadInput, CompressionBombsAreLeftWhereTheyShowThemselves) {
  const std::string zeros(std::size_t{100} << 20U, '\0');
  const std::string lines = Rows(10) + std::string(std::size_t{100} << 20U, ' ');
  Write("bomb/a.log.gz", Gzip(zeros));
  Write("bomb/b.jsonl.gz", Gzip(lines));
  Write("bomb/c.jsonl.zst", Zstd(lines));
  Write("bomb/d.log.gz", Gzip(Gzip(zeros)));  // one within another: only the outer one is opened
  const Imported imported = Read();
  for (const char* name : {"b.jsonl.gz", "c.jsonl.zst"})
    EXPECT_THAT(NoteOf(imported, name), HasSubstr("times its size")) << name;
  for (const char* name : {"a.log.gz", "d.log.gz"}) EXPECT_TRUE(IsNamed(imported, name)) << name;
}

// An archive whose entry claims to be small and expands to much is not expanded at all: settings are stored plainly.
TEST_F(BadInput, ZipBombsAreNotExpanded) {
  std::string content(std::size_t{64} << 20U, '\0');
  std::string packed(compressBound(content.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
                     content.size()),
            Z_OK);
  packed.resize(size);
  const auto number = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 0xffU);
    return out;
  };
  const std::string name = "archive/data.pkl";
  const std::string sizes = number(0, 4) + number(packed.size(), 4) + number(content.size(), 4);
  const std::string local = "PK\x03\x04" + number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + sizes +
                            number(name.size(), 2) + number(0, 2) + name + packed;
  const std::string central = "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 2) + number(8, 2) +
                              number(0, 4) + sizes + number(name.size(), 2) + std::string(12, '\0') + number(0, 4) +
                              name;
  Write("good/training_args.bin", local + central);
  const Imported imported = Read();
  EXPECT_THAT(imported.unread, Contains(Names("training_args.bin", "")));
}

TEST_F(BadInput, APickleThatCallsAProgramRunsNothing) {
  const std::string mark = Folder() + "/executed";
  const std::string call = "cposix\nsystem\n(S'touch " + mark + "'\ntR.";
  Write("good/training_args.bin", call);
  Write("good/other_args.bin", "\x80\x02" + call);
  const Imported imported = Read();
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_TRUE(IsNamed(imported, "training_args.bin"));
  EXPECT_THAT(imported.unread, Contains(Names("other_args.bin", "")));
}

TEST_F(BadInput, LinksInACircleAreWalkedOnce) {
  fs::create_directory_symlink(Folder(), folder_ / "good/up");
  fs::create_directory_symlink(folder_ / "good", folder_ / "again");
  fs::create_symlink("self", folder_ / "self");
  const Imported imported = Read();
  EXPECT_THAT(imported.runs, SizeIs(1)) << "each file once";
  EXPECT_THAT(imported.unread, Contains(Names("self", "")));
}

TEST_F(BadInput, PipesAndDevicesAreNotOpened) {
  ASSERT_EQ(::mkfifo((Folder() + "/good/train.log").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder_ / "good/zero.log");
  const Imported imported = Read();
  EXPECT_THAT(imported.ignored, Contains(Names("train.log", "no regular file")));
  EXPECT_THAT(imported.ignored, Contains(Names("zero.log", "no regular file")));
  for (const char* path : {"/dev/zero", "/dev/null"}) {
    const Imported named = ImportPaths({path});
    EXPECT_THAT(named.unread, Contains(Names(path, "not a regular file")));
  }
}

TEST_F(BadInput, WrongExtensionsDoNotMatter) {
  Write("a/metrics.csv", Rows(50));                                  // JSON lines
  Write("b/trainer_state.json", "step,loss\n1,2.5\n2,2.25\n3,2\n");  // a table
  Write("c/train.log", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + std::string(4000, '\x01'));
  const Imported imported = Read();
  ASSERT_THAT(imported.runs, SizeIs(3));
  EXPECT_EQ(imported.runs[0].sources[0].format, "jsonl");
  EXPECT_EQ(imported.runs[1].sources[0].format, "csv");
}

TEST_F(BadInput, MixedFormatsAreReadToWhereTheyChange) {
  Write("mixed/a.jsonl", Rows(40) + "Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: no\n");
  Write("mixed2/b.csv", "step,loss\n1,2.5\n2,2.25\n" + Rows(10));
  Write("mixed3/c.wandb", std::string("\x3A\x57\x26\x42\xE1\xBE\x00", 7) + Rows(2000));
  const Imported imported = Read();
  bool found = false;
  for (const model::Run& run : imported.runs) {
    if (run.name == "good") continue;
    if (run.sources[0].path.ends_with("mixed/a.jsonl")) {  // text with JSON in its lines is a log, whatever its name
      found = true;
      EXPECT_EQ(run.sources[0].format, "log-text");
      EXPECT_FALSE(run.events.empty());
      continue;
    }
    EXPECT_EQ(run.sources[0].state, model::SourceState::kPartial) << run.sources[0].path;
    EXPECT_FALSE(report::NoteText(run.sources[0]).empty());
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(imported.unread, Contains(Names("c.wandb", "damaged")));
}

TEST_F(BadInput, EmptyZeroedAndEndlessFilesAreNamed) {
  Write("z/empty.log", "");
  Write("z/zeros.log", std::string(100'000, '\0'));
  Write("z/line.jsonl",
        "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"text\": \"" + std::string(std::size_t{70} << 20U, 'x'));
  Write("z/deep.json", std::string(200'000, '['));
  const Imported imported = Read();
  EXPECT_THAT(imported.ignored, Contains(Names("empty.log", "empty file")));
  for (const char* name : {"zeros.log", "line.jsonl", "deep.json"}) EXPECT_TRUE(IsNamed(imported, name)) << name;
}

TEST_F(BadInput, WhatMayNotBeReadIsNamedOnce) {
  Write("closed/train.log", Rows(10));
  Write("shut.jsonl", Rows(10));
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  fs::permissions(folder_ / "closed", fs::perms::none);
  fs::permissions(folder_ / "shut.jsonl", fs::perms::none);
  const AsNobody nobody;
  const Imported imported = Read();
  EXPECT_THAT(imported.unread, SizeIs(2));
  EXPECT_THAT(imported.unread, Contains(Names("closed", "Permission denied")));
  EXPECT_THAT(imported.unread, Contains(Names("shut.jsonl", "Permission denied")));
  EXPECT_THAT(ImportPaths({Folder() + "/closed"}).unread, SizeIs(1)) << "not said twice";
}

TEST_F(BadInput, APathThatDoesNotExistIsNamedBesideOneThatDoes) {
  const Imported imported = ImportPaths({Folder() + "/good", Folder() + "/godo"});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.unread, SizeIs(1));
  EXPECT_THAT(imported.unread, Contains(Names("godo", "No such file")));
}

// Two thousand here; bench/tree_bench.cc measures fifty thousand.
TEST_F(BadInput, ManyFilesOfNothingAreCountedAndNotOpened) {
  for (int folder = 0; folder < 10; ++folder) {
    const fs::path path = folder_ / fmt::format("empty/{}", folder);
    fs::create_directories(path);
    for (int i = 0; i < 200; ++i) std::ofstream(path / fmt::format("{}.log", i)).flush();
  }
  const Imported imported = Read();
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.unread, IsEmpty());
  EXPECT_THAT(imported.ignored, SizeIs(2000));
}

TEST_F(BadInput, NamesThatAreNoTextAreSurvived) {
  Write("good/\xff\xfe\x1b[31m.log", "hello\n");
  const std::string longest(200, 'n');
  Write("good/" + longest + "/" + longest + "/train.log", "step 1 loss 2.5\nstep 2 loss 2.25\n");
  EXPECT_THAT(Read().runs, testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace vigil::pipeline
