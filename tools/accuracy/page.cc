#include "accuracy/page.h"

#include "accuracy/markdown.h"

namespace vigil::accuracy {
namespace {

constexpr std::string_view kOpening = R"(# Accuracy

How often the verdict is right, written by `make accuracy`. The first table is of parts that the fit was kept from, and is the headline. The
others are of runs that were looked at or fitted to: they say that nothing got worse, and little about new runs.

* **right finding**, **found**: of the faulty runs, those with an expected finding at `warning` or above; **missed** are the others,
  a run that could not be read among them.
* **right cause first**, **cause first**: of the runs with a labelled cause, those whose first diagnosis names it, or one that the files cannot
  distinguish from it. **in a stated pair**: another cause, or none for certain, stands first, and the right one is named as its rival.
  **wrong cause**: another cause, and the right one is not named. **undecided**, **unknown**: the diagnosis says that the evidence does not
  decide, and does not name the right one.
* **false alarm**, **false error**: a healthy run with a finding at `error` or `fatal`. **only warned**: a healthy run with a `warning` and
  nothing above it; some are right (a spike that healed), none stops anybody.
* **precision**: of all runs that were flagged, those flagged rightly. A faulty run that is flagged only for something else
  counts against it. **recall**: of all faulty runs, those with the right finding.
* **delay**: the first step that the expected finding names, minus the step at which the fault began.
* **steps** of healthy runs are logged points: what a detector was given.

)";

constexpr std::string_view kHeldOut = R"(## Each part held out in turn

Runs of the gym at scale (`gym/scale`): real, tiny trainings with a measured label. Each task and each family of models is held out in turn,
with all runs that were trained beside it, and scored with what was fitted without it. Below them the frameworks are held out, a twelfth of them at a time, over the runs of
real trainers in `tests/fixtures`, `tests/fixtures/frameworks` and `tests/fixtures/fresh` and over those that were learned from. Written by
`make heldout`.

Readers, thresholds and the rows of causes were worked on with these runs in view, so that even a held-out row flatters. These scores do not: each set
was made by somebody who did not know what the program can do, and was scored once, by the version of that day, before anything was changed for it.

| set, never seen before | right finding | right cause first | wrong cause | false errors | not read |
| --- | --- | --- | --- | --- | --- |
| `tests/fixtures/fresh`: 211 runs, 49 print styles and frameworks, 70 faults | 75 of 133 (56%) | 51 of 125 (41%) | 16 (13%) | 0 of 78 | 11 |
| 131 runs, 34 print styles and trainers | 44 of 83 (53%) | 36 of 82 (44%) | 5 (6%) | 0 of 48 | 18 |
| 174 runs, about 70 print styles and frameworks, 20 tasks | 91 of 117 (78%) | 73 of 117 (62%) | 5 (4%) | 0 of 57 | 6 |
| 205 runs, 73 print styles, 8 frameworks, about 100 faults | 82 of 117 (70%) | 47 of 103 (46%) | 13 (13%) | 1 of 88 | 2 |

The sets differ in how hard they are, so that the rows are no trend. The last two accept every finding that an expert would accept from the files alone.

)";

constexpr std::string_view kScale = R"(## The gym at scale in full

The same runs with the weights and thresholds that ship: these have seen a part of them. A run with a fault is `fatal` (must be found),
`weak` (either answer is right) or `harmless` (a warning is right, an error is false); this was measured against its healthy twin. Runs
that did not learn without any fault, and fatal ones where nothing that was logged differs from the twin, are left out.
`VIGIL_SCALE` names the folder of a set (otherwise `gym/scale/set`); `gym/scale/make.py` makes another.

)";

constexpr std::string_view kShipped = R"(## Other tools, as they are shipped

Tools that one would take instead, installed from their packages and run without any option on the labelled runs of `tests/fixtures`,
`tests/fixtures/frameworks` and `tests/fixtures/fresh`, beside vigil on the same. Each has words of its own, so that only this is counted: whether it could read the run, and
whether it says anything at its warning level or above. It need not be the right thing: a run that is flagged for something else counts too, for vigil as for the others.
vigil was written with most of these runs in view, the others were not. Made by `bench/peers/diagnosers.py`.

)";

