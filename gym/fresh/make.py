"""Makes the runs of tests/fixtures/fresh: `make.py [part of a path ...]`; see README.md.

Each script is loaded once and forked for each run; runs that end by an error have a process of their own. What a run
recorded for its label stays outside the repository; `--label` writes the labels again from there.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import labels_fresh
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "..", "tests", "fixtures", "fresh")
BUILD = os.path.join(HERE, "..", "..", "build", "fresh")
WORK = os.environ.get("FRESH_WORK", os.path.join(BUILD, "runs"))
# Virtual environments with the packages of requirements.txt; their versions do not go together in one.
ENVS = {name: os.path.join(os.environ.get("FRESH_ENVS", BUILD), name) for name in ("fresh", "more", "jax")}
DROPPED = re.compile(r"\.(pt|pth|pkl|bin|zip|safetensors|keras|h5|npy|png|d3|pyc)$|__pycache__|_sources/|training_args")
SECONDS = 150
SCRUBBED = (
    (re.escape(os.environ.get("FRESH_ENVS", BUILD)).encode() + rb"/\w+", b"/opt/venv"),
    (rb"/root/\.pyenv/versions/[\d.]+", b"/usr"),
    (re.escape(sys.base_prefix).encode(), b"/usr"),
    (rb"/root/", b"/home/user/"),
    (rb'Linux-6\.[^"]*', b"Linux-5.15.0-x86_64-with-glibc2.35"),
    (rb"(Killed\s+)\S*python .*", rb"\1python train.py"),
    (rb"\S*\w+_run\.py fault=.*", b"train.py"),
)


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "FW_"))}
    return env | {
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "100",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "DDE_BACKEND": "pytorch",
        "USER": "user",
    }


def scrub(data, work):
    """Takes the names of this machine out of a text."""
    for old in (work, WORK, HERE, os.path.join(os.path.dirname(HERE), "frameworks")):
        data = data.replace(old.encode(), b"/home/user/run")
    for old, new in SCRUBBED:
        data = re.sub(old, new, data)
    host = socket.gethostname().encode()
    return re.sub(rb"(?<![\w-])" + re.escape(host) + rb"(?![\w-])", b"host", data)


def keep(work, target):
    """Copies what a user would have."""
    shutil.rmtree(target, ignore_errors=True)
    total = 0
    for path in sorted(glob.glob(f"{work}/**/*", recursive=True) + glob.glob(f"{work}/.hydra/*")):
        inner = os.path.relpath(path, work)
        if not os.path.isfile(path) or DROPPED.search(inner) or os.path.getsize(path) == 0:
            continue
        with open(path, "rb") as f:
            data = f.read()
        if b"\0" not in data:
            data = scrub(data, work)
        place = os.path.join(target, inner.replace(f".{socket.gethostname()}", ".host"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as f:
            f.write(data)
        total += len(data)
    return total


def words(row, part):
    return [f"fault={row.fault}", *row.settings.split(), *part.split()]


def command(row, part):
    python = ENVS[row.env] + "/bin/python"
    line = [python, "-u", os.path.join(HERE, f"{row.script}_run.py"), *words(row, part)]
    if row.how == "torchrun":
        return [python, "-m", "torch.distributed.run", "--nproc-per-node=1", *line[2:]]
    if row.how == "shell":
        return ["bash", "-c", " ".join(line) + '; code=$?; echo "run.sh: line 4: training exited with status $code"']
    return line


def alone(row, part, work, record):
    """A process of its own, its output to train.log."""
    with open(os.path.join(work, "train.log"), "ab", buffering=0) as log:
        child = subprocess.Popen(
            command(row, part),
            stdout=log,
            stderr=log,
            cwd=work,
            env=environment() | {"FW_RECORD": record},
            preexec_fn=lambda: (os.nice(5), signal.signal(signal.SIGINT, signal.default_int_handler)),
        )
        try:
            return child.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return "timeout"


class Servers:
    """A process for each script that forks for each run: the first set's serve.py."""

    def __init__(self):
        self.known = {}

    def run(self, row, part, work, record):
        key = (row.env, row.script)
        if key not in self.known:
            code = "import sys; sys.path.insert(0, sys.argv.pop()); import serve; serve.main()"
            self.known[key] = subprocess.Popen(
                [ENVS[row.env] + "/bin/python", "-u", "-c", code, f"{row.script}_run", HERE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment() | {"PYTHONPATH": os.path.join(HERE, "..", "frameworks")},
                preexec_fn=lambda: os.nice(5),
            )
        log = os.path.join(work, "train.log")
        open(log, "ab").close()
        job = {"words": words(row, part), "cwd": work, "log": log, "record": record, "seconds": SECONDS}
        server = self.known[key]
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        return server.stdout.readline().strip()


def make(row, servers):
    work = os.path.join(WORK, row.path)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    record = work + ".record"
    if os.path.exists(record):
        os.remove(record)
    began = time.time()
    for part in row.parts:
        single = row.fault.startswith(labels_fresh.ALONE) or row.how
        code = alone(row, part, work, record) if single else servers.run(row, part, work, record)
    size = keep(work, os.path.join(FIXTURES, "runs", row.path))
    remark = "  TOO LARGE" if size > 60_000 else ""
    print(f"{row.path:44} exit {code} {time.time() - began:5.1f} s {size:7d} bytes{remark}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("only", nargs="*", help="make the runs whose path holds one of these; all when none is given")
    p.add_argument("--missing", action="store_true", help="skip runs that are there already")
    p.add_argument("--label", action="store_true", help="run nothing, write the labels")
    args = p.parse_args()
    rows, servers = runs.rows(), Servers()
    for row in [] if args.label else rows:
        there = os.path.isdir(os.path.join(FIXTURES, "runs", row.path))
        if (not args.only or any(part in row.path for part in args.only)) and not (args.missing and there):
            make(row, servers)
    if not args.only or args.label:
        labels_fresh.write(rows, FIXTURES, WORK)


if __name__ == "__main__":
    main()
