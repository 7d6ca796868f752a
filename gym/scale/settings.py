"""What a user would write into a config, and how a run walks through its schedule."""

import math
from dataclasses import asdict, dataclass


@dataclass
class Settings:
    task: str
    model: str
    seed: int = 0
    optimizer: str = "adamw"
    lr: float = 3e-3
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup: int = 0
    steps: int = 300
    batch: int = 32
    accum: int = 1
    clip: float = 0.0
    precision: str = "fp32"
    rows: int = 1024  # training samples
    width: int = 32
    depth: int = 2
    activation: str = "relu"
    dropout: float = 0.0
    label_smoothing: float = 0.0
    temperature: float = 1.0
    log_every: int = 10
    log_mean: bool = True
    eval_every: int = 0
    by_epoch: bool = False  # one point an epoch
    scale: float = 1.0  # regression: unit of the target
    imbalance: float = 0.0  # classification: share of the largest class
    classes: int = 0
    beta: float = 0.1  # DPO and RL: weight of the reference
    kl_weight: float = 1.0  # VAE
    entropy_weight: float = 0.01
    gamma: float = 0.95
    reward_scale: float = 1.0
    disc_lr_ratio: float = 1.0
    task_weight: float = 1.0  # multi-task: weight of the second loss
    max_length: int = 6

    def steps_per_epoch(self):
        return max(1, self.rows // (self.batch * self.accum))

    def as_dict(self):
        return asdict(self)


def factor(s: Settings, t: float) -> float:
    """Share of the peak rate at schedule time t (0 at the first step); past its end as torch's schedulers go on."""
    total, warm = s.steps, s.warmup
    if warm and t < warm:
        return (t + 1) / warm
    left = max(1, total - warm)
    x = (t - warm) / left
    kind = s.schedule
    if kind == "cosine":
        return 0.5 * (1 + math.cos(math.pi * x))
    if kind == "linear":
        return max(0.0, 1 - x)
    if kind == "step":  # StepLR: a tenth after each third, the last drop late
        return 0.1 ** sum(x >= edge for edge in (0.5, 0.8))
    if kind == "exponential":
        return 0.02**x
    if kind == "cyclic":
        phase = (x * 5) % 1
        return 0.1 + 0.9 * (1 - abs(2 * phase - 1))
    if kind == "restarts":
        return 0.5 * (1 + math.cos(math.pi * ((x * 4) % 1)))
    if kind == "onecycle":
        if x < 0.3:
            return 0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * x / 0.3))
        return 0.5 * (1 + math.cos(math.pi * min(1, (x - 0.3) / 0.7))) + 1e-4
    if kind == "inverse_sqrt":
        return math.sqrt(max(warm, 10) / (max(warm, 10) + t))
    return 1.0
