"""Settings of one run (words `key=value` on the command line), its record for the label, and faults of the process.

Scripts write what a user would have into the current folder. What the label needs (losses as logged, the true held-out
measure at the end) goes to the file that FW_RECORD names, which is not part of the run.
"""

import json
import math
import os
import signal
import sys
import time
from dataclasses import dataclass, field, fields


@dataclass
class Spec:
    fault: str = "healthy"
    strength: float = 0.0  # in the fault's own unit; 0: its default
    onset: int = 0  # step at which a fault of the process begins
    seed: int = 0
    task: str = "table"
    model: str = "mlp"
    rows: int = 2000
    epochs: int = 12
    steps: int = 0  # where the loop counts steps
    batch: int = 32
    lr: float = 1e-3
    optim: str = "adam"
    schedule: str = "constant"
    decay: float = 0.0
    clip: float = 0.0
    noise: float = 0.05  # share of labels that are wrong in a healthy set
    every: int = 10  # steps between log lines
    stop: int = 0  # ends after this epoch or step (and saves)
    resume: str = ""  # "full", "weights": goes on from what a stopped run saved
    log: str = ""  # what the script writes, in its own words
    extra: str = ""
    words: list = field(default_factory=list)

    def has(self, name):
        return self.fault == name

    def wants(self, word):
        return word in self.extra.split(",")

    def of(self, default):
        """The strength, or the default of the fault."""
        return self.strength or default


FACTORS = {"lr-too-high": 100.0, "lr-too-low": 0.001}


def parse(**defaults):
    """The settings: defaults of the script, then the words of the command line; faults of the settings are applied."""
    spec = Spec(**defaults)
    kinds = {f.name: f.type for f in fields(Spec)}
    for word in sys.argv[1:]:
        key, _, value = word.partition("=")
        if key not in kinds:
            sys.exit(f"no setting {key!r}")
        old = getattr(spec, key)
        setattr(spec, key, type(old)(float(value)) if isinstance(old, (int, float)) else value)
    spec.words = sys.argv[1:]
    if spec.fault in FACTORS:
        spec.lr *= spec.of(FACTORS[spec.fault])
    if spec.has("weight-decay"):
        spec.decay = spec.of(30.0)
    if spec.has("overfit"):
        spec.rows = int(spec.of(60))
    return spec


class Record:
    """Lines of JSON for the label; appended at once, so that a run that dies leaves what it knew."""

    def __init__(self):
        path = os.environ.get("FW_RECORD")
        self.file = open(path, "a") if path else None

    def _write(self, **row):
        if self.file:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def train(self, step, loss):
        self._write(kind="train", step=step, value=float(loss))

    def eval(self, step, loss):
        self._write(kind="eval", step=step, value=float(loss))

    def final(self, value, better="lower"):
        """The true held-out measure at the end."""
        self._write(kind="final", value=float(value), better=better)

    def fact(self, **what):
        self._write(kind="fact", **what)


def rate_factor(kind, step, total):
    """Multiplier of the peak rate for the update after `step` updates."""
    at = step / max(1, total)
    if kind == "cosine":
        return 0.5 * (1 + math.cos(math.pi * min(1.0, at)))
    if kind == "linear":
        return max(0.0, 1 - at)
    if kind == "warmup":
        return min(1.0, (step + 1) / (0.1 * total)) * (
            1 if at < 0.1 else 0.5 * (1 + math.cos(math.pi * (at - 0.1) / 0.9))
        )
    if kind == "cyclic":
        period = total / 5
        return 0.1 + 0.9 * abs(1 - 2 * ((step / period) % 1.0))
    if kind == "restarts":
        period = total / 4
        return 0.5 * (1 + math.cos(math.pi * ((step % period) / period)))
    if kind == "steps":
        return 0.1 ** int(at * 3)
    return 1.0


KEPT = []


class DecodeError(Exception):
    """What a dataset raises on a sample it cannot use."""


def mask_of(batch):
    return batch["attention_mask"]


def row_of(rows, index):
    return rows[index]


def decode(record):
    if record:
        raise DecodeError(f"cannot decode record {record}: unexpected end of file")


def save_checkpoint(path):
    raise OSError(28, "No space left on device", path)


def stop_by(number):
    sys.stdout.flush()
    os.kill(os.getpid(), number)


# What happens at the onset; tracebacks show these lines as a user's own.
AT_ONSET = {
    "crash-key": lambda step: mask_of({"input_ids": [step]}),
    "crash-index": lambda step: row_of(list(range(8)), 9),
    "crash-sample": lambda step: decode(step * 7 + 3),
    "crash-disk": lambda step: save_checkpoint("checkpoints/last.ckpt"),
    "interrupt": lambda step: stop_by(signal.SIGINT),
    "killed": lambda step: stop_by(signal.SIGKILL),
}


def before_step(spec, step):
    """Faults of the process; called once a step, which counts from 0."""
    if step < spec.onset:
        return
    if spec.has("slow-down"):
        time.sleep(spec.of(0.03))
    elif spec.has("memory-leak"):
        KEPT.append(bytearray(os.urandom(1024) * int(spec.of(64))))
    elif step == spec.onset and spec.fault in AT_ONSET:
        AT_ONSET[spec.fault](step)


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
