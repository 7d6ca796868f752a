"""What the faults of this set may be called, beside those of the first set; which hold by construction."""

import glob
import os
import re

import firstset  # noqa: F401
import labels

FLAT, BLOWUP, GRADS, RL_FLAT = labels.FLAT, labels.BLOWUP, labels.GRADS, labels.RL_FLAT
BROKEN = "log/uncaught-exception"
RESUME = "loss/resume-jump,resume/incomplete-checkpoint,loss/spike,loss/divergence"

FAULTS = {
    "misaligned": labels.FAULTS["labels-shuffled"],
    "misaligned-views": labels.FAULTS["labels-shuffled"],
    "wrong-noise": labels.FAULTS["labels-shuffled"],
    "head-only": (f"{FLAT},probe/frozen-params", "frozen-params,lr-too-low,wrong-targets,model-too-weak"),
    "clip-tiny": (f"{FLAT},grad/always-clipped", "optimizer-settings,lr-too-low,bad-config"),
    "wrong-optimizer": (FLAT, "optimizer-settings,lr-too-low"),
    "momentum": (f"{BLOWUP},{GRADS}", "optimizer-settings,lr-too-high"),
    "scheduler-per-batch": (f"lr/zero,lr/schedule-break,lr/out-of-range,{FLAT}", "lr-zero,bad-schedule,lr-too-low"),
    "no-warmup": (f"lr/no-warmup,lr/out-of-range,{BLOWUP},{GRADS}", "no-warmup,lr-too-high"),
    "no-clipping": (f"{BLOWUP},{GRADS}", "no-clipping,lr-too-high"),
    "fp16": (
        f"numerics/loss-scale-collapse,numerics/overflow,grad/non-finite,loss/non-finite,{FLAT}",
        "fp16-overflow,low-precision",
    ),
    "corrupted": (
        "loss/divergence,loss/spike,loss/plateau,loss/oscillation,loss/eval-gap,loss/overfit,data/mix-drift",
        "bad-sample,data-mix-changed,wrong-targets",
    ),
    "divide-by-zero": ("loss/non-finite,grad/non-finite", "bad-sample,layer-numerics"),
    "eval-in-train-mode": ("loss/eval-gap", "wrong-mode"),
    "train-in-eval-mode": ("loss/eval-gap,loss/plateau,loss/divergence,loss/overfit", "wrong-mode,overfitting"),
    "imbalance": (f"{FLAT},loss/collapse", "class-collapse,objective-mismatch"),
    "posterior-collapse": (f"{FLAT},loss/collapse", "posterior-collapse,objective-mismatch"),
    "discriminator-too-strong": (
        "loss/collapse,loss/divergence,loss/plateau,loss/not-decreasing,loss/oscillation,loss/spike",
        "gan-imbalance",
    ),
    "mode-collapse": (
        "loss/collapse,loss/divergence,loss/plateau,loss/not-decreasing,loss/oscillation,loss/spike",
        "gan-mode-collapse,gan-imbalance",
    ),
    "collapse": (f"loss/collapse,loss/too-good,{FLAT}", "mode-collapse,architecture-bug,objective-mismatch,dead-units"),
    "shift": ("loss/eval-gap,loss/overfit,eval/regression", "data-mix-changed,overfitting"),
    "eval-is-train": ("loss/too-good,loss/overfit", "leakage,overfitting"),
    "zero-init": (f"{FLAT},grad/zero,grad/vanishing", "bad-init,dead-units,frozen-params"),
    "resume-nothing": (RESUME, "head-not-loaded,optimizer-not-saved,bad-config"),
    "hang": ("hang/stalled,log/time-limit", ""),
    "hang-loader": (f"hang/stalled,{BROKEN}", "input-pipeline"),
    "slow-loader": labels.FAULTS["data-starved"],
    "crash-label": (f"{BROKEN},log/index-out-of-range,data/token-out-of-range", "bad-sample,wrong-targets"),
    "crash-token": (
        f"{BROKEN},log/index-out-of-range,data/token-out-of-range",
        "bad-sample,bad-config,tokenizer-changed",
    ),
    "crash-last-batch": (f"{BROKEN},log/tensor-shapes,log/tensor-mismatch", "bad-config,uneven-batches"),
    "crash-memory": labels.FAULTS["out-of-memory"],
    "no-grad": (f"{BROKEN},log/no-grad-required,probe/frozen-params", "frozen-params"),
    "deaf-value": (f"{RL_FLAT},loss/divergence,rl/reward-collapse", "value-divergence,lr-too-high,reward-broken"),
    "reward-scale": (
        f"{RL_FLAT},loss/divergence,loss/spike,loss/bad-start,rl/reward-collapse,{GRADS}",
        "value-divergence,reward-broken,bad-config,objective-mismatch",
    ),
    "no-exploration": (f"{RL_FLAT},rl/entropy-collapse", "mode-collapse,optimizer-settings,reward-broken"),
    "too-much-exploration": (f"{RL_FLAT},rl/entropy-high", "objective-mismatch,optimizer-settings,bad-config"),
    "lr-too-high-crash": (f"{BLOWUP},{GRADS},lr/out-of-range,{BROKEN}", "lr-too-high"),
    "adapter-scale": (f"{BLOWUP},{GRADS}", "bad-config,lr-too-high,objective-mismatch"),
    "flipped-gradient": (f"{BLOWUP},{GRADS}", "objective-mismatch,lr-too-high,code-change"),
    "smoothing": (f"{FLAT},loss/collapse", "architecture-bug,vanishing-through-depth,objective-mismatch"),
}
labels.FAULTS.update(FAULTS)
labels.BY_CONSTRUCTION += (
    *("hang", "slow-loader", "resume-nothing", "eval-is-train", "fp16", "no-grad", "divide-by-zero"),
    *("shift", "corrupted"),
)
CHANCE = {"motif": 1.609, "translate": 3.135, "text": 3.689}
ALONE = ("crash", "killed", "hang", "no-grad")


