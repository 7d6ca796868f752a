// One setting changed, all else of the text kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configfile/configfile.h"

namespace vigil::configfile {
namespace {

using testing::HasSubstr;

// The text after the change, or the message of the error.
std::string Set(Notation notation, const std::string& text, std::string_view path, const NewValue& value) {
  const auto changed = SetValue(Parse("config", text, notation), path, value);
  return changed ? *changed : "error: " + changed.error().message;
}

std::string Remove(Notation notation, const std::string& text, std::string_view path) {
  const auto changed = RemoveValue(Parse("config", text, notation), path);
  return changed ? *changed : "error: " + changed.error().message;
}

TEST(SetYaml, ReplacesAValueAndKeepsTheRest) {
  EXPECT_EQ(Set(Notation::kYaml, "# top\nlr: 1e-3  # rate\nb: [1,2]\n", "lr", NewValue::Number(2e-5)),
            "# top\nlr: 2.0e-05  # rate\nb: [1,2]\n");
  EXPECT_EQ(Set(Notation::kYaml, "a:\n  'b c': \"x\"\n", "a.b c", NewValue::Text("no")), "a:\n  'b c': \"no\"\n");
  EXPECT_EQ(Set(Notation::kYaml, "bf16: True\n", "bf16", NewValue::Truth(false)), "bf16: False\n");
  EXPECT_EQ(Set(Notation::kYaml, "x: {a: 1, b: 2}\n", "x.b", NewValue::Number(3)), "x: {a: 1, b: 3}\n");
  EXPECT_EQ(Set(Notation::kYaml, "clip: 1.5\n", "clip", NewValue::Number(1)), "clip: 1.0\n");
  EXPECT_EQ(Set(Notation::kYaml, "list:\n  - a: 1\n  - a: 2 # two\n", "list.1.a", NewValue::Number(5)),
            "list:\n  - a: 1\n  - a: 5 # two\n");
}

TEST(SetYaml, FillsAValueThatIsLeftOut) {
  EXPECT_EQ(Set(Notation::kYaml, "fp16:\nbf16: auto\n", "fp16", NewValue::Truth(false)), "fp16: false\nbf16: auto\n");
  EXPECT_EQ(Set(Notation::kYaml, "fp16: null\n", "fp16", NewValue::Truth(false)), "fp16: false\n");
}

TEST(SetYaml, AddsASettingBesideThoseThatBeginAlike) {
  EXPECT_EQ(
      Set(Notation::kYaml, "warmup_ratio: 0.1\n\n# saving\nsave_steps: 5\n", "warmup_steps", NewValue::Number(10)),
      "warmup_ratio: 0.1\nwarmup_steps: 10\n\n# saving\nsave_steps: 5\n");
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\nb: 2", "lr", NewValue::Number(1)), "a: 1\nb: 2\nlr: 1\n");
  EXPECT_EQ(Set(Notation::kYaml, "", "lr", NewValue::Number(1)), "lr: 1\n");
}

TEST(SetYaml, AddsIntoASectionAndMakesOneThatIsMissing) {
  EXPECT_EQ(Set(Notation::kYaml, "opt:\n    lr: 1\n    eps: 2\nend: 3\n", "opt.wd", NewValue::Number(0.1)),
            "opt:\n    lr: 1\n    eps: 2\n    wd: 0.1\nend: 3\n");
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\n", "gradient_checkpointing_kwargs.use_reentrant", NewValue::Truth(false)),
            "a: 1\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n");
  EXPECT_EQ(Set(Notation::kYaml, "opt:\na: 1\n", "opt.lr", NewValue::Number(1)), "opt:\n  lr: 1\na: 1\n");
  EXPECT_EQ(Set(Notation::kYaml, "opt: {lr: 1}\n", "opt.wd", NewValue::Number(2)), "opt: {lr: 1, wd: 2}\n");
}

TEST(SetYaml, BehindAListOrABlockOfText) {
  EXPECT_EQ(Set(Notation::kYaml, "data_sets:\n- path: a\n- path: b\nz: 1\n", "data_seed", NewValue::Number(7)),
            "data_sets:\n- path: a\n- path: b\ndata_seed: 7\nz: 1\n");
  EXPECT_EQ(Set(Notation::kYaml, "note: |\n  one\n  # no comment\n# comment\nz: 1\n", "note_by", NewValue::Text("me")),
            "note: |\n  one\n  # no comment\nnote_by: me\n# comment\nz: 1\n");
}

TEST(SetYaml, RefusesWhatItCannotChangeAlone) {
  EXPECT_THAT(Set(Notation::kYaml, "a: &x 1\nb: *x\n", "b", NewValue::Number(2)),
              HasSubstr("in another place (line 1)"));
  EXPECT_THAT(Set(Notation::kYaml, "a: &x 1\nb: *x\n", "a", NewValue::Number(2)), HasSubstr("error: "));
  EXPECT_THAT(Set(Notation::kYaml, "a: |\n  x\n", "a", NewValue::Number(2)), HasSubstr("over several lines"));
  EXPECT_THAT(Set(Notation::kYaml, "a: [1\n", "a", NewValue::Number(2)), HasSubstr("cannot be parsed"));
  EXPECT_THAT(Set(Notation::kYaml, "a: [1]\n", "a", NewValue::Number(2)), HasSubstr("is no single value"));
}

TEST(SetYaml, QuotesTextThatWouldBeReadAsSomethingElse) {
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\n", "a", NewValue::Text("yes")), "a: \"yes\"\n");
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\n", "a", NewValue::Text("1e-4")), "a: \"1e-4\"\n");
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\n", "a", NewValue::Text("x: y")), "a: \"x: y\"\n");
  EXPECT_EQ(Set(Notation::kYaml, "a: 1\n", "a", NewValue::Text("cosine")), "a: cosine\n");
}

