"""Faults of data: labels, order, leaks, bad samples, shards that change."""

import math

import torch
from task_base import IGNORE

from faults import BLOWUP, FLAT, NAN, fault

SUPERVISED = ("supervised",)


def evaluates(s, rng, v):
    s.eval_every = s.eval_every or max(1, s.steps // 12)


# --- labels ---------------------------------------------------------------------------------------------------------


@fault(
    "labels-shuffled",
    (0.1, 0.3, 0.6, 0.9, 1.0),
    FLAT + ",loss/overfit",
    "wrong-targets,objective-mismatch",
    stage="task",
    needs=("supervised", "contrastive"),
    shows=("eval",),
)
def labels_shuffled(run, v):
    data = run.task.train
    rows = len(data["y"])
    chosen = torch.randperm(rows, generator=run.fault_rng)[: int(v * rows)]
    mixed = chosen[torch.randperm(len(chosen), generator=run.fault_rng)]
    labels = data["y"].clone()
    labels[chosen] = data["y"][mixed]
    if "tokens" in run.task.tags:  # targets of another row, and at other places
        labels[chosen] = labels[chosen].roll(3, dims=1)
    data["y"] = labels
    if "z" in data:
        data["z"] = data["z"].clone()
        data["z"][chosen] = data["z"][mixed]


@fault(
    "labels-off-by-one",
    (0.3, 1.0),
    FLAT + ",loss/eval-gap,loss/overfit,data/labels-misaligned",
    "wrong-targets",
    stage="task",
    needs=("classes", "tokens"),
    shows=("eval",),
)
def labels_off(run, v):
    """Classes: the next one. Tokens: shifted once too often."""
    data = run.task.train
    rows = torch.rand(len(data["y"]), generator=run.fault_rng) < v
    labels = data["y"].clone()
    if "tokens" in run.task.tags:
        labels[rows] = data["y"][rows].roll(-1, dims=1)
    else:
        labels[rows] = (data["y"][rows] + 1) % run.s.classes
    data["y"] = labels


@fault(
    "labels-masked",
    (0.5, 0.9, 1.0),
    "data/labels-masked,loss/non-finite,grad/non-finite,loss/collapse,grad/zero,loss/not-decreasing,loss/plateau",
    "label-masking",
    stage="task",
    needs=("tokens",),
)
def labels_masked(run, v):
    labels = run.task.train["y"].clone()
    mask = torch.rand(labels.shape, generator=run.fault_rng) < v
    labels[mask] = IGNORE
    run.task.train["y"] = labels


def imbalanced(s, rng, v):
    s.rows = max(s.rows, 1024)


@fault(
    "class-imbalance",
    (0.7, 0.9, 0.97, 0.995),
    "loss/at-chance,loss/plateau,loss/collapse,loss/eval-gap",
    "class-collapse",
    needs=("classes",),
    excludes=("recurrent", "multi-task"),
    models=("mlp", "cnn", "bag", "lstm", "gru", "transformer"),
    base=imbalanced,
    shows=("eval",),
)
def class_imbalance(run, v):
    run.s.imbalance = v


# --- order and amount -----------------------------------------------------------------------------------------------


@fault(
    "data-sorted",
    (1,),
    "loss/sawtooth,loss/oscillation,loss/spike,loss/plateau,loss/not-decreasing,loss/eval-gap",
    "data-not-shuffled",
    stage="task",
    needs=("classes", "float-target"),
)
def data_sorted(run, v):
    order = run.task.train["y"].argsort(stable=True)
    run.task.train = {k: x[order] for k, x in run.task.train.items()}
    run.shuffle = False


@fault(
    "overfit",
    (0.5, 0.1, 0.03, 0.01),
    "loss/overfit,loss/eval-gap",
    "overfitting",
    stage="task",
    needs=("supervised", "contrastive", "vae", "density", "diffusion"),
    base=evaluates,
    shows=("eval",),
)
def overfit(run, v):
    keep = max(4, int(v * len(run.task.train["x"])))
    run.task.train = {k: x[:keep] for k, x in run.task.train.items()}
    run.s.rows = keep


@fault(
    "duplicates",
    (0.5, 0.9, 0.99),
    "loss/overfit,data/repeated,loss/eval-gap",
    "overfitting",
    stage="task",
    needs=("supervised", "contrastive", "vae", "density"),
    base=evaluates,
    shows=("eval",),
)
def duplicates(run, v):
    rows = len(run.task.train["x"])
    keep = max(4, int((1 - v) * rows))
    index = torch.arange(rows) % keep
    run.task.train = {k: x[index] for k, x in run.task.train.items()}


# --- leaks ----------------------------------------------------------------------------------------------------------


@fault(
    "leak-target",
    (0.1, 0.5, 2, 5),
    "loss/too-good,loss/collapse",
    "leakage",
    stage="task",
    needs=("float-input",),
    excludes=("vae", "gan", "diffusion", "density", "contrastive"),
    base=evaluates,
    shows=("eval",),
)
def leak_target(run, v):
    """The target stands in a feature, in the evaluation of the run as well; the true score is without it."""
    task = run.task

    def leaked(data):
        x = data["x"].clone()
        flat = x.view(len(x), -1)
        y = data["y"].float()
        if "classes" in task.tags:
            code = torch.nn.functional.one_hot(data["y"], run.s.classes).float() - 1 / run.s.classes
            width = min(flat.shape[1], run.s.classes)
            flat[:, :width] += 3 * v * code[:, :width]
        else:
            flat[:, 0] += v * y / run.s.scale
        return {**data, "x": x}

    task.train = leaked(task.train)
    task.logged_held = leaked(task.held)


@fault(
    "train-test-overlap",
    (0.3, 0.05, 0.01),
    "loss/too-good,loss/collapse",
    "leakage",
    stage="task",
    needs=("supervised",),
    excludes=("fine-tune",),
    base=evaluates,
    shows=("eval",),
)
def overlap(run, v):
    """Few rows, and the run evaluates on the rows it trains on: the eval loss follows the train loss to zero."""
    keep = max(8, int(v * len(run.task.train["x"])))
    run.task.train = {k: x[:keep] for k, x in run.task.train.items()}
    run.task.logged_held = {k: x[: min(keep, 300)] for k, x in run.task.train.items()}
    run.s.rows = keep


# --- bad samples and shards -----------------------------------------------------------------------------------------


def spoil(run, change, when):
    def hook(batch, step):
        if when(step) and "x" in batch:
            batch = dict(batch)
            batch["x"] = change(batch["x"].clone())
        return batch

    run.batch_hooks.append(hook)


@fault(
    "bad-sample",
    (10, 100, 1e3, 1e5),
    "loss/spike,grad/spike,loss/divergence,grad/explosion,loss/non-finite",
    "bad-sample,bad-batch-state",
    stage="task",
    onset=True,
    needs=("float-input",),
    excludes=("gan",),
)
def bad_sample(run, v):
    """One sample of the batch at the onset is far too large."""

    def change(x):
        x[0] *= v
        return x

    spoil(run, change, lambda step: step == run.onset)


@fault(
    "bad-target",
    (10, 100, 1e4),
    "loss/spike,grad/spike,loss/divergence,grad/explosion",
    "bad-sample,bad-batch-state",
    stage="task",
    onset=True,
    needs=("float-target",),
)
def bad_target(run, v):
    def hook(batch, step):
        if step == run.onset:
            batch = dict(batch)
            batch["y"] = batch["y"].clone()
            batch["y"][0] = v * run.s.scale
        return batch

    run.batch_hooks.append(hook)


@fault(
    "garbage-batch",
    (1, 5, 30),
    "loss/spike,grad/spike,loss/divergence",
    "bad-sample,bad-batch-state",
    stage="task",
    onset=True,
    needs=("token-input",),
)
def garbage_batch(run, v):
    """Two ids, endlessly, for a number of steps."""

    def hook(batch, step):
        if run.onset <= step < run.onset + v:
            batch = dict(batch)
            pair = torch.randint(0, run.task.vocab, (2,), generator=run.fault_rng)
            pick = torch.randint(0, 2, batch["x"].shape, generator=run.fault_rng)
            batch["x"] = pair[pick]
            if "tokens" in run.task.tags:
                batch["y"] = batch["x"].clone()
        return batch

    run.batch_hooks.append(hook)


@fault(
    "nonfinite-sample",
    (1, 2),
    NAN + ",data/non-finite",
    "bad-sample,layer-numerics",
    stage="task",
    onset=True,
    needs=("float-input",),
)
def nonfinite_sample(run, v):
    def change(x):
        x.view(len(x), -1)[0, 0] = math.nan if v == 1 else math.inf
        return x

    spoil(run, change, lambda step: step == run.onset)


@fault(
    "nonfinite-from",
    (1,),
    NAN + ",data/non-finite",
    "bad-sample,layer-numerics",
    stage="task",
    onset=True,
    needs=("float-input",),
)
def nonfinite_from(run, v):
    def change(x):
        x[0] = math.nan
        return x

    spoil(run, change, lambda step: step >= run.onset)


@fault(
    "corrupt-shard",
    (0.05, 0.3, 1.0),
    "loss/divergence,loss/spike,loss/plateau,loss/oscillation,loss/not-decreasing,loss/eval-gap",
    "bad-sample,wrong-targets,data-mix-changed",
    stage="task",
    onset=True,
    needs=("supervised", "contrastive", "density", "diffusion", "vae"),
)
def corrupt_shard(run, v):
    """From the onset on, a share of the batches is noise."""

    def change(x):
        if x.is_floating_point():
            return torch.randn(x.shape, generator=run.fault_rng) * x.std()
        return x.flatten()[torch.randperm(x.numel(), generator=run.fault_rng)].view(x.shape)

    def when(step):
        return step >= run.onset and torch.rand(1, generator=run.fault_rng).item() < v

    spoil(run, change, when)


@fault(
    "distribution-shift",
    (0.3, 1, 3),
    "loss/spike,loss/divergence,loss/eval-gap,loss/resume-jump,loss/overfit",
    "data-mix-changed,bad-sample",
    stage="task",
    onset=True,
    needs=("float-input",),
    excludes=("gan",),
    shows=("eval",),
)
def shift(run, v):
    spoil(run, lambda x: x * (1 + 0.3 * v) + v, lambda step: step >= run.onset)


@fault(
    "inputs-not-normalised",
    (10, 255, 1e4, 1e6),
    BLOWUP + ",loss/bad-start",
    "unnormalised-inputs,lr-too-high,bad-init",
    stage="task",
    needs=("float-input",),
    excludes=("gan", "vae", "density", "diffusion", "contrastive"),
)
def unnormalised(run, v):
    for part in (run.task.train, run.task.held):
        part["x"] = part["x"] * v + v / 2


@fault(
    "inputs-too-small",
    (1 / 16, 1 / 255, 1e-4, 1e-6),
    FLAT,
    "unnormalised-inputs,lr-too-low",
    stage="task",
    needs=("float-input",),
    excludes=("gan", "vae", "density", "diffusion", "contrastive"),
    models=("mlp", "cnn"),
)
def tiny_inputs(run, v):
    """Divided by 255 twice."""
    for part in (run.task.train, run.task.held):
        part["x"] = part["x"] * v


@fault(
    "features-lost",
    (0.5, 0.9, 1.0),
    FLAT,
    "wrong-targets,bad-config",
    stage="task",
    needs=("float-input", "token-input"),
    excludes=("gan", "vae", "density", "diffusion", "contrastive", "fine-tune"),
    shows=("eval",),
)
def features_lost(run, v):
    """A column join that failed: a share of the inputs is a constant, in train and eval alike."""
    for part in (run.task.train, run.task.held):
        x = part["x"].clone()
        gen = torch.Generator().manual_seed(run.s.seed)
        columns = torch.rand(x[0].shape, generator=gen) < v
        x[:, columns] = 0
        part["x"] = x


# --- crashes by data ------------------------------------------------------------------------------------------------


@fault(
    "crash-token-range",
    (1,),
    "log/index-out-of-range,data/token-out-of-range",
    "bad-sample,bad-config",
    stage="task",
    onset=True,
    needs=("token-input",),
)
def crash_token(run, v):
    def change(x):
        x[0, 0] = run.task.vocab + 3
        return x

    spoil(run, change, lambda step: step == run.onset)


@fault(
    "crash-label-range",
    (1,),
    "log/index-out-of-range,log/uncaught-exception",
    "bad-sample,wrong-targets,bad-config",
    stage="task",
    onset=True,
    needs=("classes",),
)
def crash_label(run, v):
    def hook(batch, step):
        if step == run.onset:
            batch = dict(batch)
            batch["y"] = batch["y"].clone()
            batch["y"][0] = run.s.classes
        return batch

    run.batch_hooks.append(hook)


@fault(
    "crash-empty-dataset",
    (1,),
    "log/empty-dataset,log/uncaught-exception",
    "bad-config",
    stage="task",
    needs=SUPERVISED,
)
def crash_empty(run, v):
    from torch.utils.data import DataLoader, TensorDataset

    run.task.train = {k: x[:0] for k, x in run.task.train.items()}
    DataLoader(TensorDataset(run.task.train["x"]), batch_size=run.s.batch, shuffle=True)
