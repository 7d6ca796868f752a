"""The runs of the fixture set, from runs.tsv: trainer, fault, seed, settings, the files that are kept, and the label.

Columns: `path` without its seed; `keep` of log, state, events, files; `how` of v4 (older trainers), buffered (stdout in
blocks), alone (a process of its own); `settings` as given to the trainer, with ` // ` between the parts of a run that
stops and goes on; `expect` and `cause` where they differ from those of the fault.
"""

import csv
import os
from dataclasses import dataclass

import faults

DEMO = ["torch/lr-too-high-s12", "hf/nan-hidden-s12", "hf/healthy-cosine-s12"]


@dataclass
class Run:
    path: str
    fault: str
    seed: int
    parts: list
    keep: list
    how: list
    onset: str
    expect: str
    cause: str
    note: str

    @property
    def trainer(self):
        return self.path.split("/")[0].removesuffix("-v4")

    @property
    def line(self):
        return 4 if "v4" in self.how else 5

    @property
    def split(self):
        """By seed, so that a threshold chosen on one part is scored on runs it has not seen."""
        return "tune" if self.seed % 5 < 2 else "score"


def parts(settings, onset):
    """The argument strings of the parts of a run; each is given the settings and the onset of all."""
    common, *rest = settings.split(" // ")
    if onset:
        common += f" --onset {onset}"
    return [f"{common} {part}" for part in rest] or [common]


def read():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs.tsv")) as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    out = []
    for row in rows:
        known = faults.BY_NAME.get(row["fault"])
        out.append(
            Run(
                path=f"{row['path']}-s{row['seed']}",
                fault=row["fault"],
                seed=int(row["seed"]),
                parts=parts(row["settings"], row["onset"]),
                keep=row["keep"].split(","),
                how=row["how"].split(","),
                onset=row["onset"],
                expect=row["expect"] or (known.findings if known else "none"),
                cause=row["cause"] or (known.cause if known else ""),
                note=row["note"],
            )
        )
    return out


RUNS = read()
