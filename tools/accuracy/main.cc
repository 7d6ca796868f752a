// How often the verdict is right. Reads labelled runs, diagnoses them as the program would, and writes doc/accuracy.md
// and, from the runs in tests/fixtures, the figures of each finding and cause (src/catalogue/figures).
//
// usage: accuracy [--check] [--scale SET [--held-out]] [--made FOLDER]
//        accuracy --runs FOLDER | --twins FOLDER | --frameworks --scale SET [--made FOLDER]
//   --check          writes nothing; fails when the page or the figures are not what is computed now
//   --scale SET      also scores a set of the gym at scale: a folder of runs-*.jsonl.xz or .zst
//   --held-out       also fits the model without each task, family and framework in turn and scores that: some minutes
//                    on many cores
//   --frameworks     writes nothing; prints the tables of the runs of real trainers, each framework held out in turn
//   --made FOLDER    also scores the runs that FOLDER/MANIFEST.tsv lists, with causes and onsets
//   --runs FOLDER    writes nothing; prints the tables of the runs that FOLDER/LABELS.tsv lists (as the gym writes it)
//   --twins FOLDER   compares the verdicts on folders run/style (as `make twins` writes them), and keeps the table on
//   the page
// VIGIL_CORPUS names the folder of other people's files (otherwise ../shared/corpus beside the project). Parts of the
// page whose runs are absent stay as they are, and what is printed says so.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>

#include "accuracy/figures.h"
#include "accuracy/held_out.h"
#include "accuracy/markdown.h"
#include "accuracy/page.h"
#include "accuracy/scale_tables.h"
#include "accuracy/tables.h"
#include "accuracy/twins.h"
#include "platform/files.h"
#include "scale/read_set.h"