TEST(SetJson, ReplacesAndAdds) {
  const std::string text = "{\n    \"a\": 1,\n    \"o\": {\"x\": [1, 2]},\n    \"e\": {}\n}\n";
  EXPECT_EQ(Set(Notation::kJson, text, "a", NewValue::Number(1e-5)),
            "{\n    \"a\": 1e-05,\n    \"o\": {\"x\": [1, 2]},\n    \"e\": {}\n}\n");
  EXPECT_EQ(Set(Notation::kJson, text, "o.y", NewValue::Truth(true)),
            "{\n    \"a\": 1,\n    \"o\": {\"x\": [1, 2], \"y\": true},\n    \"e\": {}\n}\n");
  EXPECT_EQ(Set(Notation::kJson, text, "e.k", NewValue::Text("v")),
            "{\n    \"a\": 1,\n    \"o\": {\"x\": [1, 2]},\n    \"e\": {\"k\": \"v\"}\n}\n");
  EXPECT_EQ(Set(Notation::kJson, text, "new", NewValue::Number(2)),
            "{\n    \"a\": 1,\n    \"o\": {\"x\": [1, 2]},\n    \"e\": {},\n    \"new\": 2\n}\n");
  EXPECT_EQ(Set(Notation::kJson, "{}", "a.b", NewValue::Number(2)), "{\"a\": {\"b\": 2}}");
}

TEST(SetToml, ReplacesAndAdds) {
  const std::string text = "[training]\nsteps = 10 # short\n\n[optimizer]\nlr = 1e-3\n";
  EXPECT_EQ(Set(Notation::kToml, text, "optimizer.lr", NewValue::Number(3e-4)),
            "[training]\nsteps = 10 # short\n\n[optimizer]\nlr = 0.0003\n");
  EXPECT_EQ(Set(Notation::kToml, text, "training.seq_len", NewValue::Number(512)),
            "[training]\nsteps = 10 # short\nseq_len = 512\n\n[optimizer]\nlr = 1e-3\n");
  EXPECT_EQ(Set(Notation::kToml, text, "checkpoint.interval", NewValue::Number(5)),
            text + "\n[checkpoint]\ninterval = 5\n");
  EXPECT_EQ(Set(Notation::kToml, "[a.b]\nx = 1\n", "a.y", NewValue::Number(2)), "[a.b]\nx = 1\n\n[a]\ny = 2\n");
  EXPECT_EQ(Set(Notation::kToml, "[a]\nx = 1\n", "top", NewValue::Number(2)), "top = 2\n[a]\nx = 1\n");
  EXPECT_EQ(Set(Notation::kToml, "a = {x = 1}\n", "a.y", NewValue::Text("z")), "a = {x = 1, y = \"z\"}\n");
}

TEST(SetCommand, ReplacesAValueAndRefusesToAdd) {
  EXPECT_EQ(Set(Notation::kCommand, "python t.py --lr 1 --out='x'\n", "lr", NewValue::Number(2)),
            "python t.py --lr 2 --out='x'\n");
  EXPECT_THAT(Set(Notation::kCommand, "python t.py --lr 1\n", "wd", NewValue::Number(2)), HasSubstr("error: "));
}

TEST(Remove, TakesOutASettingWithItsLineOrItsComma) {
  EXPECT_EQ(Remove(Notation::kYaml, "a: 1\nb: 2 # two\nc: 3\n", "b"), "a: 1\nc: 3\n");
  EXPECT_EQ(Remove(Notation::kYaml, "a:\n  x: 1\n  y:\n    z: 1\nb: 2\n", "a.y"), "a:\n  x: 1\nb: 2\n");
  EXPECT_EQ(Remove(Notation::kYaml, "a: {x: 1, y: 2}\n", "a.x"), "a: {y: 2}\n");
  EXPECT_EQ(Remove(Notation::kJson, "{\"a\": 1, \"b\": {\"c\": 2}}", "b"), "{\"a\": 1}");
  EXPECT_EQ(Remove(Notation::kJson, "{\"a\": 1, \"b\": 2}", "a"), "{\"b\": 2}");
  EXPECT_EQ(Remove(Notation::kToml, "[t]\na = 1\nb = 2\n", "t.a"), "[t]\nb = 2\n");
  EXPECT_THAT(Remove(Notation::kYaml, "a: 1\n", "b"), HasSubstr("is not set"));
}

TEST(Edit, APickleIsNotChanged) {
  EXPECT_THAT(Set(Notation::kPickle, "\x80\x02}.", "a", NewValue::Number(1)), HasSubstr("pickle"));
}

}  // namespace
}  // namespace vigil::configfile
