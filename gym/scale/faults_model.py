"""Faults of model, initialisation, loss function, modes, and numerics of a layer."""

import torch
from torch import nn

from faults import BLOWUP, FLAT, NAN, fault


def matrices(run):
    return [p for p in run.task.model.parameters() if p.dim() > 1]


def layers(run):
    return [m for m in run.task.model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]


# --- loss function --------------------------------------------------------------------------------------------------


@fault("softmax-twice", (1,), FLAT, "objective-mismatch,lr-too-low", stage="task", needs=("classes", "tokens"))
def softmax_twice(run, v):
    run.task.double_softmax = True


@fault(
    "temperature-wrong",
    (0.1, 0.01, 10, 100, 1000),
    FLAT + ",loss/bad-start,loss/divergence,grad/explosion,loss/oscillation,grad/unstable",
    "objective-mismatch,lr-too-high,lr-too-low",
    needs=("classes", "contrastive"),
)
def temperature(run, v):
    run.s.temperature = v


@fault("label-smoothing", (0.1, 0.5, 0.9, 0.99), FLAT, "objective-mismatch", needs=("classes", "tokens"))
def label_smoothing(run, v):
    run.s.label_smoothing = v


@fault("dropout-too-high", (0.3, 0.7, 0.95, 0.99), FLAT, "objective-mismatch", needs=("classes", "tokens"))
def dropout(run, v):
    run.s.dropout = v


@fault(
    "task-weight",
    (10, 100, 1e4, 1e6),
    "loss/bad-start,loss/plateau,grad/explosion,loss/not-decreasing",
    "objective-mismatch",
    needs=("multi-task",),
    shows=("metrics",),
)
def task_weight(run, v):
    run.s.task_weight = v


# --- modes ----------------------------------------------------------------------------------------------------------


