// The C ABI: what can be seen of the library is the list, misuse is a code, structs of older versions are taken.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vigil/vigil.hpp>

#include "base/base.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/paths.h"
#include "support/shell.h"

namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : vigil::Split(text, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

class CApi : public testing::Test {
 protected:
  CApi() {
    std::string name = (std::filesystem::temp_directory_path() / "vigil_capi_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CApi() override { std::filesystem::remove_all(folder_); }

  vigil_run Open() const {
    vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
    options.folder = folder_.c_str();
    vigil_run run = {0};
    EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_OK) << vigil_last_error();
    return run;
  }
  std::string folder_;
};

TEST(CApiSurface, TheLibraryShowsExactlyTheListedSymbols) {
  const std::string command =
      fmt::format("nm -D --defined-only '{}' | awk '{{print $3}}' | sort", vigil::testing_support::kLibrary);
  const auto shown = LinesOf(vigil::testing_support::RunShell(command).output);
  const auto listed =
      LinesOf(ReadAll(std::string(vigil::testing_support::kSourceDir) + "/tests/unit/capi/symbols.txt"));
  EXPECT_THAT(shown, ElementsAreArray(listed));
}

TEST(CApiSurface, TheLibraryNeedsNothingButTheCLibrary) {
#ifdef VIGIL_SANITIZED
  GTEST_SKIP() << "sanitizers bring libraries along";
#endif
  const std::string command = fmt::format("readelf -d '{}' | grep NEEDED", vigil::testing_support::kLibrary);
  for (const std::string& line : LinesOf(vigil::testing_support::RunShell(command).output)) {
    EXPECT_TRUE(line.find("[libc.") != std::string::npos || line.find("[libm.") != std::string::npos ||
                line.find("[ld-linux") != std::string::npos || line.find("[libpthread.") != std::string::npos)
        << line;
  }
}

TEST(CApiSurface, EveryCodeHasWords) {
  for (int code = VIGIL_OK; code <= VIGIL_FULL; ++code) EXPECT_THAT(vigil_error_text(code), Not(HasSubstr("no code")));
  EXPECT_THAT(vigil_error_text(-1), HasSubstr("no code"));
  EXPECT_THAT(vigil_error_text(1000), HasSubstr("no code"));
}

TEST_F(CApi, NullsAndNonsenseAreInvalid) {
  vigil_run run = {7};
  EXPECT_EQ(vigil_run_open(nullptr, &run), VIGIL_INVALID);
  EXPECT_EQ(run.id, 0U);
  vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
  EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_INVALID);
  EXPECT_EQ(vigil_run_open(&options, nullptr), VIGIL_INVALID);
  options.folder = folder_.c_str();
  options.rank = -1;
  EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_INVALID);

  run = Open();
  vigil_series series = {7};
  EXPECT_EQ(vigil_series_open(run, nullptr, nullptr, &series), VIGIL_INVALID);
  EXPECT_EQ(vigil_series_open(run, "", nullptr, &series), VIGIL_INVALID);
  EXPECT_EQ(vigil_series_open(run, "x", nullptr, nullptr), VIGIL_INVALID);
  vigil_series_options wrong = VIGIL_SERIES_OPTIONS_INIT;
  wrong.axis = 99;
  EXPECT_EQ(vigil_series_open(run, "x", &wrong, &series), VIGIL_INVALID);
  wrong = VIGIL_SERIES_OPTIONS_INIT;
  wrong.label_count = 3;
  EXPECT_EQ(vigil_series_open(run, "x", &wrong, &series), VIGIL_INVALID);
  EXPECT_EQ(series.id, 0U);
  EXPECT_EQ(vigil_series_add(series, 1, 1), VIGIL_INVALID);
  vigil_tensor tensor = {0};
  EXPECT_EQ(vigil_tensor_open(run, nullptr, "w", &tensor), VIGIL_INVALID);
  EXPECT_EQ(vigil_tensor_open(run, "gradient", "w", nullptr), VIGIL_INVALID);
  EXPECT_EQ(vigil_tensor_add(tensor, 1, nullptr), VIGIL_INVALID);
  EXPECT_EQ(vigil_event_add(run, nullptr), VIGIL_INVALID);
  vigil_event event = VIGIL_EVENT_INIT;
  event.severity = 17;
  EXPECT_EQ(vigil_event_add(run, &event), VIGIL_INVALID);
  EXPECT_EQ(vigil_config_set(run, nullptr, "x"), VIGIL_INVALID);
  EXPECT_EQ(vigil_config_set(run, "key", nullptr), VIGIL_OK);
  EXPECT_EQ(vigil_artifact_add(run, 1, "kind", nullptr), VIGIL_INVALID);
  EXPECT_EQ(vigil_run_get_status(run, nullptr), VIGIL_INVALID);
  EXPECT_EQ(vigil_phase_begin(run, -1), VIGIL_INVALID);
  EXPECT_EQ(vigil_fingerprint(nullptr, 10), 0U);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_CLOSED);
}

