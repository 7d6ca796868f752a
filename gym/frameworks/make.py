"""Makes the runs of other frameworks in tests/fixtures/frameworks: `make.py [part of a path ...]`.

Rows of runs.tsv are run one after the other, each in the environment of its framework (setup.sh); healthy twins first.
What a run recorded for its label stays in gym/.work/frameworks, and `--label` writes the labels again from there.
"""

import argparse
import csv
import glob
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import labels

HERE = os.path.dirname(os.path.abspath(__file__))
GYM = os.path.dirname(HERE)
FIXTURES = os.path.join(os.path.dirname(GYM), "tests", "fixtures", "frameworks")
WORK = os.path.join(GYM, ".work", "frameworks")
ENVS = os.environ.get("FW_ENVS", os.path.join(GYM, ".frameworks", ""))
# Weights, archives, data and caches: what a run leaves that is not about how it went.
DROPPED = re.compile(
    r"\.(keras|h5|pt|pth|pkl|bin|zip|safetensors|spacy|png|cache|npy|onnx|yaml\.lock)$|/model-(best|last)/|tiny-bert/|__pycache__|^data/|step_saved/|/artifacts/|profile\.log"
)
LIMIT = 60_000
SECONDS = 420
HEADER = ["path", "trainer", "fault", "split", "expect", "cause", "onset_step", "note"]
CHANCE = {"table": math.log(8), "images": math.log(6), "binary": 0.45, "gpt": math.log(48)}


def read_rows():
    with open(os.path.join(HERE, "runs.tsv")) as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def environment(row):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "FW_"))}
    env.update(
        OMP_NUM_THREADS="1",
        CUDA_VISIBLE_DEVICES="",
        TOKENIZERS_PARALLELISM="false",
        HF_HUB_OFFLINE="1",
        COLUMNS="100",
        TF_CPP_MIN_LOG_LEVEL="3",
        TF_ENABLE_ONEDNN_OPTS="0",
        PYTHONDONTWRITEBYTECODE="1",
        YOLO_OFFLINE="true",
        GIT_PYTHON_REFRESH="quiet",
        PYTHONWARNINGS="ignore",
        YOLO_CONFIG_DIR=WORK,
    )
    for word in row["env"].split(",")[1:]:
        key, _, value = word.partition("=")
        env[key] = value
    return env


def words(row, part):
    return [f"fault={row['mechanism'] or row['fault']}", f"seed={row['seed']}", *row["settings"].split(), *part.split()]


def command(row, part):
    python = f"{ENVS}{row['env'].split(',')[0]}/bin/python"
    line = [python, "-u", os.path.join(HERE, f"{row['script']}_run.py"), *words(row, part)]
    if row["fault"] == "killed":  # the shell says what the kernel did
        return ["bash", "-c", " ".join(line) + "; exit $?"]
    if row["fault"] == "out-of-memory":
        return ["bash", "-c", "ulimit -v " + row["limit_kb"] + "; exec " + " ".join(line)]
    return line


def scrub(data, work):
    """Takes the names of this machine out of a text."""
    for old, new in (
        (work, "/workspace/run"),
        (HERE, "/workspace/code"),
        (GYM, "/workspace"),
        (os.path.dirname(GYM), "/workspace"),
    ):
        data = data.replace(old.encode(), new.encode())
    data = re.sub(re.escape(ENVS).encode() + rb"\w+", b"/opt/venv", data)
    data = re.sub(re.escape(sys.base_prefix).encode(), b"/usr", data)
    data = re.sub(rb"/root/\.pyenv/versions/[\d.]+", b"/usr", data)
    data = data.replace(os.path.expanduser("~").encode() + b"/", b"/home/user/")
    data = re.sub(rb"(Killed\s+)/\S+/python .*", rb"\1python train.py", data)
    host = socket.gethostname().encode()
    return re.sub(rb"(?<![\w-])" + re.escape(host) + rb"(?![\w-])", b"host", data)


def keep(work, target):
    """Copies what a user would have; the sizes of files that are too large are reported."""
    shutil.rmtree(target, ignore_errors=True)
    total = 0
    for path in sorted(glob.glob(f"{work}/**/*", recursive=True)):
        inner = os.path.relpath(path, work)
        if not os.path.isfile(path) or DROPPED.search(inner) or os.path.getsize(path) == 0:
            continue
        name = inner.replace(f".{socket.gethostname()}.", ".host.")
        with open(path, "rb") as f:
            data = f.read()
        if b"\0" not in data:
            data = scrub(data, work)
        os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
        with open(os.path.join(target, name), "wb") as f:
            f.write(data)
        total += len(data)
    return total


def paths(row):
    work = os.path.join(WORK, row["path"])
    return work, work + ".record"