namespace vigil::accuracy {
namespace {

constexpr std::uint64_t kMostListBytes = 16U << 20U;

constexpr const char* kRoot = VIGIL_SOURCE_DIR;
constexpr const char* kPagePath = VIGIL_SOURCE_DIR "/doc/accuracy.md";
constexpr const char* kFiguresFolder = VIGIL_SOURCE_DIR "/src/catalogue/figures/";

struct Options {
  bool check = false;
  bool held_out = false;
  bool frameworks = false;
  std::string scale;
  std::string made;
  std::string runs;
  std::string twins;
};

std::string CorpusFolder() {
  const char* named = std::getenv("VIGIL_CORPUS");
  return named != nullptr ? std::string(named) : std::string(kRoot) + "/../shared/corpus";
}

using ParseCases = Result<std::vector<Case>> (*)(std::string_view tsv, std::string_view origin);

// The runs that a list names, below its folder, each with what became of it.
Result<std::vector<Observed>> ObserveListed(const std::string& folder, const std::string& list, ParseCases parse) {
  const std::string path = folder + "/" + list;
  const auto text = platform::ReadWholeFile(path, kMostListBytes);
  if (!text) return Fail(text.error());
  const auto cases = parse(*text, path);
  if (!cases) return Fail(cases.error());
  std::vector<Observed> observed(cases->size());
  scale::ForEachInParallel(cases->size(), 0,
                           [&](std::size_t i) { observed[i] = Observe((*cases)[i], folder + "/" + (*cases)[i].path); });
  return observed;
}

std::vector<Outcome> OutcomesOf(const std::vector<Observed>& observed) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(observed.size());
  for (const Observed& run : observed) outcomes.push_back(run.outcome);
  return outcomes;
}

Result<std::vector<Outcome>> JudgeListed(const std::string& folder, const std::string& list, ParseCases parse) {
  const auto observed = ObserveListed(folder, list, parse);
  if (!observed) return Fail(observed.error());
  return OutcomesOf(*observed);
}

// The labelled runs of the repository, those of the first two tables of the page first.
Result<std::vector<ObservedList>> ObserveFixtures() {
  std::vector<ObservedList> lists;
  for (const std::string_view folder : {"", "gym/", "frameworks/", "fresh/"}) {
    const std::string prefix = "tests/fixtures/" + std::string(folder);
    auto runs = ObserveListed(std::string(kRoot) + "/" + prefix, "LABELS.tsv", ParseFixtureLabels);
    if (!runs) return Fail(runs.error());
    lists.push_back({prefix, std::move(*runs)});
  }
  return lists;
}

Result<std::string> ComputeMade(const std::string& folder) {
  const auto outcomes = JudgeListed(folder, "MANIFEST.tsv", ParseMadeManifest);
  if (!outcomes) return Fail(outcomes.error());
  return "\n" + MadeTables(*outcomes);
}

Result<std::string> ComputeCorpus(const std::string& folder) {
  const auto outcomes = JudgeListed(folder, "MANIFEST.tsv", ParseCorpusManifest);
  if (!outcomes) return Fail(outcomes.error());
  const std::string readings_path = std::string(kRoot) + "/tests/corpus_readings.tsv";
  const auto readings_text = platform::ReadWholeFile(readings_path, kMostListBytes);
  if (!readings_text) return Fail(readings_text.error());
  const auto readings = ParseReadings(*readings_text, readings_path);
  if (!readings) return Fail(readings.error());
  return "\n" + CorpusTables(*outcomes, *readings);
}

// What was fitted without the part that a row names, and what was not.
constexpr std::string_view kWeights =
    "The weights of the model (`weights.toml`) are fitted again for each row, without the runs that it names. The "
    "thresholds of detectors, the\n"
    "weights of the rows and the borders of the measures were chosen by hand, with some of these runs in view: they "
    "are the same in all rows.";

// The lists whose runs the model is fitted to beside the gym at scale.
struct LabelledList {
  std::string folder;
  std::string file;
  ParseCases parse;
};

std::vector<LabelledList> LabelledLists(const std::string& made) {
  std::vector<LabelledList> lists = {
      {std::string(kRoot) + "/tests/fixtures", "LABELS.tsv", ParseFixtureLabels},
      {std::string(kRoot) + "/tests/fixtures/frameworks", "LABELS.tsv", ParseFixtureLabels},
      {std::string(kRoot) + "/tests/fixtures/fresh", "LABELS.tsv", ParseFixtureLabels}};
  if (!made.empty()) lists.push_back({made, "MANIFEST.tsv", ParseMadeManifest});
  return lists;
}

Result<std::vector<ListedRuns>> ReadLists(const std::vector<LabelledList>& lists) {
  std::vector<ListedRuns> read;
  for (const LabelledList& list : lists) {
    const std::string path = list.folder + "/" + list.file;
    const auto text = platform::ReadWholeFile(path, kMostListBytes);
    if (!text) return Fail(text.error());
    auto cases = list.parse(*text, path);
    if (!cases) return Fail(cases.error());
    read.push_back({list.folder, std::move(*cases)});
  }
  return read;
}

Result<std::shared_ptr<const fit::Lessons>> GatherLessons(const std::vector<scale::Record>& records,
                                                          const std::vector<LabelledList>& lists) {
  auto lessons = std::make_shared<fit::Lessons>();
  fit::AddRecords(records, *lessons);
  for (const LabelledList& list : lists) {
    if (const Status added = fit::AddLabelled(list.folder + "/" + list.file, *lessons); !added)
      return Fail(added.error());
  }
  return std::shared_ptr<const fit::Lessons>(std::move(lessons));
}

std::string ComputeHeldOutParts(const std::vector<scale::Record>& records, const scale::Fitter& fitter) {
  std::vector<HeldOutBy> ways;
  const std::vector<std::pair<std::string, scale::PartKey>> keys = {
      {"task", scale::TaskOf}, {"family", scale::FamilyOf}, {"framework", scale::FrameworkOf}};
  for (const auto& [what, key] : keys) {
    const std::vector<scale::Fold> folds = scale::FoldsBy(records, key);
    // One part leaves nothing to fit on.
    if (folds.size() > 1)
      ways.push_back({what, scale::LeaveOneOut(records, folds, fitter)});
    else
      ways.push_back({what, {}});
  }
  return HeldOutTables(ways, std::string(kWeights));
}

Result<std::string> ComputeHeldOut(const std::vector<scale::Record>& records, const std::string& made) {
  const std::vector<LabelledList> lists = LabelledLists(made);
  const auto listed = ReadLists(lists);
  if (!listed) return Fail(listed.error());
  const auto lessons = GatherLessons(records, lists);
  if (!lessons) return Fail(lessons.error());
  const std::string frameworks = HeldOutFrameworkTables(JudgeEachFrameworkHeldOut(**lessons, *listed));
  return ComputeHeldOutParts(records, FitWithout(*lessons)) + frameworks;
}

// ---- the page

class Page {
 public:
  Page() : old_(platform::ReadWholeFile(kPagePath, kMostListBytes).value_or("")), new_(EmptyPage()) {}

