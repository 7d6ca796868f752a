"""The runs of the fixture set: which trainer, fault, seed and settings, which files are kept, and the label."""

from dataclasses import dataclass

import faults


@dataclass
class Run:
    path: str
    fault: str
    seed: int
    args: str = ""
    keep: tuple = ("log", "state")
    parts: tuple = ("",)
    line: int = 5
    buffered: bool = False
    onset: int | None = None
    expect: str = ""
    cause: str | None = None
    note: str = ""

    def __post_init__(self):
        known = faults.BY_NAME.get(self.fault)
        if not self.expect:
            self.expect = known.findings if known else "none"
        if self.cause is None:
            self.cause = known.cause if known else ""

    @property
    def trainer(self):
        return self.path.split("/")[0].removesuffix("-v4")

    @property
    def split(self):
        """By seed, so that a threshold chosen on one half is scored on runs it has not seen."""
        return "tune" if self.seed % 5 < 2 else "score"


RUNS = []
DEMO = ["torch/lr-too-high-s12", "hf/nan-hidden-s12", "hf/healthy-cosine-s12"]


def add(path, fault, seed, args="", keep="log,state", **more):
    known = faults.BY_NAME.get(fault)
    onset = more.pop("onset", None)
    if onset and known and onset > 1:
        args += f" --onset {onset}"
    RUNS.append(Run(f"{path}-s{seed}", fault, seed, args, tuple(keep.split(",")), onset=onset, **more))


# --- Hugging Face Trainer -------------------------------------------------------------------------------------------
add("hf/healthy-cosine", "healthy", 12, "--steps 200 --eval-steps 50", "log,state,events".replace(",events", ""))
add("hf/healthy-constant", "healthy", 1, "--schedule constant --lr 1e-3 --warmup 0 --model llama --steps 120", "log")
add("hf/lr-too-high", "lr-too-high", 0, "--strength 300 --warmup 60", onset=1)
add("hf/lr-too-high", "lr-too-high", 2, "--strength 300 --schedule constant --model llama", "log", onset=1)
add("hf/nonfinite-input", "nonfinite-input", 3, "--model plain", "log", onset=60)
add("hf/nan-hidden", "nan-hidden", 12, "--steps 120", onset=60)
add("hf/nan-hidden", "nan-hidden", 1, "--steps 120 --logging-steps 10", "state", onset=45)
add("hf/labels-masked", "labels-masked", 4, "--steps 80", "log", onset=1)
add("hf/labels-shuffled", "labels-shuffled", 5, onset=1)
add("hf/frozen-params", "frozen-params", 6, onset=1)
add("hf/lr-zero", "lr-zero", 7, "--steps 80", onset=1)
add("hf/overfit", "overfit", 8, "--eval-steps 20 --steps 300 --lr 3e-3 --logging-steps 5", onset=60)
add("hf/bad-sample", "bad-sample", 9, onset=80)
add("hf/resume-no-optimizer", "resume-no-optimizer", 2, "--steps 200 --save-steps 100",
    parts=("--stop-at 100", "--resume last"), onset=100)
# --- TRL ------------------------------------------------------------------------------------------------------------
add("sft/healthy", "healthy", 3, "--model llama")
add("sft/lr-too-high", "lr-too-high", 5, "--strength 300 --model llama", "log", onset=1)
add("grpo/healthy", "healthy", 2, "--lr 1e-3 --steps 100 --batch 32", "log")
add("grpo/reward-constant", "reward-constant", 5, "--lr 1e-3 --steps 60", "log", onset=1)
add("grpo/zero-variance-groups", "zero-variance-groups", 7, "--lr 1e-3 --steps 60", "log", onset=1)
add("grpo/entropy-collapse", "entropy-collapse", 8, "--lr 1e-3 --steps 100 --batch 32", "log", onset=1)
add("grpo/completions-truncated", "completions-truncated", 9, "--lr 1e-3 --steps 60", "log", onset=1)
add("grpo/kl-blowup", "kl-blowup", 10, "--lr 1e-3 --steps 80 --beta 0.001", "log", onset=1)
# --- own loop -------------------------------------------------------------------------------------------------------
add("torch/healthy-pipe", "healthy", 5, "--banner --eval-steps 25")
add("torch/healthy-json", "healthy", 7, "--log jsonl --steps 300", "files")
add("torch/lr-too-high", "lr-too-high", 12, "--strength 300 --warmup 60 --steps 200 --banner --schedule constant", onset=1)
add("torch/no-clipping", "no-clipping", 11, "--optim sgd --lr 0.1", onset=1)
add("torch/nonfinite-input", "nonfinite-input", 14, "--log pipe", onset=70)
add("torch/log-zero-layer", "log-zero-layer", 15, "--log kv", onset=50)
add("torch/fp16-overflow", "fp16-overflow", 16, "--banner", onset=40)
add("torch/frozen-params", "frozen-params", 17, "--log csv", "files", onset=1)
