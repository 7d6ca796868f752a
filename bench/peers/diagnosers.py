#!/usr/bin/env python3
"""Other tools that diagnose finished runs, as their packages ship them, on the labelled runs of tests/fixtures.

usage: diagnosers.py --envs DIR --install                      one environment a tool, below DIR (outside the tree)
       diagnosers.py --envs DIR --build BUILD [--page FILE]    runs them and vigil, and writes the table into FILE

BUILD holds `vigil` and `tests/dump_series`. A tool that is not below DIR is named in the table as not run.

Each run is given twice. First as it is: the run directory, and where a tool does not take it, each file in it that it does
take. Then as one file of JSON lines with the names that HF Trainer and TRL print, so that what a tool cannot read does not
count against what it can judge (a tool that takes tables only is given the same as a table).
"""

import argparse
import collections
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The tool, what is installed, and the arguments that make it print JSON; {} is the path.
TOOLS = {
    "trainproof": (["trainproof"], "trainproof.cli", ["doctor", "--json", "{}"]),
    "trainspotter": (["trainspotter[tensorboard]"], "trainspotter.cli", ["analyze", "--output", "json", "{}"]),
    "runmedic": (["runmedic", "numpy"], "runmedic.cli", ["diagnose", "--json", "{}"]),
    "rldoctor": (["rldoctor[tensorboard]"], "rl_doctor.cli", ["diagnose", "-f", "json", "{}"]),
    "training-doctor": (["training-doctor[tensorboard]"], "training_doctor", []),
}
LEVELS = {"warn": 1, "warning": 1, "fail": 2, "error": 2, "critical": 2, "fatal": 2}
# What the other tools were written to read: the names of HF Trainer and TRL.
NAMES = {
    "loss": "loss", "eval_loss": "eval_loss", "lr": "learning_rate", "grad_norm": "grad_norm", "reward": "reward",
    "reward_std": "reward_std", "entropy": "entropy", "kl": "kl", "zero_std_share": "frac_reward_zero_std",
    "completion_length": "completions/mean_length", "truncated_share": "completions/clipped_ratio",
    "accuracy": "accuracy", "eval_accuracy": "eval_accuracy", "step_time_s": "step_time", "epoch": "epoch",
}


# ---- inside the environment of a tool: one line of JSON for each path of the input


def levels_in(value):
    """Every level of a finding in a tool's JSON."""
    if isinstance(value, dict):
        if {"severity", "level"} & set(value):
            name = str(value.get("severity", value.get("level"))).lower()
            yield LEVELS.get(name, 0)
        for item in value.values():
            yield from levels_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from levels_in(item)


def run_program(main, arguments):
    """(worst level, None) or (None, why it was not read)."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    sys.argv = ["tool", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as end:
            code = end.code
        except Exception as problem:  # a tool that fails has read nothing
            return None, repr(problem)
    try:
        said = json.loads(out.getvalue())
        if not said or (isinstance(said, dict) and said.get("error")):
            return None, "nothing that it can read"
        return max(levels_in(said), default=0), None
    except ValueError:
        return None, (err.getvalue() or out.getvalue() or f"exit {code}").strip().splitlines()[-1:]


def run_library(path):
    from training_doctor import Doctor

    try:
        with contextlib.redirect_stdout(io.StringIO()):
            doctor = Doctor().load(path)
            return max((LEVELS.get(one.severity.value, 0) for one in doctor.analyze()), default=0), None
    except Exception as problem:
        return None, repr(problem)


def judge(tool, path):
    _, module, arguments = TOOLS[tool]
    if not arguments:
        return run_library(path)
    program = __import__(module, fromlist=["main"])
    return run_program(program.main, [part.format(path) for part in arguments])


def judge_run(tool, path):
    """The directory first; where it is not taken, the worst of the files that are."""
    if Path(path).is_file():
        return judge(tool, path if TOOLS[tool][2] else str(Path(path).with_suffix(".csv")))
    level, why = judge(tool, path)
    if level is not None:
        return level, why
    worst = None
    for file in sorted(Path(path).rglob("*")):
        if not file.is_file():
            continue
        level, _ = judge(tool, str(file))
        if level is not None:
            worst = max(worst or 0, level)
    return worst, why


def serve(tool):
    answers = os.fdopen(os.dup(1), "w")  # tools may print to the other one
    for line in sys.stdin:
        level, why = judge_run(tool, line.strip())
        print(json.dumps({"path": line.strip(), "level": level, "why": why}), file=answers, flush=True)


# ---- outside: the runs, the tools, the table


def labelled_runs():
    for folder in ("", "frameworks", "fresh"):
        base = ROOT / "tests/fixtures" / folder
        with open(base / "LABELS.tsv", newline="") as rows:
            for row in csv.DictReader(rows, delimiter="\t"):
                yield base / row["path"], row["expect"] == "none"


def as_json_lines(build, path, target):
    """The run's values under common names, or None where it has none of them."""
    report = json.loads(subprocess.run([build / "vigil", "diagnose", path, "--json"], capture_output=True, text=True).stdout or "{}")
    names = {s["raw"]: NAMES[s["name"]] for run in report.get("runs", []) for s in run["signals"] if s["name"] in NAMES and not s["labels"]}
    steps = collections.defaultdict(dict)
    files = [source["path"] for run in report.get("runs", []) for source in run["sources"] if source["state"] != "duplicate"]
    for file in files:
        dump = subprocess.run([build / "tests/dump_series", file], capture_output=True, text=True)
        for line in dump.stdout.splitlines():
            name, step, _, value = line.split("\t")
            if name in names:
                steps[int(step)].setdefault(names[name], float(value))
    if not steps:
        return None
    with open(target, "w") as out:
        for step in sorted(steps):
            out.write(json.dumps({"step": step, **steps[step]}) + "\n")
    columns = ["step", *sorted({name for values in steps.values() for name in values})]
    with open(target.with_suffix(".csv"), "w", newline="") as out:  # for what reads tables only
        rows = csv.DictWriter(out, columns)
        rows.writeheader()
        rows.writerows({"step": step, **steps[step]} for step in sorted(steps))
    return target


