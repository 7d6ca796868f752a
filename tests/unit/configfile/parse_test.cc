// Settings of a file with their types and places, in each notation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "configfile/configfile.h"
#include "support/paths.h"

namespace vigil::configfile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

File Yaml(std::string text) { return Parse("config.yaml", std::move(text), Notation::kYaml); }
File Json(std::string text) { return Parse("config.json", std::move(text), Notation::kJson); }
File Toml(std::string text) { return Parse("config.toml", std::move(text), Notation::kToml); }
File Shell(std::string text) { return Parse("run.sh", std::move(text), Notation::kCommand); }

const Entry& At(const File& file, std::string_view path) {
  static const Entry kNone;
  const Entry* entry = file.Find(path);
  EXPECT_NE(entry, nullptr) << path;
  return entry == nullptr ? kNone : *entry;
}

std::vector<std::string> Paths(const File& file) {
  std::vector<std::string> paths;
  for (const Entry& entry : file.entries) paths.push_back(entry.path);
  return paths;
}

std::vector<std::uint32_t> LinesOf(const File& file, RemarkKind kind) {
  std::vector<std::uint32_t> lines;
  for (const Remark& remark : file.remarks) {
    if (remark.kind == kind) lines.push_back(remark.line);
  }
  return lines;
}

// The bytes that an entry says it stands on.
std::string Written(const File& file, std::string_view path) {
  const Entry& entry = At(file, path);
  return file.text.substr(entry.begin, entry.end - entry.begin);
}

// ---- YAML

TEST(Yaml, HasPathsTypesAndPlaces) {
  const File file = Yaml("lr: 0.1\nmodel:\n  name: 'a b'  # why\n  layers: [1, 2]\nbf16: true\nnone: ~\nempty:\n");
  EXPECT_THAT(Paths(file), ElementsAre("lr", "model", "model.name", "model.layers", "model.layers.0", "model.layers.1",
                                       "bf16", "none", "empty"));
  EXPECT_EQ(At(file, "lr").number, 0.1);
  EXPECT_EQ(At(file, "model").kind, Kind::kMap);
  EXPECT_EQ(At(file, "model.name").text, "a b");
  EXPECT_TRUE(At(file, "model.name").quoted);
  EXPECT_EQ(At(file, "model.name").line, 3U);
  EXPECT_EQ(At(file, "model.name").column, 9U);
  EXPECT_EQ(Written(file, "model.name"), "'a b'");
  EXPECT_EQ(At(file, "model.layers").items, 2U);
  EXPECT_TRUE(At(file, "bf16").truth);
  EXPECT_EQ(At(file, "none").kind, Kind::kNull);
  EXPECT_EQ(At(file, "empty").line, 7U);
  EXPECT_THAT(file.remarks, IsEmpty());
}

TEST(Yaml, PlacesAreBytesAlsoBehindOtherAlphabets) {
  const File file = Yaml("名前: \"é\"\nlr: 0.5 # ü\n");
  EXPECT_EQ(Written(file, "lr"), "0.5");
  EXPECT_EQ(Written(file, "名前"), "\"é\"");
}

TEST(Yaml, KnowsWhatItsTwoVersionsReadDifferently) {
  const File file = Yaml("a: 1e-4\nb: 1.0e-4\nc: no\nd: 'no'\ne: 5e5\nf: 1_000\ng: nO\n");
  EXPECT_EQ(At(file, "a").kind, Kind::kNumber);
  EXPECT_TRUE(At(file, "a").differs_by_version);
  EXPECT_FALSE(At(file, "b").differs_by_version);
  EXPECT_EQ(At(file, "c").kind, Kind::kTruth);
  EXPECT_TRUE(At(file, "c").differs_by_version);
  EXPECT_EQ(At(file, "d").kind, Kind::kText);
  EXPECT_TRUE(At(file, "e").differs_by_version);
  EXPECT_EQ(At(file, "f").number, 1000);
  EXPECT_EQ(At(file, "g").kind, Kind::kText);
}