TEST_F(CApi, AStructOfAnOlderVersionIsTaken) {
  const vigil_run run = Open();
  vigil_event event = VIGIL_EVENT_INIT;
  event.text = "old";
  event.json = reinterpret_cast<const char*>(8);  // behind what the caller says it has: not looked at
  event.size = offsetof(vigil_event, json);
  EXPECT_EQ(vigil_event_add(run, &event), VIGIL_OK);
  vigil_run_status status = {};
  status.size = offsetof(vigil_run_status, lost_records);
  status.lost_records = 77;
  EXPECT_EQ(vigil_run_get_status(run, &status), VIGIL_OK);
  EXPECT_EQ(status.lost_records, 77U);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
}

TEST_F(CApi, WhyOpeningFailedIsSaidInWords) {
  vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
  options.folder = "/proc/none";
  vigil_run run = {0};
  EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_IO);
  EXPECT_THAT(vigil_last_error(), HasSubstr("/proc/none"));
  EXPECT_EQ(vigil_series_add(vigil_series{run.id}, 1, 1), VIGIL_INVALID);
}

vigil_decision Judge(vigil_guard guard, std::int64_t step, double loss) {
  vigil_decision decision = {};
  decision.size = sizeof(decision);
  EXPECT_EQ(vigil_guard_judge(guard, step, loss, vigil_not_known(), &decision), VIGIL_OK);
  return decision;
}

TEST_F(CApi, TheGuardDecidesAndRecordsIt) {
  const vigil_run run = Open();
  vigil_guard guard = {0};
  ASSERT_EQ(vigil_guard_open(run, nullptr, &guard), VIGIL_OK);
  EXPECT_EQ(Judge(guard, 1, 2.0).action, VIGIL_ACTION_GO);
  const vigil_decision decision = Judge(guard, 2, std::nan(""));
  EXPECT_EQ(decision.action, VIGIL_ACTION_SKIP);
  EXPECT_EQ(decision.trigger, VIGIL_TRIGGER_NON_FINITE);
  EXPECT_THAT(decision.message, HasSubstr("the loss is nan"));
  EXPECT_EQ(vigil_guard_note_checkpoint(guard, 1), VIGIL_OK);
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_OK);
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_CLOSED);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  const auto imported = vigil::pipeline::ImportPaths({folder_});
  ASSERT_EQ(imported.runs.size(), 1U);
  ASSERT_FALSE(imported.runs[0].events.empty());
  EXPECT_EQ(imported.runs[0].events[0].name, "guard/skip");
  EXPECT_EQ(imported.runs[0].events[0].at.value(), 2);
}

// The same names whoever asks the guard: a C program, or the gym.
TEST_F(CApi, ABadStepThatIsAppliedIsRecordedAsObserved) {
  const vigil_run run = Open();
  vigil_guard_options options = VIGIL_GUARD_OPTIONS_INIT;
  options.non_finite = VIGIL_POLICY_OBSERVE;
  vigil_guard guard = {0};
  ASSERT_EQ(vigil_guard_open(run, &options, &guard), VIGIL_OK);
  EXPECT_EQ(Judge(guard, 2, std::nan("")).action, VIGIL_ACTION_GO);
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  const auto imported = vigil::pipeline::ImportPaths({folder_});
  ASSERT_EQ(imported.runs.size(), 1U);
  ASSERT_FALSE(imported.runs[0].events.empty());
  EXPECT_EQ(imported.runs[0].events[0].name, "guard/observe");
}