def vigil_level(build, path):
    done = subprocess.run([build / "vigil", "diagnose", path, "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout) if done.stdout else {"runs": []}
    levels = [LEVELS.get(f["severity"], 0) for run in report["runs"] for f in run["findings"]]
    return max(levels, default=0) if report["runs"] else None


def ask(envs, tool, paths):
    python = envs / tool / "bin/python"
    if not python.exists():
        return None, None
    shown = subprocess.run([python, "-c", f"from importlib.metadata import version; print(version('{tool}'))"], capture_output=True, text=True)
    asked = "".join(f"{path}\n" for path in paths)
    done = subprocess.run([python, __file__, "--serve", tool], input=asked, capture_output=True, text=True)
    levels = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        levels[answer["path"]] = answer["level"]
    return shown.stdout.strip(), [levels.get(str(path)) for path in paths]


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else "-"


def row(name, levels, healthy):
    faulty = [level for level, sound in zip(levels, healthy, strict=True) if not sound]
    sound = [level for level, is_sound in zip(levels, healthy, strict=True) if is_sound]

    def at_least(values, level):
        return sum(1 for value in values if value is not None and value >= level)

    read = sum(1 for level in levels if level is not None)
    return (
        f"| {name} | {share(read, len(levels))} | {share(at_least(faulty, 1), len(faulty))} | {share(at_least(faulty, 2), len(faulty))} "
        f"| {share(at_least(sound, 1), len(sound))} | {share(at_least(sound, 2), len(sound))} |"
    )


HEAD = """| tool | read | faulty runs flagged | as an error | healthy runs flagged | as an error |
| --- | --- | --- | --- | --- | --- |"""


def table(title, envs, build, paths, healthy):
    lines = [f"### {title}", "", HEAD]
    lines.append(row("vigil", [vigil_level(build, path) for path in paths], healthy))
    for tool in TOOLS:
        version, levels = ask(envs, tool, paths)
        if levels is None:
            lines.append(f"| {tool} | not run: its package was not to be had | | | | |")
        else:
            lines.append(row(f"{tool} {version}", levels, healthy))
    return "\n".join(lines) + "\n"


def measure(envs, build):
    runs = list(labelled_runs())
    raw = table("The files as they are", envs, build, [path for path, _ in runs], [sound for _, sound in runs])
    with tempfile.TemporaryDirectory() as folder:
        made = [(as_json_lines(build, path, Path(folder) / f"{i}.jsonl"), sound) for i, (path, sound) in enumerate(runs)]
        made = [(path, sound) for path, sound in made if path is not None]
        even = table("The same values as JSON lines", envs, build, [path for path, _ in made], [sound for _, sound in made])
    return f"{raw}\n{even}"


def put_into(page, text):
    begin, end = "<!-- begin shipped -->", "<!-- end shipped -->"
    old = page.read_text()
    before, rest = old.split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}")


def install(envs):
    for tool, (packages, _, _) in TOOLS.items():
        env = envs / tool
        subprocess.run(["uv", "venv", "--quiet", "--clear", env], check=True)
        done = subprocess.run(["uv", "pip", "install", "--quiet", "--python", env / "bin/python", *packages])
        if done.returncode != 0:
            subprocess.run(["rm", "-rf", env], check=True)
            print(f"{tool}: not to be had", file=sys.stderr)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=Path, required=True)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    if given.install:
        return install(given.envs)
    if given.build is None:
        parser.error("--build is needed: the folder that holds vigil")
    text = measure(given.envs.resolve(), given.build.resolve())
    if given.page is None:
        print(text)
    else:
        put_into(given.page, text)


if __name__ == "__main__":
    sys.exit(main())