  void Put(std::string_view part, const std::string& content) {
    new_ = ReplacePart(new_, std::string(part), content);
    is_computed_[PlaceOf(part)] = true;
  }
  const std::string& old_page() const { return old_; }
  std::string new_page() const { return KeepParts(new_, old_, is_computed_); }
  // The page as it is printed: parts that were not computed say so.
  std::string printed() const {
    std::string page = new_page();
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      const std::string name(kParts[i]);
      if (!is_computed_[i]) page = ReplacePart(page, name, std::string(kAbsent) + PartOf(page, name));
    }
    return page;
  }

 private:
  static constexpr std::string_view kAbsent =
      "\nNot run now: the runs are absent, or were not asked for. The tables below are those of the last run that had "
      "them.\n";
  static std::size_t PlaceOf(std::string_view part) {
    std::size_t place = 0;
    while (place + 1 < kParts.size() && kParts[place] != part) ++place;
    return place;
  }

  std::string old_;
  std::string new_;
  std::array<bool, kParts.size()> is_computed_ = {};
};

int Complain(const std::string& message) {
  fmt::print(stderr, "accuracy: {}\n", message);
  return 2;
}

int Check(const Page& page) {
  const std::string new_page = page.new_page();
  for (const std::string_view part : kParts) {
    const std::string name(part);
    if (PartOf(page.old_page(), name) == PartOf(new_page, name)) continue;
    fmt::print("accuracy: the part '{}' of doc/accuracy.md is not what is computed now; `make accuracy` rewrites it\n",
               part);
    fmt::print("{}", PartOf(new_page, name));
    return 1;
  }
  if (page.old_page() != new_page) {
    fmt::print("accuracy: the text of doc/accuracy.md is not that of tools/accuracy; `make accuracy` rewrites it\n");
    return 1;
  }
  fmt::print("accuracy: doc/accuracy.md is up to date\n");
  return 0;
}

// ---- the figures of each finding and cause

int CheckFigures(const std::vector<ObservedList>& fixtures) {
  for (const std::string_view name : kFigureFiles) {
    const std::string path = kFiguresFolder + std::string(name);
    if (platform::ReadWholeFile(path, kMostListBytes).value_or("") == FigureFile(name, fixtures)) continue;
    fmt::print("accuracy: src/catalogue/figures/{} is not what is computed now; `make accuracy` rewrites it\n", name);
    return 1;
  }
  return 0;
}

Status WriteFigures(const std::vector<ObservedList>& fixtures) {
  for (const std::string_view name : kFigureFiles) {
    const Status written =
        platform::WriteFileAtomically(kFiguresFolder + std::string(name), FigureFile(name, fixtures));
    if (!written) return written;
  }
  return {};
}

int PrintRuns(const std::string& folder) {
  const auto outcomes = JudgeListed(folder, "LABELS.tsv", ParseFixtureLabels);
  if (!outcomes) return Complain(outcomes.error().Text());
  fmt::print("\n{}", FixtureTables(*outcomes));
  return 0;
}

