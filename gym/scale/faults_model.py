"""Faults of model, initialisation, loss function, and of the special tasks (GAN, VAE, RL, preference)."""

import torch
from models import Mlp
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


# --- GAN and VAE ----------------------------------------------------------------------------------------------------


@fault(
    "discriminator-too-strong",
    (3, 10, 30, 100),
    "loss/divergence,loss/collapse,loss/oscillation,loss/plateau,loss/not-decreasing",
    "gan-imbalance",
    needs=("gan",),
    shows=("metrics",),
)
def disc_strong(run, v):
    run.s.disc_lr_ratio = v


@fault(
    "discriminator-too-weak",
    (0.1, 0.01, 1e-3),
    "loss/collapse,loss/plateau,loss/not-decreasing,loss/oscillation",
    "gan-imbalance,gan-mode-collapse",
    needs=("gan",),
    shows=("metrics",),
)
def disc_weak(run, v):
    run.s.disc_lr_ratio = v


@fault(
    "gan-mode-collapse",
    (1, 2),
    "loss/oscillation,loss/divergence,loss/plateau,loss/collapse",
    "gan-mode-collapse,gan-imbalance",
    stage="task",
    needs=("gan",),
    shows=("metrics",),
)
def gan_mode_collapse(run, v):
    """A generator that ignores most of its noise (2: all of it)."""
    with torch.no_grad():
        first = run.task.model["generator"].body[0]
        mask = torch.zeros_like(first.weight)
        if v == 1:
            mask[:, 0] = 0.1
    first.weight.register_hook(lambda g: g * 0)
    with torch.no_grad():
        first.weight.mul_(mask)


@fault(
    "posterior-collapse",
    (3, 10, 30, 300),
    "loss/plateau,loss/not-decreasing,loss/collapse",
    "posterior-collapse",
    needs=("vae",),
    shows=("metrics",),
)
def posterior(run, v):
    run.s.kl_weight = v


# --- RL and preference ----------------------------------------------------------------------------------------------


@fault(
    "reward-constant",
    (1,),
    "rl/reward-flat,rl/no-signal,grad/zero,loss/collapse,rl/reward-collapse",
    "reward-broken,task-too-hard",
    stage="task",
    needs=("rl",),
    shows=("metrics",),
)
def reward_constant(run, v):
    run.task.reward_constant = True


@fault(
    "reward-scale",
    (1e-4, 1e-2, 100, 1e4),
    "rl/reward-flat,loss/divergence,grad/explosion,rl/entropy-collapse,rl/reward-collapse,loss/bad-start,grad/unstable",
    "reward-scale,value-divergence,lr-too-high",
    needs=("rl",),
    shows=("metrics",),
)
def reward_scale(run, v):
    run.s.reward_scale = v


@fault(
    "reward-noise",
    (0.5, 3, 20),
    "rl/reward-flat,rl/reward-collapse,grad/unstable",
    "reward-broken,task-too-hard",
    stage="task",
    needs=("rl",),
    shows=("metrics",),
)
def reward_noise(run, v):
    run.task.reward_noise = v


@fault(
    "entropy-collapse",
    (3, 10, 30),
    "rl/entropy-collapse,rl/reward-flat,rl/reward-collapse,rl/no-signal,rl/kl-blowup",
    "mode-collapse,lr-too-high",
    needs=("policy", "grpo"),
    shows=("metrics",),
)
def entropy_collapse(run, v):
    run.s.entropy_weight, run.s.beta = 0.0, 0.0
    run.s.lr *= v


@fault(
    "entropy-bonus-too-high",
    (0.1, 1, 10),
    "rl/entropy-high,rl/reward-flat",
    "objective-mismatch",
    needs=("policy",),
    shows=("metrics",),
)
def entropy_bonus(run, v):
    run.s.entropy_weight = v


@fault(
    "no-exploration",
    (0.02, 0.0),
    "rl/reward-flat,loss/plateau",
    "no-exploration,task-too-hard",
    stage="task",
    needs=("dqn",),
    shows=("metrics",),
)
def no_exploration(run, v):
    run.task.epsilon_floor = run.task.epsilon_start = v


@fault(
    "gamma-wrong",
    (0.5, 0.0, 1.0, 1.05),
    "rl/reward-flat,loss/divergence,rl/reward-collapse,grad/explosion",
    "value-divergence,bad-config",
    needs=("dqn",),
    shows=("metrics",),
)
def gamma_wrong(run, v):
    run.s.gamma = v


@fault(
    "no-target-network",
    (1, 5),
    "loss/divergence,rl/reward-collapse,rl/reward-flat,loss/oscillation",
    "value-divergence,lr-too-high",
    stage="task",
    needs=("dqn",),
    shows=("metrics",),
)
def no_target(run, v):
    run.task.target_every = 0
    run.s.lr *= v


@fault(
    "reward-hacking",
    (0.2, 0.5, 0.9),
    "rl/length-hacking,rl/truncated",
    "reward-hacking",
    stage="task",
    needs=("grpo",),
    shows=("metrics",),
)
def reward_hacking(run, v):
    run.task.length_reward = v


