"""Faults of the special tasks (GAN, VAE, RL, preference), and crashes."""

import torch
from faults_model import hang_on, layers
from models import Mlp
from torch import nn

from faults import fault

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
    (1, 2),
    "rl/preference-no-signal,loss/not-decreasing,loss/at-chance",
    "bad-config,wrong-targets",
    stage="task",
    needs=("dpo",),
    shows=("metrics",),
)
def reference_policy(run, v):
    run.task.reference_is_policy = v


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
