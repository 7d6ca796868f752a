#!/usr/bin/env python3
"""Makes the labelled runs of `vigil gym` in tests/fixtures/gym: faults by strengths by seeds, and sound runs.

usage: tools/gym_fixtures.py PROGRAM [PART...]   runs whose name holds a PART, all when none is given; some minutes

Numbers of training are the same on every machine; times are those of the machine that made them, so make them on a
quiet one.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "gym"
SIZES = {"layers": 2, "width": 32, "heads": 2, "context": 32, "steps": 120}
PACES = {"stats-every": 0, "eval-every": 30, "timeout": 1}
ONSET = 70
SEEDS = (1, 2, 3)
# Where times decide, steps take long enough to be measured, on one thread.
TIMED = ("slow-data", "slow-step", "straggler-rank")
TIMED_SIZES = {"width": 64, "context": 64, "threads": 1}
# Strengths beside the default; where times of all ranks or memory matter, the metrics are kept too.
STRENGTHS = {
    "lr-too-high": (100, 300, 1000),
    "no-warmup": (13, 14),
    "no-clipping": (1, 1.5),
    "non-finite-input": (1,),
    "token-out-of-range": (1,),
    "layer-log-zero": (0.1,),
    "labels-shuffled": (1,),
    "frozen-params": (1,),
    "host-memory-leak": (1, 8),
    "slow-data": (0.5, 3),
    "slow-step": (2, 3),
    "straggler-rank": (2, 3),
    "dead-rank": (9, 11),
    "hang-rank": (1,),
    "bit-flip": (30,),
    "resume-without-optimizer": (1,),
    "resume-data-restart": (1,),
}
WITH_METRICS = ("host-memory-leak", "straggler-rank", "resume-data-restart")
HEALTHY = {
    "healthy": "",
    "healthy-lr": "--lr 0.01",
    "healthy-warmup": "--warmup 40",
    "healthy-accumulate": "--accumulate 2",
    "healthy-large": "--batch 32",
    "healthy-ranks": "--ranks 2",
    "healthy-post-norm": "--post-norm --lr 0.04",
}


def small(**changes):
    return [word for name, value in {**SIZES, **PACES, **changes}.items() for word in (f"--{name}", str(value))]


def train(program, name, words, resumed, kind, keeps):
    """Trains and keeps what `keeps` says of a file's name, in OUT/kind/name."""
    with tempfile.TemporaryDirectory() as work:
        journal = ["--journal"] if kind == "journals" else []
        words = [*words, *journal]
        done = subprocess.run([program, "gym", "-q", *words, "--out", "run"], cwd=work, capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(f"gym_fixtures: {name}: {done.stderr}")
        if resumed:
            again = [program, "gym", "-q", "--resume", "run/checkpoint-60", *journal]
            subprocess.run(again, cwd=work, check=True)
        # What a killed rank left in memory is written to its journal by whoever reads it first.
        subprocess.run([program, "diagnose", "-q", "run"], cwd=work, capture_output=True)
        target = OUT / kind / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in sorted(Path(work, "run").iterdir()):
            if keeps(path.name):
                shutil.copy(path, target / path.name)
    print(kind, name, flush=True)


def train_both(program, name, words, keep_metrics, resumed):
    """The run as its log gives it, and once more as its journals do."""

    def is_log(file):
        return file in ("train.log", "config.json") or (keep_metrics and file.startswith("metrics"))

    train(program, name, words, resumed, "runs", is_log)
    train(program, name, words, resumed, "journals", lambda file: file.endswith(".vigil"))


def runs(program):
    """Name, arguments, label of the fault, its row in the list, step of the onset."""
    faults = json.loads(subprocess.run([program, "gym", "--list", "--json"], capture_output=True, check=True).stdout)
    for kind, words in HEALTHY.items():
        for seed in SEEDS:
            yield f"{kind}-s{seed}", [*small(), *words.split(), "--seed", str(seed)], "healthy", None, ""
    yield "healthy-resumed-s1", [*small(), "--save-every", "60", "--seed", "1"], "healthy", None, ""
    for fault in faults:
        for strength in STRENGTHS[fault["name"]]:
            for seed in SEEDS:
                words = ["--fault", fault["name"], "--strength", str(strength), "--seed", str(seed)]
                words += small(**(TIMED_SIZES if fault["name"] in TIMED else {}))
                onset = 1 if fault["from_start"] else ONSET
                label = f"{fault['name']} x{strength:g}"
                name = f"{fault['name']}-x{strength:g}-s{seed}"
                yield name, [*words, "--onset", str(ONSET)], label, fault, onset


def main():
    program, parts = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    rows = []
    for name, words, label, fault, onset in runs(program):
        findings = ",".join(fault["findings"]) if fault else "none"
        causes = ",".join(fault["causes"]) if fault else ""
        for kind, source in (("runs", "log"), ("journals", "journal")):
            rows.append([f"{kind}/{name}", source, label, "score", findings, causes, str(onset), ""])
        if not parts or any(part in name for part in parts):
            train_both(program, name, words, fault and fault["name"] in WITH_METRICS, "resumed" in name)
    for folder in [*OUT.glob("runs/*"), *OUT.glob("journals/*")]:
        if f"{folder.parent.name}/{folder.name}" not in [row[0] for row in rows]:
            shutil.rmtree(folder)
    header = ["path", "trainer", "fault", "split", "expect", "cause", "onset_step", "note"]
    lines = ["\t".join(row) for row in [header, *rows]]
    OUT.joinpath("LABELS.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