TEST(Yaml, FollowsAliasesAndMergeKeysAndSaysWhere) {
  const File file = Yaml("base: &b\n  lr: 0.1\n  wd: 0.2\nrun:\n  <<: *b\n  lr: 0.3\ncopy: *b\n");
  EXPECT_EQ(At(file, "run.lr").number, 0.3);
  EXPECT_EQ(At(file, "run.lr").alias_line, 0U);
  EXPECT_EQ(At(file, "run.wd").number, 0.2);
  EXPECT_EQ(At(file, "run.wd").line, 3U);
  EXPECT_EQ(At(file, "run.wd").alias_line, 5U);
  EXPECT_EQ(At(file, "copy.lr").alias_line, 7U);
}

TEST(Yaml, AliasesThatMultiplyEndAtTheLimitAndWhatIsWrittenOutIsRead) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", " : "") + before;
    text += "]\n";
  }
  const File file = Yaml(text + "lr: 0.5\n");
  EXPECT_LT(file.entries.size(), 2'100U);
  EXPECT_EQ(At(file, "lr").number, 0.5);
  EXPECT_THAT(LinesOf(file, RemarkKind::kPartly), SizeIs(1));
}

TEST(Yaml, OfARepeatedKeyTheLastCountsAndTheLineIsNamed) {
  const File file = Yaml("lr: 1\nopt:\n  a: 1\nlr: 2\nopt:\n  b: 1\n");
  EXPECT_EQ(At(file, "lr").number, 2);
  EXPECT_EQ(file.Find("opt.a"), nullptr);
  EXPECT_EQ(At(file, "opt.b").number, 1);
  EXPECT_THAT(LinesOf(file, RemarkKind::kDuplicate), ElementsAre(4U, 6U));
}

TEST(Yaml, IsReadUpToTheDamage) {
  const File file = Yaml("lr: 0.1\nsteps: 5\nlist: [1, 2\nmore: 3\n");
  EXPECT_EQ(At(file, "lr").number, 0.1);
  EXPECT_EQ(At(file, "steps").number, 5);
  ASSERT_THAT(LinesOf(file, RemarkKind::kBroken), SizeIs(1));
  EXPECT_GE(LinesOf(file, RemarkKind::kBroken)[0], 3U);
}

TEST(Yaml, TemplatesVariablesAndIncludesAreLeftOpen) {
  const File file = Yaml("a: {{ lr }}\nb: ${LR}\nc: !include other.yaml\nd: \"{{ x }}\"\ne: $LR\nf: '<pad>'\n");
  EXPECT_EQ(At(file, "a").open, Open::kTemplate);
  EXPECT_EQ(At(file, "a").text, "{{ lr }}");
  EXPECT_EQ(At(file, "b").open, Open::kVariable);
  EXPECT_EQ(At(file, "c").open, Open::kInclude);
  EXPECT_EQ(At(file, "d").open, Open::kTemplate);
  EXPECT_EQ(At(file, "e").open, Open::kVariable);
  EXPECT_EQ(At(file, "f").open, Open::kNo);
  EXPECT_THAT(LinesOf(file, RemarkKind::kOpen), ElementsAre(1U, 2U, 3U, 4U, 5U));
}

TEST(Yaml, AChatTemplateIsAValueLikeAnother) {
  const File file = Yaml("chat_template: \"{{ messages }}\"\ntemplate: {{ name }}\n");
  EXPECT_EQ(At(file, "chat_template").open, Open::kNo);
  EXPECT_EQ(At(file, "template").open, Open::kTemplate);
}

TEST(Yaml, ATemplateThatBreaksItIsNamedAsOne) {
  const File file = Yaml("lr: 1\n{% if big %}\nlr: 2\n{% endif %}\n");
  ASSERT_THAT(LinesOf(file, RemarkKind::kBroken), SizeIs(1));
  EXPECT_EQ(file.remarks[0].says.id, "configfile/broken-template");
}

TEST(Yaml, OnlyTheFirstDocumentIsRead) {
  const File file = Yaml("lr: 1\n---\nlr: 2\n");
  EXPECT_EQ(At(file, "lr").number, 1);
  EXPECT_THAT(LinesOf(file, RemarkKind::kPartly), ElementsAre(3U));
  EXPECT_THAT(Yaml("---\nlr: 1\n").remarks, IsEmpty());
}

TEST(Yaml, AListOrATextIsNoConfiguration) {
  EXPECT_THAT(LinesOf(Yaml("- a\n- b\n"), RemarkKind::kBroken), ElementsAre(1U));
  EXPECT_THAT(LinesOf(Yaml("just text\n"), RemarkKind::kBroken), ElementsAre(1U));
  EXPECT_THAT(Yaml("").remarks, IsEmpty());
}

