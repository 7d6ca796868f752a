"""Labels by measurement: what a fault may be called, cut down to what the run's own record shows.

A fault whose true held-out measure is as good as its healthy twin's is harmless: `none`. Faults of the process (crash,
kill, slow-down, leak of memory) are there by construction. Nothing here reads what vigil says.
"""

import json
import math
import statistics

BLOWUP = (
    "loss/divergence,loss/non-finite,loss/oscillation,loss/not-decreasing,loss/at-chance,loss/plateau,loss/spike,"
    "loss/bad-start"
)
GRADS = "grad/explosion,grad/non-finite,grad/spike,grad/unstable"
FLAT = "loss/not-decreasing,loss/at-chance,loss/plateau"
RL_FLAT = "rl/reward-flat,rl/no-signal"

# fault -> (findings, causes: the true one first, then those that the files cannot tell from it)
FAULTS = {
    "lr-too-high": (f"{BLOWUP},{GRADS},lr/out-of-range", "lr-too-high"),
    "lr-too-low": (f"{FLAT},lr/out-of-range", "lr-too-low"),
    "labels-shuffled": (f"{FLAT},loss/overfit,loss/eval-gap", "wrong-targets,objective-mismatch"),
    "labels-unshifted": (
        "loss/too-good,loss/eval-gap,loss/overfit,loss/divergence,data/labels-misaligned",
        "wrong-targets,leakage",
    ),
    "no-causal-mask": ("loss/too-good,loss/eval-gap", "architecture-bug,leakage"),
    "frozen": (f"{FLAT},probe/frozen-params", "frozen-params,lr-too-low,wrong-targets"),
    "wrong-params": (f"{FLAT},probe/frozen-params", "frozen-params,wrong-targets,lr-too-low"),
    "softmax-twice": (FLAT, "objective-mismatch,architecture-bug"),
    "no-zero-grad": (f"{BLOWUP},{GRADS}", "gradients-not-zeroed,lr-too-high"),
    "dead-relu": (f"{FLAT},grad/zero,grad/vanishing,loss/collapse", "dead-units,bad-init,frozen-params"),
    "vanishing": (f"{FLAT},grad/vanishing", "vanishing-through-depth,frozen-params,lr-too-low,dead-units"),
    "bad-init": (f"loss/bad-start,loss/spike,loss/divergence,loss/plateau,{GRADS}", "bad-init"),
    "unscaled": (f"{BLOWUP},{GRADS}", ""),
    "nan-sample": (
        f"loss/non-finite,grad/non-finite,data/non-finite,loss/divergence,{FLAT}",
        "bad-sample,layer-numerics",
    ),
    "log-zero": ("loss/non-finite,grad/non-finite", "layer-numerics,log-softmax-overflow,bad-sample"),
    "overfit": ("loss/overfit", "overfitting"),
    "leak": ("loss/too-good", "leakage"),
    "weight-decay": (f"{FLAT},loss/divergence,loss/collapse", "weight-decay-too-high"),
    "too-much-regularisation": (FLAT, "objective-mismatch,lr-too-low"),
    "dropout-high": (FLAT, "objective-mismatch,lr-too-low"),
    "temperature": (f"{BLOWUP},{GRADS}", "objective-mismatch,lr-too-high"),
    "sorted": (
        "loss/sawtooth,loss/oscillation,loss/divergence,loss/spike,loss/eval-gap,loss/overfit,loss/too-good",
        "data-not-shuffled",
    ),
    "bad-schedule": ("lr/schedule-break,loss/divergence,loss/spike,loss/plateau", "bad-schedule,lr-too-high"),
    "slow-down": (
        "throughput/regression",
        "recompute-or-kernel-change,framework-overhead,host-sync,neighbour-load,thermal-throttle,input-pipeline",
    ),
    "data-starved": ("throughput/data-starved,throughput/regression", "input-pipeline"),
    "memory-leak": ("memory/leak,memory/growth", "memory-leak-host-ref,graph-retained"),
    "killed": ("memory/host-oom,log/killed-signal,log/host-oom-kill", "out-of-host-memory,memory-leak-host-ref"),
    "out-of-memory": (
        "memory/host-alloc,memory/host-oom,memory/oom,log/uncaught-exception,log/host-alloc",
        "out-of-host-memory",
    ),
    "interrupt": ("log/interrupted", ""),
    "crash-key": ("log/uncaught-exception", ""),
    "crash-index": ("log/uncaught-exception,log/index-out-of-range", ""),
    "crash-sample": ("log/uncaught-exception", "bad-sample"),
    "crash-disk": ("log/disk-full,log/uncaught-exception", "disk-full"),
    "crash-file": ("log/uncaught-exception,log/file-missing", "missing-file-or-module"),
    "crash-shape": ("log/uncaught-exception,log/tensor-mismatch,log/tensor-shapes", "bad-config,architecture-bug"),
    "resume-weights": (
        "resume/optimizer-reset,resume/schedule-restart,lr/schedule-break,loss/resume-jump,resume/incomplete-checkpoint,loss/spike",
        "optimizer-not-saved,scheduler-not-saved",
    ),
    # reinforcement learning
    "reward-constant": (f"{RL_FLAT},loss/collapse", "reward-broken,task-too-hard"),
    "reward-sign": (f"{RL_FLAT},rl/reward-collapse", "reward-broken"),
    "blind": (f"{RL_FLAT},loss/not-decreasing", "task-too-hard,model-too-weak,reward-broken"),
    "entropy-collapse": (
        f"rl/entropy-collapse,{RL_FLAT},rl/reward-collapse,loss/collapse",
        "mode-collapse,lr-too-high",
    ),
    "entropy-high": (f"rl/entropy-high,{RL_FLAT}", "objective-mismatch,optimizer-settings"),
    "sign-error": (f"rl/reward-collapse,{RL_FLAT}", "objective-mismatch,reward-broken"),
    "gamma": (f"{RL_FLAT},loss/plateau", "objective-mismatch,optimizer-settings,reward-broken"),
    "rl-lr-too-high": (
        f"rl/reward-collapse,{RL_FLAT},rl/kl-blowup,rl/entropy-collapse,rl/over-clipped,loss/divergence,loss/non-finite,loss/spike,loss/oscillation,lr/out-of-range,grad/explosion",
        "lr-too-high,mode-collapse,value-divergence",
    ),
    "rl-lr-too-low": (f"{RL_FLAT},lr/out-of-range,loss/not-decreasing", "lr-too-low,frozen-params"),
    "no-target": ("loss/divergence,rl/reward-flat,rl/reward-collapse,loss/oscillation", "value-divergence,lr-too-high"),
}
BY_CONSTRUCTION = (
    "slow-down",
    "data-starved",
    "memory-leak",
    "killed",
    "out-of-memory",
    "interrupt",
    "crash",
    "resume-weights",
    "overfit",
    "bad-schedule",
)