@fault(
    "completions-truncated",
    (2, 1),
    "rl/truncated",
    "max-length-too-short",
    needs=("grpo",),
    shows=("metrics",),
)
def truncated(run, v):
    run.s.max_length = int(v)


@fault(
    "kl-blowup",
    (10, 30, 100),
    "rl/kl-blowup,rl/entropy-collapse,rl/reward-collapse",
    "lr-too-high,mode-collapse,reward-hacking",
    needs=("grpo",),
    shows=("metrics",),
)
def kl_blowup(run, v):
    run.s.beta = 0.0
    run.s.lr *= v


@fault(
    "sampling-temperature",
    (0.3, 3, 10),
    "rl/no-signal,rl/entropy-high,rl/reward-flat,rl/entropy-collapse",
    "mode-collapse,bad-config",
    needs=("grpo",),
    shows=("metrics",),
)
def sampling_temperature(run, v):
    run.s.temperature = v


@fault(
    "preference-swapped",
    (0.1, 0.3, 0.5, 1.0),
    "rl/preference-no-signal,loss/not-decreasing,rl/preference-degenerate,loss/at-chance",
    "wrong-targets",
    stage="task",
    needs=("dpo",),
    shows=("metrics",),
)
def preference_swapped(run, v):
    data = run.task.train
    swap = torch.rand(len(data["x"]), generator=run.fault_rng) < v
    chosen, rejected = data["x"].clone(), data["r"].clone()
    data["x"][swap], data["r"][swap] = rejected[swap], chosen[swap]


@fault(
    "preference-beta",
    (1e-4, 1e-3, 3, 50),
    "rl/preference-degenerate,rl/preference-no-signal,loss/plateau,grad/explosion,loss/divergence",
    "objective-mismatch,bad-config",
    needs=("dpo",),
    shows=("metrics",),
)
def preference_beta(run, v):
    run.s.beta = v


@fault(
    "reference-is-policy",
    (1,),
    "rl/preference-no-signal,loss/not-decreasing,loss/at-chance",
    "bad-config,wrong-targets",
    stage="task",
    needs=("dpo",),
    shows=("metrics",),
)
def reference_policy(run, v):
    run.task.reference_is_policy = True


@fault(
    "preference-same",
    (0.5, 0.9, 1.0),
    "rl/preference-no-signal,loss/not-decreasing,loss/at-chance",
    "wrong-targets,bad-config",
    stage="task",
    needs=("dpo",),
    shows=("metrics",),
)
def preference_same(run, v):
    """Chosen and rejected hold the same text."""
    data = run.task.train
    same = torch.rand(len(data["x"]), generator=run.fault_rng) < v
    data["r"][same] = data["x"][same]


# --- crashes --------------------------------------------------------------------------------------------------------


@fault(
    "crash-shape-mismatch",
    (1,),
    "log/shape-mismatch-checkpoint,log/uncaught-exception",
    "bad-config,version-mismatch",
    stage="task",
    models=("mlp", "transformer"),
    excludes=("vae", "gan", "contrastive", "policy", "dqn", "grokking", "fine-tune", "dpo"),
)
def crash_shape(run, v):
    from settings import Settings
    from tasks import TASKS

    other = Settings(**{**run.s.as_dict(), "width": run.s.width * 2})
    if isinstance(run.task.model, Mlp):
        wide = Mlp(64, other.width * 2, max(1, other.depth), 7)
        run.task.model.load_state_dict(wide.state_dict())
    run.task.model.load_state_dict(TASKS[run.s.task](other).model.state_dict())


@fault(
    "crash-matmul",
    (1,),
    "log/uncaught-exception,log/tensor-mismatch,log/tensor-shapes",
    "bad-config,architecture-bug",
    stage="task",
    excludes=("gan",),
)
def crash_matmul(run, v):
    m = layers(run)[-1]
    if isinstance(m, nn.Linear):
        m.weight = nn.Parameter(torch.randn(m.out_features, m.in_features + 4))


@fault("crash-interrupted", (1,), "log/interrupted", "", stage="task", onset=True)
def crash_interrupted(run, v):
    def act(run, step):
        if step == run.onset:
            raise KeyboardInterrupt

    run.step_hooks.append(act)


@fault(
    "crash-host-alloc",
    (1,),
    "memory/host-alloc,log/uncaught-exception",
    "out-of-host-memory,bad-config",
    stage="task",
    onset=True,
)
def crash_alloc(run, v):
    def act(run, step):
        if step == run.onset:
            run.kept.append(torch.empty(2**50, dtype=torch.uint8))

    run.step_hooks.append(act)


@fault("crash-no-grad", (1,), "log/no-grad-required,log/uncaught-exception", "frozen-params,bad-config", stage="task")
def crash_no_grad(run, v):
    for p in run.task.model.parameters():
        p.requires_grad_(False)


@fault(
    "crash-inplace",
    (1,),
    "log/inplace-modified,log/uncaught-exception",
    "architecture-bug",
    stage="task",
    excludes=("gan",),
)
def crash_inplace(run, v):
    def act(out):
        changed = torch.exp(out)
        again = changed * changed
        changed += 1
        return out + 0 * again

    hang_on(run, act)