int PrintHeldOutFrameworks(const Options& options) {
  const auto records = scale::ReadSet(options.scale);
  if (!records) return Complain(records.error().Text());
  const std::vector<LabelledList> lists = LabelledLists(options.made);
  const auto listed = ReadLists(lists);
  if (!listed) return Complain(listed.error().Text());
  const auto lessons = GatherLessons(*records, lists);
  if (!lessons) return Complain(lessons.error().Text());
  fmt::print("{}", HeldOutFrameworkTables(JudgeEachFrameworkHeldOut(**lessons, *listed)));
  return 0;
}

int KeepTwins(const std::string& folder) {
  const auto table = CompareTwins(folder);
  if (!table) return Complain(table.error().Text());
  fmt::print("{}", *table);
  Page page;
  page.Put("twins", *table);
  const Status written = platform::WriteFileAtomically(kPagePath, page.new_page());
  return written ? 0 : Complain(written.error().Text());
}

Status PutScale(const Options& options, Page& page) {
  const auto records = scale::ReadSet(options.scale);
  if (!records) return Fail(records.error());
  if (options.held_out) {
    const auto held_out = ComputeHeldOut(*records, options.made);
    if (!held_out) return Fail(held_out.error());
    page.Put("held-out", *held_out);
  }
  page.Put("scale", ScaleTables(scale::JudgeAll(*records, catalogue::Thresholds())));
  return {};
}

Status PutComputed(std::string_view part, const Result<std::string>& content, Page& page) {
  if (!content) return Fail(content.error());
  page.Put(part, *content);
  return {};
}

Status PutAll(const Options& options, const std::vector<ObservedList>& fixtures, Page& page) {
  const std::string corpus = CorpusFolder();
  const bool has_corpus = platform::Stat(corpus + "/MANIFEST.tsv").has_value();
  if (!has_corpus)
    fmt::print(stderr, "accuracy: not run on other people's files: corpus absent (VIGIL_CORPUS names it)\n");
  page.Put("fixtures", "\n" + FixtureTables(OutcomesOf(fixtures[0].runs)));
  page.Put("gym", "\n" + GymTables(OutcomesOf(fixtures[1].runs)));
  Status put;
  if (has_corpus) put = PutComputed("corpus", ComputeCorpus(corpus), page);
  if (put && !options.made.empty()) put = PutComputed("made", ComputeMade(options.made), page);
  if (put && !options.scale.empty()) put = PutScale(options, page);
  return put;
}

int Main(const Options& options) {
  if (!options.runs.empty()) return PrintRuns(options.runs);
  if (!options.twins.empty()) return KeepTwins(options.twins);
  if (options.frameworks) return PrintHeldOutFrameworks(options);
  const auto fixtures = ObserveFixtures();
  if (!fixtures) return Complain(fixtures.error().Text());
  Page page;
  if (const Status put = PutAll(options, *fixtures, page); !put) return Complain(put.error().Text());
  if (options.check) return std::max(CheckFigures(*fixtures), Check(page));
  if (const Status written = WriteFigures(*fixtures); !written) return Complain(written.error().Text());
  const Status written = platform::WriteFileAtomically(kPagePath, page.new_page());
  if (!written) return Complain(written.error().Text());
  fmt::print("{}", page.printed());
  return 0;
}

std::optional<Options> ParseOptions(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    std::string* const into = word == "--scale"   ? &options.scale
                              : word == "--made"  ? &options.made
                              : word == "--runs"  ? &options.runs
                              : word == "--twins" ? &options.twins
                                                  : nullptr;
    if (word == "--check") {
      options.check = true;
    } else if (word == "--frameworks") {
      options.frameworks = true;
    } else if (word == "--held-out") {
      options.held_out = true;
    } else if (into != nullptr && i + 1 < count) {
      *into = arguments[++i];
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace
}  // namespace vigil::accuracy

int main(int count, char** arguments) {
  const auto options = vigil::accuracy::ParseOptions(count, arguments);
  if (!options)
    return vigil::accuracy::Complain(
        "usage: accuracy [--check] [--scale SET [--held-out]] [--made FOLDER] | --runs FOLDER | --twins FOLDER | "
        "--frameworks --scale SET [--made FOLDER]");
  return vigil::accuracy::Main(*options);
}