TEST_F(CApi, TheGuardIsChangedThroughItsControlFile) {
  const vigil_run run = Open();
  const std::string control = folder_ + "/guard.toml";
  vigil_guard_options options = VIGIL_GUARD_OPTIONS_INIT;
  options.control_file = control.c_str();
  vigil_guard guard = {0};
  ASSERT_EQ(vigil_guard_open(run, &options, &guard), VIGIL_OK);
  EXPECT_EQ(Judge(guard, 1, std::nan("")).action, VIGIL_ACTION_SKIP);
  std::ofstream(control) << "non_finite = \"raise\"\n";
  int action = VIGIL_ACTION_SKIP;
  for (int tries = 0; tries < 100 && action != VIGIL_ACTION_STOP; ++tries) {
    ::usleep(100'000);
    vigil_decision decision = {};
    decision.size = sizeof(decision);
    vigil_guard_judge(guard, 2, 1.0, 1.0, &decision);  // so that no row of bad steps is given up
    if (vigil_guard_judge(guard, 3, std::nan(""), 1.0, &decision) == VIGIL_OK) action = decision.action;
  }
  EXPECT_EQ(action, VIGIL_ACTION_STOP);
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
}

TEST_F(CApi, MisuseOfTheGuardIsACode) {
  vigil_guard guard = {7};
  vigil_guard_options options = VIGIL_GUARD_OPTIONS_INIT;
  options.spike = 9;
  EXPECT_EQ(vigil_guard_open(vigil_run{0}, &options, &guard), VIGIL_INVALID);
  EXPECT_EQ(guard.id, 0U);
  EXPECT_EQ(vigil_guard_open(vigil_run{0}, nullptr, nullptr), VIGIL_INVALID);
  EXPECT_EQ(vigil_guard_judge(guard, 1, 1, 1, nullptr), VIGIL_INVALID);
  vigil_decision decision = {};
  decision.size = sizeof(decision);
  EXPECT_EQ(vigil_guard_judge(guard, 1, 1, 1, &decision), VIGIL_INVALID);
  EXPECT_EQ(decision.action, VIGIL_ACTION_GO);
  std::vector<vigil_guard> guards(9);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ(vigil_guard_open(vigil_run{0}, nullptr, &guards[i]), i < 8 ? VIGIL_OK : VIGIL_LIMIT);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(vigil_guard_judge(guards[0], 1, 1, 1, &decision) == VIGIL_FORKED ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(vigil_guard_close(guards[i]), VIGIL_OK);
}

TEST_F(CApi, TheFaceForCxxNeverThrows) {
  static_assert(std::is_nothrow_constructible_v<vigil::Run, const std::string&>);
  static_assert(noexcept(std::declval<const vigil::Run&>().Series(std::declval<const std::string&>())));
  const std::string name = "loss";
  vigil::Run run(folder_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.Series(name, {{"layer", "w"}}).Add(1, 1), VIGIL_OK);
  EXPECT_EQ(run.Finish(), VIGIL_OK);
}

// What an initialiser does not name is zero, which means the default.
TEST_F(CApi, ZeroMeansTheDefault) {
  vigil_run_options options = {};
  options.size = sizeof(options);
  options.folder = folder_.c_str();
  vigil_run run = {0};
  ASSERT_EQ(vigil_run_open(&options, &run), VIGIL_OK);
  vigil_series series = {0};
  ASSERT_EQ(vigil_series_open(run, "loss", nullptr, &series), VIGIL_OK);
  for (std::int64_t step = 0; step < 5000; ++step) EXPECT_EQ(vigil_series_add(series, step, 1), VIGIL_OK);
  ASSERT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  const auto imported = vigil::pipeline::ImportPaths({folder_});
  ASSERT_EQ(imported.runs.size(), 1U);
  EXPECT_EQ(imported.runs[0].Find("loss")->size(), 5000U) << "a lane of the smallest size would have overwritten some";
}

// Fingerprints are compared between runs and versions.
TEST(CApiFingerprint, NeverChanges) {
  EXPECT_EQ(vigil_fingerprint("vigil", 5), 0xf2ddfd54fb22cecbU);
  EXPECT_NE(vigil_fingerprint("vigil", 5), vigil_fingerprint("vigil", 4));
}

}  // namespace