def read(path):
    """The record of a run: series of train and eval, the final measure."""
    found = {"train": [], "eval": [], "final": None}
    with open(path) as f:
        for line in f:
            row = json.loads(line)
            if row["kind"] in ("train", "eval"):
                found[row["kind"]].append((row["step"], row["value"]))
            elif row["kind"] == "final":
                found["final"] = row
    return found


def harmful(run, twin):
    """Whether the true measure is worse than the twin's by more than what a seed does."""
    mine, other = run["final"], twin["final"]
    lost = run["train"] and not math.isfinite(run["train"][-1][1])
    if mine is None or not math.isfinite(mine["value"]) or lost:
        return True
    if mine["better"] == "higher":
        return mine["value"] < other["value"] - max(0.04, 0.08 * abs(other["value"]))
    return mine["value"] > other["value"] + 0.12 * abs(other["value"]) + 1e-9


def finite(series):
    return [v for _, v in series if math.isfinite(v)]


def head(values):
    return statistics.median(values[: max(1, len(values) // 20)])


def tail(values):
    return statistics.median(values[-max(1, len(values) // 5) :])


def shows(finding, run, twin, chance):
    """Whether the record shows a finding about the loss; anything else is left to the list."""
    train, other, evals = finite(run["train"]), finite(twin["train"]), finite(run["eval"])
    if finding in ("loss/non-finite", "grad/non-finite"):
        return len(train) < len(run["train"])
    if not train or not finding.startswith("loss/"):
        return True
    first, last, low = head(train), tail(train), min(train)
    span = max(abs(head(other) - tail(other)), 1e-12)
    rough = (
        statistics.pstdev(train[len(train) // 2 :] or [0])
        > 3 * statistics.pstdev(other[len(other) // 2 :] or [0]) + 0.05 * span
    )
    return {
        "loss/divergence": last > low + 0.5 * span
        or last > first + 0.1 * span
        or (evals and evals[-1] > 2 * abs(min(evals)) and last > first),
        "loss/not-decreasing": last > first - 0.15 * span,
        "loss/plateau": last > tail(other) + 0.25 * span,
        "loss/at-chance": chance > 0 and 0.88 * chance < last < 1.12 * chance,
        "loss/bad-start": train[0] > 2 * max(other[0], chance) if other[0] > 0 else False,
        "loss/oscillation": rough,
        "loss/spike": max(train) > 2 * max(statistics.median(train), 1e-9),
        "loss/collapse": len(set(train[-max(3, len(train) // 4) :])) == 1,
        "loss/overfit": bool(evals) and evals[-1] > min(evals) + 0.05 * abs(min(evals)) and last < first,
        "loss/eval-gap": bool(evals) and tail(evals) > last + 0.25 * span,
    }.get(finding, True)


ALIKE = {"loss/not-decreasing", "loss/at-chance", "loss/plateau"}


def rivals(fault, seen, rate_logged):
    """Causes that leave the same files: a loss that is only flat, and no learning rate in sight."""
    flat = {name for name in seen if name.startswith("loss/")} <= ALIKE
    if fault == "labels-shuffled":
        return ["frozen-params"] if "loss/not-decreasing" in seen else []
    if rate_logged:
        return []
    if fault == "lr-too-high":
        return ["frozen-params", "wrong-targets", "dead-units"] if flat else []
    if fault == "lr-too-low":
        return ["frozen-params", "wrong-targets"]
    return ["lr-too-high"] if fault == "bad-init" else []


def label(fault, run, twin, chance, rate_logged):
    """Findings, causes, whether the run is harmless."""
    findings, causes = FAULTS[fault]
    kept = any(fault.startswith(name) for name in BY_CONSTRUCTION)
    if not kept and not harmful(run, twin):
        return "none", "", True
    seen = [name for name in findings.split(",") if shows(name, run, twin, chance)]
    if "loss/non-finite" in seen and fault == "nan-sample":  # the rest is said of a NaN that was swallowed
        seen = [name for name in seen if name.endswith("non-finite")]
    others = [name for name in rivals(fault, seen, rate_logged) if name not in causes]
    return ",".join(seen), ",".join([causes, *others]), False


def first_bad(run):
    """Step of the first value that is not finite."""
    return next((step for step, value in run["train"] if not math.isfinite(value)), None)