TEST(Yaml, DeepNestingIsRefused) {
  EXPECT_THAT(Yaml("a: " + std::string(500, '[')).remarks, SizeIs(1));
  EXPECT_THAT(Yaml(std::string(1000, ' ') + "a: 1").remarks, SizeIs(1));
}

// ---- JSON

TEST(Json, HasPathsTypesAndPlaces) {
  const File file = Json("{\n  \"lr\": 1e-4,\n  \"a\": {\"b\": [true, \"x\"]},\n  \"n\": null\n}\n");
  EXPECT_THAT(Paths(file), ElementsAre("lr", "a", "a.b", "a.b.0", "a.b.1", "n"));
  EXPECT_EQ(At(file, "lr").number, 1e-4);
  EXPECT_EQ(Written(file, "lr"), "1e-4");
  EXPECT_EQ(At(file, "lr").line, 2U);
  EXPECT_EQ(At(file, "a.b.0").kind, Kind::kTruth);
  EXPECT_EQ(Written(file, "a.b.1"), "\"x\"");
  EXPECT_EQ(At(file, "n").kind, Kind::kNull);
}

TEST(Json, ACommentIsNamedWithItsPlace) {
  const File file = Json("{\n  \"lr\": 1, // rate\n  \"b\": 2\n}");
  EXPECT_EQ(At(file, "lr").number, 1);
  ASSERT_THAT(LinesOf(file, RemarkKind::kBroken), ElementsAre(2U));
  EXPECT_EQ(file.remarks[0].says.id, "configfile/comment");
  EXPECT_EQ(file.remarks[0].column, 12U);
}

TEST(Json, RepeatedKeysAndTextBehindTheEndAreNamed) {
  EXPECT_THAT(LinesOf(Json("{\"a\": 1,\n\"a\": 2}"), RemarkKind::kDuplicate), ElementsAre(2U));
  EXPECT_THAT(LinesOf(Json("{\"a\": 1}\n{\"a\": 2}"), RemarkKind::kPartly), ElementsAre(2U));
  EXPECT_THAT(LinesOf(Json("[1, 2]"), RemarkKind::kBroken), ElementsAre(1U));
  EXPECT_THAT(LinesOf(Json("{\"a\": 1"), RemarkKind::kBroken), SizeIs(1));
}

// ---- TOML

TEST(Toml, HasPathsTypesAndPlacesInTheOrderOfTheText) {
  const File file = Toml("z = \"ü\"\n[b]\nlr = 3e-4 # rate\nbetas = [0.9, 0.95]\n[a]\nx = {y = 1}\nt = true\n");
  EXPECT_THAT(Paths(file),
              ElementsAre("z", "b", "b.lr", "b.betas", "b.betas.0", "b.betas.1", "a", "a.x", "a.x.y", "a.t"));
  EXPECT_EQ(At(file, "b.lr").line, 3U);
  EXPECT_EQ(Written(file, "b.lr"), "3e-4");
  EXPECT_EQ(Written(file, "z"), "\"ü\"");
  EXPECT_EQ(At(file, "a.x.y").number, 1);
  EXPECT_TRUE(At(file, "a.t").truth);
}

TEST(Toml, IsReadUpToTheDamage) {
  const File file = Toml("a = 1\n[t]\nb = 2\nb = 3\nc = \n");
  EXPECT_EQ(At(file, "a").number, 1);
  EXPECT_EQ(At(file, "t.b").number, 2);
  EXPECT_THAT(LinesOf(file, RemarkKind::kBroken), ElementsAre(4U));
}

// ---- command lines

TEST(Command, TakesTheOptionsOfTheCommandThatTrains) {
  const File file = Shell(
      "#!/bin/bash\npip install --upgrade x\ntorchrun --nproc-per-node 8 train.py \\\n  --learning_rate 1e-4 --bf16 "
      "\\\n"
      "  --output_dir 'a b' --seed=3 --modules q v # the end\n");
  EXPECT_THAT(Paths(file), ElementsAre("nproc_per_node", "learning_rate", "bf16", "output_dir", "seed", "modules",
                                       "modules.0", "modules.1"));
  EXPECT_EQ(At(file, "nproc_per_node").number, 8);
  EXPECT_EQ(At(file, "learning_rate").line, 4U);
  EXPECT_EQ(At(file, "output_dir").text, "a b");
  EXPECT_TRUE(At(file, "bf16").truth);
  EXPECT_EQ(At(file, "seed").number, 3);
  EXPECT_EQ(At(file, "modules").kind, Kind::kList);
}

