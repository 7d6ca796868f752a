"""Makes the labelled runs under tests/fixtures: `gym/.venv/bin/python gym/make_fixtures.py [name part ...]`.

Runs are forked from one process that has loaded the trainers; runs that end in a traceback get a process of their own,
so that the text after it is what Python leaves. The older trainers run in gym/.venv4; Lightning, Accelerate and
DeepSpeed each in an environment of their own (gym/clients/setup.sh).
"""

import argparse
import functools
import glob
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import traceback

GYM = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, GYM)

import run_list  # noqa: E402

FIXTURES = os.path.join(os.path.dirname(GYM), "tests", "fixtures")
WORK = os.path.join(GYM, ".work")
SCRIPTS = {
    "hf": "hf_trainer.py",
    "sft": "trl_sft.py",
    "grpo": "trl_grpo.py",
    "dpo": "trl_dpo.py",
    "torch": "torch_loop.py",
    "lightning": "lightning_loop.py",
    "accelerate": "accelerate_loop.py",
    "deepspeed": "deepspeed_loop.py",
}
APART = ("lightning", "accelerate", "deepspeed")  # trainers with an environment of their own
HEADER = ["path", "trainer", "fault", "split", "expect", "cause", "onset_step", "note"]


def quiet_environment():
    os.environ.update(
        OMP_NUM_THREADS="1",
        TOKENIZERS_PARALLELISM="false",
        HF_HUB_OFFLINE="1",
        TRL_EXPERIMENTAL_SILENCE="1",
        CUDA_VISIBLE_DEVICES="",
        COLUMNS="120",
    )


def run_forked(script, words, log, buffered):
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=-1 if buffered else 1)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    sys.argv = [script, *words]
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def run_alone(script, words, log, buffered, python=sys.executable):
    flags = [] if buffered else ["-u"]
    child = subprocess.Popen(
        [python, *flags, script, *words],
        stdout=log,
        stderr=log,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return child.wait()


def runner_of(run):
    if run.trainer in APART:
        return functools.partial(run_alone, python=os.path.join(GYM, ".clients", run.trainer, "bin", "python"))
    return run_alone if "alone" in run.how or run.fault.startswith("crash-") else run_forked


def scrub(data):
    """Takes machine names and paths out of a text file."""
    prefix = os.path.realpath(sys.base_prefix)
    for old, new in (
        *((os.path.join(GYM, ".clients", name), "/opt/venv") for name in APART),
        (os.path.join(GYM, ".venv4"), "/opt/venv"),
        (os.path.join(GYM, ".venv"), "/opt/venv"),
        (prefix + "/lib/python3.11", "/usr/lib/python3.11"),
        (GYM, "/workspace/run"),
    ):
        data = data.replace(old.encode(), new.encode())
    data = re.sub(rb"https?://[^/\s]+", b"https://host", data)
    return re.sub(rb"/workspace/run/\.work/[\w.-]+/[\w.-]+", b"/workspace/run", data)


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(source, "rb") as f:
        data = f.read()
    if "tfevents" not in source:
        data = scrub(data)
    with open(target, "wb") as f:
        f.write(data)


def collect(run, work):
    """Copies the small files of the run that it is to keep."""
    target = os.path.join(FIXTURES, "runs", run.path)
    shutil.rmtree(target, ignore_errors=True)
    if "log" in run.keep:
        copy(os.path.join(work, "train.log"), os.path.join(target, "train.log"))
    if "state" in run.keep:
        for path in glob.glob(f"{work}/out/checkpoint-*/trainer_state.json"):
            copy(path, os.path.join(target, os.path.relpath(path, f"{work}/out")))
    if "events" in run.keep:
        for path in glob.glob(f"{work}/**/events.out.tfevents*", recursive=True):
            stamp, _, pid, number = os.path.basename(path).rsplit(".", 3)
            name = f"{stamp}.host.{pid}.{number}"
            copy(path, os.path.join(target, os.path.relpath(os.path.dirname(path), work), name))
    for pattern in ("metrics.jsonl", "**/metrics.csv", "**/hparams.y*ml", "csv/*.csv"):
        for path in glob.glob(f"{work}/{pattern}", recursive=True):
            copy(path, os.path.join(target, os.path.relpath(path, work)))


def make(run):
    work = os.path.join(WORK, run.path)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.chdir(work)
    script = os.path.join(GYM, SCRIPTS[run.trainer])
    runner = runner_of(run)
    with open("train.log", "ab", buffering=0) as log:
        for part in run.parts:
            words = f"--fault {run.fault} --seed {run.seed} {part}".split()
            code = runner(script, words, log, "buffered" in run.how)
    collect(run, work)
    print(f"{run.path:44} exit {code}", flush=True)


def write_labels():
    with open(os.path.join(FIXTURES, "LABELS.tsv"), "w") as f:
        f.write("\t".join(HEADER) + "\n")
        for run in sorted(run_list.RUNS, key=lambda r: r.path):
            if os.path.isdir(os.path.join(FIXTURES, "runs", run.path)):
                f.write(
                    "\t".join(
                        [
                            f"runs/{run.path}",
                            run.trainer,
                            run.fault,
                            run.split,
                            run.expect,
                            run.cause,
                            run.onset,
                            run.note,
                        ]
                    )
                    + "\n"
                )
    with open(os.path.join(FIXTURES, "DEMO"), "w") as f:
        f.writelines(f"runs/{path}\n" for path in run_list.DEMO)


def drop_unlisted_runs():
    """Removes runs that the list no longer names."""
    named = {run.path for run in run_list.RUNS}
    for folder in glob.glob(os.path.join(FIXTURES, "runs", "*", "*")):
        if os.path.relpath(folder, os.path.join(FIXTURES, "runs")) not in named:
            shutil.rmtree(folder)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("only", nargs="*", help="make the runs whose path holds one of these; all when none is given")
    p.add_argument("--missing", action="store_true", help="skip runs that are there already")
    p.add_argument("--line", type=int, default=5, choices=[4, 5], help="which line of transformers this process runs")
    args = p.parse_args()
    quiet_environment()
    wanted = [r for r in run_list.RUNS if not args.only or any(part in r.path for part in args.only)]
    if args.missing:
        wanted = [r for r in wanted if not os.path.isdir(os.path.join(FIXTURES, "runs", r.path))]
    mine = [r for r in wanted if r.line == args.line]
    other = [r for r in wanted if r.line != args.line]
    if args.line == 5 and other:
        subprocess.run(
            [
                os.path.join(GYM, ".venv4", "bin", "python"),
                os.path.abspath(__file__),
                "--line",
                "4",
                *[r.path for r in other],
            ],
            check=True,
        )
    if any(r.trainer not in ("torch", *APART) for r in mine):
        import trl  # noqa: F401
        from trl import DPOTrainer, GRPOTrainer, SFTTrainer  # noqa: F401
    for run in mine:
        make(run)
    if args.line == 5:
        drop_unlisted_runs()
        write_labels()


if __name__ == "__main__":
    main()