def mode_base(s, rng, v):
    if "bn" not in s.model:
        s.dropout = max(s.dropout, 0.3)
    s.eval_every = s.eval_every or max(1, s.steps // 10)


@fault(
    "eval-in-train-mode",
    (1,),
    "loss/eval-gap",
    "wrong-mode",
    stage="task",
    base=mode_base,
    needs=("classes", "tokens"),
    shows=("eval",),
)
def eval_train_mode(run, v):
    run.task.eval_train_mode = True


@fault(
    "train-in-eval-mode",
    (1,),
    FLAT + ",loss/overfit,loss/divergence,loss/eval-gap",
    "wrong-mode",
    stage="task",
    base=mode_base,
    needs=("classes", "tokens"),
    shows=("eval",),
)
def train_eval_mode(run, v):
    """model.eval() is never undone."""
    run.train_mode = False


@fault(
    "batch-norm-momentum",
    (0.01, 1e-3, 1e-5),
    "loss/eval-gap,loss/overfit",
    "wrong-mode,architecture-bug",
    stage="task",
    models=("bn",),
    base=mode_base,
    shows=("eval",),
)
def bn_momentum(run, v):
    """Running statistics that do not follow: eval is far worse than train."""
    for m in run.task.model.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            m.momentum = v


# --- initialisation and depth ---------------------------------------------------------------------------------------


@fault(
    "init-too-large",
    (2, 5, 20, 100),
    BLOWUP + ",loss/bad-start",
    "bad-init,lr-too-high",
    stage="task",
    excludes=("fine-tune", "dpo", "grpo"),
)
def init_large(run, v):
    with torch.no_grad():
        for p in matrices(run):
            p.mul_(v)


@fault(
    "init-too-small",
    (0.1, 1e-2, 1e-4),
    FLAT + ",grad/vanishing",
    "bad-init,vanishing-through-depth",
    stage="task",
    excludes=("fine-tune", "dpo", "grpo"),
)
def init_small(run, v):
    with torch.no_grad():
        for p in matrices(run):
            p.mul_(v)


@fault(
    "init-zeros",
    (1,),
    FLAT + ",grad/vanishing,grad/zero",
    "bad-init,frozen-params,dead-units",
    stage="task",
    excludes=("fine-tune", "dpo", "grpo"),
)
def init_zeros(run, v):
    with torch.no_grad():
        for p in run.task.model.parameters():
            p.zero_()


@fault(
    "dead-relu",
    (0.5, 2, 5, 20),
    FLAT + ",grad/zero,grad/vanishing",
    "dead-units,bad-init,frozen-params",
    stage="task",
    needs=("relu",),
    excludes=("gan",),
)
def dead_relu(run, v):
    """Biases start far below zero (layers with batch norm take the bias back out)."""
    with torch.no_grad():
        for m in layers(run)[:-1]:
            if m.bias is not None:
                m.bias -= v


def mlp_base(s, rng, v):
    s.activation = "relu"


@fault(
    "vanishing-depth",
    (4, 8, 16, 32),
    FLAT + ",grad/vanishing",
    "vanishing-through-depth,bad-init",
    needs=("classes", "float-target"),
    models=("mlp",),
    base=mlp_base,
)
def vanishing(run, v):
    run.s.depth, run.s.activation = int(v), "sigmoid"
    run.s.steps = min(run.s.steps, 800 if v < 16 else 300)


# --- what trains ----------------------------------------------------------------------------------------------------


@fault(
    "frozen-share",
    (0.3, 0.7, 0.95, 0.995),
    FLAT,
    "frozen-params,lr-too-low",
    stage="task",
)
def frozen_share(run, v):
    """requires_grad is false for the last tensors up to a share of the parameters (the head first)."""
    total = sum(p.numel() for p in run.task.model.parameters())
    done = 0
    tensors = list(run.task.model.parameters())
    for p in reversed(tensors[1:]):
        if done >= v * total:
            break
        p.requires_grad_(False)
        done += p.numel()


@fault("wrong-optimizer-parameters", (1,), FLAT, "frozen-params,lr-zero", stage="task", excludes=("gan",))
def wrong_parameters(run, v):
    """The optimizer was made before the model was rebuilt."""
    import copy

    run.train_parameters = list(copy.deepcopy(run.task.model).parameters())


@fault("biases-only", (1,), FLAT, "frozen-params", stage="task", excludes=("gan",))
def biases_only(run, v):
    """A filter on names was inverted: only vectors reach the optimizer."""
    run.train_parameters = [p for p in run.task.model.parameters() if p.dim() <= 1] or run.task.parameters()[:1]


@fault(
    "head-not-loaded",
    (1, 2, 3),
    "loss/bad-start,loss/not-decreasing,loss/plateau,loss/at-chance",
    "head-not-loaded,frozen-params",
    stage="task",
    needs=("fine-tune",),
)
def head_not_loaded(run, v):
    """1: a new head that trains; 2: head and embedding new; 3: a new head, and the body is frozen."""
    torch.manual_seed(run.s.seed)
    run.task.model.head.reset_parameters()
    if v == 2:
        run.task.model.tok.reset_parameters()
    if v == 3:
        for name, p in run.task.model.named_parameters():
            p.requires_grad_(name.startswith("head"))
    keys = "['head.weight', 'head.bias']"
    run.event(0, f"WARNING: Some weights were not initialized from the checkpoint and are newly initialized: {keys}")


@fault(
    "missing-causal-mask",
    (1,),
    "loss/too-good,loss/collapse",
    "leakage,architecture-bug",
    stage="task",
    needs=("causal",),
    models=("transformer",),
)
def missing_mask(run, v):
    run.task.model.causal = False


# --- numerics of a layer --------------------------------------------------------------------------------------------


def hang_on(run, function):
    """Puts `function(output, step)` behind the last linear layer."""
    run.at = 0
    run.step_hooks.append(lambda run, step: setattr(run, "at", step))

    def hook(module, inputs, output):
        if module.training and torch.is_tensor(output):
            return function(output)
        return None

    layers(run)[-1].register_forward_hook(hook)


@fault("log-of-zero", (1,), NAN, "layer-numerics,bad-sample", stage="task", onset=True, excludes=("gan",))
def log_zero(run, v):
    def gate(out):
        tau = max(0.0, 1 - run.at / run.onset)
        return out * (1 + 0.1 * torch.log(torch.tensor(tau))) if run.at else out

    hang_on(run, gate)


@fault("sqrt-of-zero", (1,), NAN, "layer-numerics,bad-sample", stage="task", onset=True, excludes=("gan",))
def sqrt_zero(run, v):
    """The distance of two equal vectors: finite forward, NaN backward."""

    def gate(out):
        if run.at < run.onset:
            return out
        return out + 1e-3 * torch.sqrt(((out - out.detach()) ** 2).sum(-1, keepdim=True))

    hang_on(run, gate)


@fault("division-by-zero", (1,), NAN, "layer-numerics,bad-sample", stage="task", onset=True, excludes=("gan",))
def division(run, v):
    """A mean over a mask that is empty in one batch."""

    def gate(out):
        count = out.new_tensor(0.0 if run.at == run.onset else 1.0)
        return out * count / count

    hang_on(run, gate)


@fault(
    "exp-overflow",
    (0.1, 1, 10),
    NAN + "," + BLOWUP,
    "log-softmax-overflow,layer-numerics,lr-too-high",
    stage="task",
    needs=("classes",),
    excludes=("multi-task",),
)
def exp_overflow(run, v):
    """Softmax and log written by hand, without the maximum taken out; a gain on the logits."""

    def loss(logits, labels):
        e = torch.exp(logits.float() * (1 + 9 * v))
        p = e / e.sum(-1, keepdim=True)
        return -torch.log(p.gather(-1, labels[:, None])).mean()

    run.task.cross_entropy = loss