def run_alone(row, part, work, record):
    with open(os.path.join(work, "train.log"), "ab", buffering=0) as log:
        child = subprocess.Popen(
            [*command(row, part)],
            stdout=log,
            stderr=log,
            cwd=work,
            env={**environment(row), "FW_RECORD": record},
            preexec_fn=lambda: (os.nice(10), signal.signal(signal.SIGINT, signal.default_int_handler)),
        )
        try:
            return child.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return "timeout"


def served(row):
    """Runs that end in a traceback get a process of their own, so that what follows it is what Python leaves."""
    return not row["fault"].startswith(("crash", "killed", "out-of-memory", "interrupt")) and "alone" not in row["how"]


class Servers:
    """One process for each environment and script; see serve.py."""

    def __init__(self):
        self.known = {}

    def run(self, row, part, work, record):
        key = (row["env"], row["script"])
        if key not in self.known:
            python = f"{ENVS}{row['env'].split(',')[0]}/bin/python"
            self.known[key] = subprocess.Popen(
                [python, "-u", os.path.join(HERE, "serve.py"), f"{row['script']}_run"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(row),
                preexec_fn=lambda: os.nice(10),
            )
        log = os.path.join(work, "train.log")
        open(log, "ab").close()
        job = {"words": words(row, part), "cwd": work, "log": log, "record": record, "seconds": SECONDS}
        server = self.known[key]
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        return server.stdout.readline().strip()


def make(row, servers):
    work, record = paths(row)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    if os.path.exists(record):
        os.remove(record)
    began = time.time()
    for part in row["parts"].split(" // ") if row["parts"] else [""]:
        code = servers.run(row, part, work, record) if served(row) else run_alone(row, part, work, record)
    if row["keep"] == "files":
        os.remove(os.path.join(work, "train.log"))
    elif row["keep"] == "log":
        for path in glob.glob(f"{work}/*"):
            if os.path.basename(path) != "train.log":
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    size = keep(work, os.path.join(FIXTURES, "runs", row["path"]))
    remark = "  TOO LARGE" if size > LIMIT else ""
    print(f"{row['path']:44} exit {code} {time.time() - began:5.1f} s {size:7d} bytes{remark}", flush=True)


def rate_logged(folder):
    """Whether a file names the learning rate."""
    for path in glob.glob(f"{folder}/**/*", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                if re.search(rb"(?i)learning.?rate|learn_rate|\blr\b|\blr0\b|lr-|/lr", f.read()):
                    return True
    return False


def labelled(row):
    """The row of LABELS.tsv, or None where the run is missing."""
    _, record = paths(row)
    folder = os.path.join(FIXTURES, "runs", row["path"])
    if not os.path.isdir(folder):
        return None
    trainer, note, onset = row["path"].split("/")[0], row["note"], row["onset"]
    if row["fault"] == "healthy":
        return [f"runs/{row['path']}", trainer, "healthy", "tune", "none", "", "", note]
    run = labels.read(record) if os.path.exists(record) else {"train": [], "eval": [], "final": None}
    twin = labels.read(os.path.join(WORK, row["twin"] + ".record")) if row["twin"] else run
    given = dict(word.split("=", 1) for word in row["settings"].split())
    chance = CHANCE.get(given.get("task", "gpt" if row["script"] == "gpt" else "table"), 0.0)
    expect, cause, harmless = labels.label(row["fault"], run, twin, chance, rate_logged(folder))
    if row["fault"] in ("nan-sample", "log-zero"):
        onset = onset or labels.first_bad(run)
    elif row["fault"] == "overfit":
        onset = min(run["eval"], key=lambda point: point[1])[0]
    if harmless:
        note, onset = (
            f"harmless: {run['final']['value']:.3g} against {twin['final']['value']:.3g} of its healthy twin",
            "",
        )
    else:
        expect, cause = row["expect"] or expect, row["cause"] or cause
        onset = onset or (1 if not row["fault"].startswith("crash") else "")
    if expect == "none":
        cause, onset = "", ""
    name = row["fault"].removeprefix("rl-")
    return [f"runs/{row['path']}", trainer, name, "tune", expect, cause, str(onset), note]


def write_labels(rows):
    made = sorted((found for row in rows if (found := labelled(row))), key=lambda row: row[0])
    with open(os.path.join(FIXTURES, "LABELS.tsv"), "w") as f:
        f.writelines("\t".join(row) + "\n" for row in [HEADER, *made])
    return made


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("only", nargs="*", help="make the runs whose path holds one of these; all when none is given")
    p.add_argument("--missing", action="store_true", help="skip runs that are there already")
    p.add_argument("--label", action="store_true", help="run nothing, write the labels")
    args = p.parse_args()
    rows = read_rows()
    wanted = [r for r in rows if not args.only or any(part in r["path"] for part in args.only)]
    servers = Servers()
    for row in [] if args.label else wanted:
        if not (args.missing and os.path.isdir(os.path.join(FIXTURES, "runs", row["path"]))):
            make(row, servers)
    for made in write_labels(rows):
        print("\t".join(made[:1] + made[2:3] + made[4:]))


if __name__ == "__main__":
    main()