TEST(Command, AVariableThatTheScriptSetsOnceIsPutInAndOthersAreOpen) {
  const File file = Shell("LR=1e-4\nBS=1\nBS=2\npython train.py --lr $LR --bs ${BS} --seed $SEED --wd=$LR\n");
  EXPECT_EQ(At(file, "lr").number, 1e-4);
  EXPECT_EQ(At(file, "lr").open, Open::kSubstituted);
  EXPECT_EQ(At(file, "lr").alias_line, 1U);
  EXPECT_EQ(At(file, "bs").open, Open::kVariable);
  EXPECT_EQ(At(file, "seed").open, Open::kVariable);
  EXPECT_EQ(At(file, "wd").number, 1e-4);
}

TEST(Command, TheValueOfAnAssignedOptionHasThePlaceItIsWrittenAt) {
  const std::string script = "OUT=a-long-folder\npython train.py --\"seed\"=3 --$OUT=1 --wd=0.1 --dir='a b'\n";
  const File file = Shell(script);
  const auto written = [&](std::string_view path) {
    const Entry& entry = At(file, path);
    return script.substr(entry.begin, entry.end - entry.begin);
  };
  EXPECT_EQ(written("wd"), "0.1");
  for (const std::string_view changed : {"seed", "a_long_folder", "dir"}) EXPECT_EQ(written(changed), "") << changed;
  for (const Entry& entry : file.entries) EXPECT_LE(entry.end, script.size()) << entry.path;
}

TEST(Command, HydraOverridesAreSettings) {
  const File file = Shell("python main.py +trainer.devices=8 model.optim.lr=1e-4\n");
  EXPECT_EQ(At(file, "trainer.devices").number, 8);
  EXPECT_EQ(At(file, "model.optim.lr").number, 1e-4);
}

TEST(Command, ASecondCommandThatTrainsIsRemarked) {
  const File file = Shell("python a.py --a 1 --b 2 --c 3 --d 4\npython b.py --a 1 --b 2 --c 3\n");
  EXPECT_EQ(At(file, "d").number, 4);
  EXPECT_THAT(LinesOf(file, RemarkKind::kPartly), ElementsAre(2U));
}

// ---- pickles

TEST(Pickle, HasSettingsWithoutLines) {
  std::ifstream stream(std::string(testing_support::kSourceDir) + "/fuzz/corpus/configfile/args.bin", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const File file = Parse("training_args.bin", bytes, Notation::kPickle);
  ASSERT_FALSE(file.entries.empty());
  EXPECT_EQ(file.entries.front().line, 0U);
}

// ---- all

TEST(Notations, AreKnownByNameThenByContent) {
  EXPECT_EQ(NotationOf("a/b.YAML", ""), Notation::kYaml);
  EXPECT_EQ(NotationOf("a.toml", ""), Notation::kToml);
  EXPECT_EQ(NotationOf("ds_config", "{\"a\": 1}"), Notation::kJson);
  EXPECT_EQ(NotationOf("launch", "#!/usr/bin/env bash\n"), Notation::kCommand);
  EXPECT_EQ(NotationOf("training_args.bin", "PK\x03\x04"), Notation::kPickle);
  EXPECT_EQ(NotationOf("notes.txt", "hello"), std::nullopt);
}

TEST(Parse, CutAtEveryByteStaysInBounds) {
  for (const char* name : {"axolotl.yaml", "deepspeed.json", "titan.toml", "launch.sh", "args.bin"}) {
    std::ifstream stream(std::string(std::string(testing_support::kSourceDir) + "/fuzz/corpus/configfile/") + name,
                         std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
    ASSERT_FALSE(bytes.empty()) << name;
    const auto notation = NotationOf(name, bytes);
    ASSERT_TRUE(notation) << name;
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 2000); ++size) {
      const File file = Parse(name, bytes.substr(0, size), *notation);
      for (const Entry& entry : file.entries) EXPECT_LE(entry.end, size) << name;
    }
  }
}

}  // namespace
}  // namespace vigil::configfile