constexpr std::string_view kTwins = R"(## The same runs in other formats

Runs of the gym at scale, written in every style of `gym/scale/render.py` by `make twins`. The verdict of a style is compared with that of the
same run as JSON lines. Of the runs with a finding there: **same errors** are the same findings at `error` and above, **same verdict** the same
errors and the same cause first, **same findings** the same findings from `warning` up. Of the runs without any: **still silent**. They are
counted apart, since a file that is hardly read is silent too. Runs are picked by their verdict, half with an error, with every kind of
finding in turn; no style was looked at in the choice. Styles marked lossy round, or drop columns or points: there a verdict may fairly differ.

)";

constexpr std::string_view kFixtures = R"(## Runs of real trainers with a known fault

The runs in `tests/fixtures`, made by `gym`. Thresholds were chosen on those marked so, and detectors were written while the **scored** ones were looked at: they say that
nothing got worse, and little about runs of others.

)";

constexpr std::string_view kGym = R"(## Runs of vigil's own trainer

The runs in `tests/fixtures/gym`, made by `vigil gym` through `tools/gym_fixtures.py`: three seeds of each fault at one to three
strengths, and sound runs. Each is trained twice, and judged once by its log (`runs`) and once by what it recorded of itself (`journals`). No
threshold was chosen on them. They are counted apart because one small model on one text is not what people train.

)";

constexpr std::string_view kMade = R"(## Runs that were learned from

Runs of HF Trainer, TRL, Lightning, axolotl, DDP and plain loops with injected faults, which had no part in the work until they were scored
once; since then they are learned from, and prove nothing.

)";

constexpr std::string_view kCorpus = R"(## Other people's files

Files that others published, with labels made by a script and spot checks. They are not part of the project; a
label is what somebody thought, and where we disagree, our reading stands beside it. Kinds that no reader
knows yet are counted apart. Thresholds were never fitted to a single file, but these files were looked at while the
detectors were written: the score on them is no score on new files.

)";

constexpr std::string_view kRemedies = R"(## The run repeated with the first remedy

Each fault of the gym at scale, trained with a healthy twin, diagnosed from its log and config, and trained again with the remedy that stands
first (`make remedies`): a proposed value is set, a missing call put in, inputs are normalised, data that are named are left out; what the text of a remedy does
not say is not done. A remedy that says where to look heals only a fault that stands there: `gym/remedy_cures.py` lists which do, so that this row is a judgement where the
rows of settings and code are measured. **Healed**: the repeated run reaches 90% of what the twin learned, or its memory and time are those of a sound run. **Recovered**: of
what the fault cost, the share that the remedy brought back. **Diagnosed** counts diagnoses that leave the cause open too: they offer the first remedy of each cause
that is left. Runs that are not diagnosed count as not healed, and a fault of another cause than the one named is healed only by chance. The last column says why a case is not
healed. Crashes are left out: the advice is that of their message. The cases were looked at while the remedies were put in order: this is no held-out score.

)";

// In the order of kParts.
constexpr std::array<std::string_view, kParts.size()> kSections = {kHeldOut, kScale, kShipped, kTwins,   kFixtures,
                                                                   kGym,     kMade,  kCorpus,  kRemedies};

}  // namespace

std::string EmptyPage() {
  std::string page(kOpening);
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    page += kSections[i];
    page += MarkedPart(std::string(kParts[i]), "Not run: the runs are absent.\n");
    page += i + 1 < kParts.size() ? "\n\n" : "\n";
  }
  return page;
}

std::string KeepParts(std::string page, const std::string& old_page,
                      const std::array<bool, kParts.size()>& is_computed) {
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const std::string name(kParts[i]);
    const std::string kept = PartOf(old_page, name);
    if (!is_computed[i] && !kept.empty()) page = ReplacePart(page, name, kept);
  }
  return page;
}

}  // namespace vigil::accuracy
