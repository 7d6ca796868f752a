"""Reads many changed inputs with vigil and with another reader of the same format, and compares what they read.

usage: differential.py DUMP CORPUS COUNT [KIND...]

DUMP is the program tests/python/dump_values.cc, CORPUS is fuzz/corpus. COUNT inputs of each kind come from the kept ones by
changes that leave lengths and checksums right: the same each time, others for another text in the environment variable
DIFFERENTIAL_SEED. Both must read the same values, or both refuse; differences that are meant are stated with their reason
(changes.Stated) and counted. An input with any other is kept in build/differential. Kinds whose package is absent are
named; exits 77 ("not run") when none was compared.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import changes  # noqa: E402
import differential_binary as binary  # noqa: E402
import differential_sqlite as database  # noqa: E402
import differential_text as text  # noqa: E402
import peers  # noqa: E402

NOT_RUN = 77
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build/differential"
# For each kind: its inputs, without end; what differs between another's reading and vigil's, in words.
KINDS = {
    "json": (text.json_inputs, text.json_difference),
    "csv": (text.csv_inputs, text.csv_difference),
    "pickle": (binary.pickle_inputs, binary.pickle_difference),
    "tfevents": (binary.tfevents_inputs, binary.tfevents_difference),
    "wandb": (binary.wandb_inputs, binary.wandb_difference),
    "sqlite": (database.inputs, database.difference),
}


class Vigil:
    """The readers of vigil in one process."""

    def __init__(self, dump):
        self.process = subprocess.Popen([dump], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, kind, data):
        self.process.stdin.write(b"%s %d\n" % (kind.encode(), len(data)) + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"vigil ended with {self.process.wait()}")
        return json.loads(line)


def keep(kind, number, data):
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{kind}-{number}"
    path.write_bytes(data)
    return path


def compare(kind, vigil, corpus, count):
    """The differences of one kind; prints what was compared."""
    inputs, difference = KINDS[kind]
    problems, stated, largest = [], Counter(), 0
    source = inputs(corpus, random.Random(kind + os.environ.get("DIFFERENTIAL_SEED", "")))
    for number in range(count):
        data = next(source)
        largest = max(largest, len(data))
        try:
            problem = difference(data, vigil.read(kind, data))
        except RuntimeError as error:
            return [f"{keep(kind, number, data)}: {error}"]
        if isinstance(problem, changes.Stated):
            stated[problem.reason] += 1
        elif problem:
            problems.append(f"{keep(kind, number, data)}: {problem}")
    same = count - stated.total() - len(problems)
    print(f"{kind}: {count} inputs of up to {largest} bytes, {same} the same, {len(problems)} differ")
    for reason, times in stated.most_common():
        print(f"  {times} differ as stated: {reason}")
    return problems


def main():
    peers.need_packages()
    dump, corpus, count, *kinds = sys.argv[1:]
    problems, compared = [], 0
    for kind in kinds or KINDS:
        try:
            problems += compare(kind, Vigil(dump), corpus, int(count))
            compared += 1
        except ImportError as error:
            print(f"NOT RUN: {kind}: {error}")
    if problems:
        sys.exit("\n".join(problems[:40]))
    if compared == 0:
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
