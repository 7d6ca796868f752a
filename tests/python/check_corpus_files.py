"""Compares what vigil reads from files of other people's runs and of real clients with slow_readers.py.

usage: check_corpus_files.py DUMP TABLE CORPUS [FIXTURES]

DUMP is the program tests/python/dump_series.cc. For each file in TABLE (tests/corpus_files.tsv): every series, each of
its values in order, and its steps where the file names them; the table's own columns too. The same for the structured
files below FIXTURES. Kinds whose package is absent are counted and named; exits 77 ("not run") when nothing was checked.
"""

import csv
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import peers  # noqa: E402
import slow_readers  # noqa: E402

NOT_RUN = 77
# What the vocabulary turns into another unit: shares into percent, milliseconds into seconds, gigabytes into bytes.
UNITS = (1, 100, 1e-3, 1e9, 2**30, 1e6, 2**20, 1e12, 2**-30, 2**-20, 1e6 / 2**30, 2**-10)
# Columns that count, clock or describe the rows and are no series of their own.
COUNTERS = {
    *slow_readers.STEP_KEYS,
    "_step",
    "_runtime",
    "_timestamp",
    "_wandb/runtime",
    "total_steps",
    "percentage",
    "t",
    "time",
    "time/iterations",
    "time/total_timesteps",
    "elapsed_time",
    "remaining_time",
    "story/global_step",
    "snapshot/global_step",
    "updates",
    "epoch",
    "Step",
    "train/step",
    "max_steps",
    "steps",
    "wall_time",
    "seed",
    "train_steps",
    "timestamp",
}
COUNTER_PREFIXES = ("time/", "_wandb")
# Names whose values vigil stores with the opposite sign: stable-baselines3 logs the negated entropy as a loss.
NEGATED = {"train/entropy_loss"}
# What vigil leaves out on purpose, with the reason that is printed.
RANGE_OF_EXPORT = "the lowest and highest of several runs in an export of W&B: the value beside them is read"
NEVER_A_NUMBER = "a column of a table that is nan in every row and is no training loss: taken as not measured"


def same(a, b, unit=1.0):
    return a * unit == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a * unit, b, rel_tol=1e-9)