def rate_logged(folder):
    """Whether a file names the learning rate."""
    for path in glob.glob(f"{folder}/**/*", recursive=True) + glob.glob(f"{folder}/.hydra/*"):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                if re.search(rb"(?i)learning.?rate|\blr\b|_lr|lr0|/lr|\d rate,", f.read()):
                    return True
    return False


def onset_of(row, run):
    if row.fault in ("nan-sample", "log-zero", "divide-by-zero"):
        return row.onset or labels.first_bad(run) or ""
    if row.fault == "overfit" and run["eval"]:
        return min(run["eval"], key=lambda point: point[1])[0]
    return row.onset or ("" if row.fault.startswith("crash") else 1)


def labelled(row, fixtures, work):
    """The row of LABELS.tsv, or None where the run is missing."""
    folder = os.path.join(fixtures, "runs", row.path)
    if not os.path.isdir(folder):
        return None
    name = (row.name or row.fault).removeprefix("rl-").removesuffix("-crash")
    first = [f"runs/{row.path}", row.path.split("/")[0], name, "tune"]
    if row.fault == "healthy":
        return [*first, "none", "", "", row.note]
    record = os.path.join(work, row.path + ".record")
    run = labels.read(record) if os.path.exists(record) else {"train": [], "eval": [], "final": None}
    twin = labels.read(os.path.join(work, row.twin + ".record"))
    given = dict(word.split("=", 1) for word in row.settings.split())
    chance = row.chance or CHANCE.get(given.get("task", ""), 0.0)
    expect, cause, harmless = labels.label(row.name or row.fault, run, twin, chance, rate_logged(folder))
    if harmless:
        note = f"harmless: {run['final']['value']:.3g} against {twin['final']['value']:.3g} of its healthy twin"
        return [*first, "none", "", "", note]
    return [*first, row.expect or expect, row.cause or cause, str(onset_of(row, run)), row.note]


def write(rows, fixtures, work):
    made = sorted(found for row in rows if (found := labelled(row, fixtures, work)))
    head = ["path", "trainer", "fault", "split", "expect", "cause", "onset_step", "note"]
    with open(os.path.join(fixtures, "LABELS.tsv"), "w") as f:
        f.writelines("\t".join(row) + "\n" for row in [head, *made])
    for row in made:
        print("\t".join(row[:1] + row[2:3] + row[4:]))