def by_vigil(dump, path):
    """{run: {name: [(step, value)]}}."""
    done = subprocess.run([dump, "--runs", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    runs = {}
    for line in done.stdout.splitlines():
        run, name, step, _, value = line.split("\t")
        if not name.startswith("histogram/"):
            runs.setdefault(run, {}).setdefault(name, []).append((int(step), float(value)))
    return runs


def unit_of(expected, found):
    pairs = ((a[1], b[1]) for a, b in zip(expected, found, strict=False) if a[1] and b[1] and math.isfinite(a[1]))
    a, b = next(pairs, (1, 1))
    return next((unit for unit in UNITS if math.isclose(a * unit, b, rel_tol=1e-9)), 1)


def without_repeats(points):
    """A value that is said twice for one step counts once."""
    kept = []
    for point in points:
        if not kept or point[0] is None or kept[-1][0] != point[0] or not same(kept[-1][1], point[1]):
            kept.append(point)
    return kept


def difference(expected, found):
    """What differs between two lists of points, in words; None when nothing does."""
    unit = unit_of(expected, found)
    if len(expected) != len(found):
        expected = without_repeats(expected)
    if len(expected) != len(found):
        return f"{len(expected)} points, {len(found)} found"
    for at, (a, b) in enumerate(zip(expected, found, strict=True)):
        if not same(a[1], b[1], unit) or (a[0] is not None and a[0] != b[0]):
            return f"point {at}: {a} expected, {b} found"
    return None


def negated(points):
    return [(step, -value) for step, value in points]


def is_never_a_number(name, points):
    return "train" not in name and all(math.isnan(value) for _, value in points)


def compare(expected, found, kind, left):
    """Differences between two readings of one run: [text], and how many values are the same. Counts in `left` what is
    left out on purpose."""
    problems, values = [], 0
    expected = {name: negated(points) if name in NEGATED else points for name, points in expected.items()}
    for name, points in found.items():
        if name not in expected and name.startswith("system/"):
            continue  # samples of the machine, which the other reader leaves
        if name not in expected:
            problems.append(f"{name}: no such series in the file")
            continue
        problem = difference(expected[name], points)
        problems += [f"{name}: {problem}"] if problem else []
        values += 0 if problem else len(points)
    for name in expected:
        if name in found or name in COUNTERS or name.startswith(COUNTER_PREFIXES):
            continue
        if kind == "csv" and name.endswith(("__MIN", "__MAX")):
            left[RANGE_OF_EXPORT] += 1
            continue
        if kind == "csv" and is_never_a_number(name, expected[name]):
            left[NEVER_A_NUMBER] += 1
            continue
        problems.append(f"{name}: not read")
    return problems, values


def table_problem(row, found):
    """Whether the table's own columns say what was read."""
    if row["longest"] == "-":
        return None
    points = [point for run in found.values() for name, point in run.items() if name == row["longest"]]
    if not points:
        return f"{row['longest']}: named in the table, not read"
    expected = (int(row["its_points"]), float(row["first_value"]), float(row["last_value"]))
    seen = (len(points[0]), points[0][0][1], points[0][-1][1])
    right = expected[0] == seen[0] and same(expected[1], seen[1]) and same(expected[2], seen[2])
    return None if right else f"{row['longest']}: {expected} in the table, {seen} read"


class Check:
    def __init__(self, dump):
        self.dump, self.files, self.values, self.left, self.problems = dump, 0, 0, Counter(), []
        self.left_series = Counter()

    def file(self, path, kind, row=None):
        reader = slow_readers.READERS.get(kind)
        if reader is None:
            self.left[f"{kind}: no other reader"] += 1
            return
        try:
            expected = reader(path)
        except ImportError as error:
            self.left[f"{kind}: {error}"] += 1
            return
        try:
            found = by_vigil(self.dump, slow_readers.expanded(path))
        except ValueError as error:
            if any(expected.values()):
                self.problems.append(str(error))
            else:
                self.left[f"{kind}: holds no value, which vigil says too"] += 1
            return
        problem = table_problem(row, found) if row else None
        self.problems += [f"{path.name}: {problem}"] if problem else []
        missing = {run for run, series in expected.items() if series} - set(found)
        self.problems += [f"{path.name}: run {run} not read" for run in missing]
        for run, series in found.items():
            problems, values = compare(expected.get(run, {}), series, kind, self.left_series)
            self.problems += [f"{path}: {text}" for text in problems]
            self.values += values
        self.files += 1


def kind_of(path):
    name = path.name.removesuffix(".gz")
    if "tfevents" in name:
        return "tfevents"
    kinds = {".wandb": "wandb", ".csv": "csv", ".jsonl": "jsonl", ".db": "sqlite"}
    return "trainer-state" if name == "trainer_state.json" else kinds.get(Path(name).suffix)


def main():
    peers.need_packages()
    dump, table, corpus, *fixtures = sys.argv[1:]
    check = Check(dump)
    if Path(corpus).exists():
        with open(table) as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                check.file(Path(corpus) / row["path"], row["format"], row)
    else:
        print(f"not run: the corpus is absent ({corpus})")
    for folder in fixtures:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and (kind := kind_of(path)):
                check.file(path, kind)
    for reason, count in check.left.items():
        print(f"not run: {count} files: {reason}")
    for reason, count in check.left_series.items():
        print(f"not compared: {count} series: {reason}")
    print(f"{check.files} files, {check.values} values: the same, {len(check.problems)} problems")
    if check.problems:
        sys.exit("\n".join(check.problems[:40]))
    if check.files == 0:
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
