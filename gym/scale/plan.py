"""Which runs there are. A group is a healthy twin, three faulty runs and one odd healthy run on the same base.

Everything follows from the group's number: the same number gives the same settings, faults and seeds.
"""

import copy
import zlib

import numpy as np
from settings import Settings
from tasks import SCALES, TASKS

import faults

FAULTS = 3  # faulty runs of a group
PART = 1_000_000  # group numbers of a part begin at part * PART

RATES = {"adam": 3e-3, "adamw": 3e-3, "rmsprop": 1e-3, "adagrad": 3e-2, "lion": 6e-4, "sgd": 0.1, "momentum": 0.03}
SCHEDULES = ("constant", "cosine", "linear", "step", "cyclic", "onecycle", "restarts", "inverse_sqrt", "exponential")
RECURRENT = ("lstm", "gru", "rnn")
FAULTLESS = ("modadd",)  # tasks that give healthy runs only

# How often a task comes: the plain ones more, since more faults apply to them.
WEIGHTS = {"lm": 4, "image": 4, "table": 3, "charlm": 3, "text": 2, "image16": 2, "seq2seq": 2, "finetune": 2, "dpo": 2}
WEIGHTS.update({"cartpole": 2, "grpo": 2, "gan": 2, "regression": 2})
ORDER = [name for name in TASKS for _ in range(WEIGHTS.get(name, 1))]


def stable(*words):
    return zlib.crc32("/".join(map(str, words)).encode())


def pick(rng, values):
    return values[int(rng.integers(0, len(values)))]


# --- the healthy base -----------------------------------------------------------------------------------------------


def choose_logging(s, rng):
    fits = [k for k in (1, 1, 1, 5, 5, 10, 10, 50) if 8 <= s.steps / k <= 1000]
    s.log_every = pick(rng, fits or [max(1, s.steps // 100)])
    s.log_mean = bool(rng.random() < 0.6)
    s.eval_every = 0
    if rng.random() < 0.75:
        s.eval_every = max(1, round(s.steps / int(rng.integers(5, 21)) / s.log_every)) * s.log_every


def by_epochs(s, rng, epochs=None):
    """One point an epoch, 5 to 20 of them."""
    epochs = epochs or int(rng.integers(5, 21))
    s.rows = int(np.clip(s.steps // epochs, 4, 100_000)) * s.batch * s.accum
    s.rows = int(np.clip(s.rows, 128, 4096))
    s.steps = epochs * s.steps_per_epoch()
    s.by_epoch, s.log_mean = True, True
    s.log_every = s.eval_every = s.steps_per_epoch()
    s.warmup = min(s.warmup, s.steps // 5)


def choose_logs(rng):
    logs = {"loss"}
    if rng.random() < 0.85:
        for name, share in (("lr", 0.65), ("grad_norm", 0.5), ("metrics", 0.65), ("step_time", 0.3), ("rss", 0.15)):
            if rng.random() < share:
                logs.add(name)
    return logs


def sample_base(name, rng, seed):
    task = TASKS[name]
    s = Settings(name, pick(rng, task.models), seed)
    s.optimizer = pick(rng, task.optimizers)
    if s.model == "transformer-post" and s.optimizer == "rmsprop":
        s.optimizer = "adamw"
    s.batch = pick(rng, task.batches)
    low, high = task.steps
    s.steps = int(round(np.exp(rng.uniform(np.log(low), np.log(high))), -1))
    s.lr = RATES[s.optimizer] * task.lr_scale * float(pick(rng, (0.6, 0.8, 1.0, 1.3)))
    s.rows = pick(rng, (512, 1024, 2048))
    s.width = pick(rng, (32, 48, 64))
    s.depth = pick(rng, (1, 2))
    s.scale = SCALES.get(name, 1.0)
    if s.optimizer in ("sgd", "momentum") and s.batch <= 8:
        s.lr *= 0.3
    if s.optimizer in ("sgd", "adagrad"):
        s.steps = min(5000, int(s.steps * 1.5))
    if s.batch <= 4 and "rl" not in task.tags:
        s.lr *= 0.5
        s.steps = min(3000, max(s.steps, 600))
    if "bn" in s.model and s.batch < 8:
        s.batch = 16
    if s.scale < 1e-2:
        s.eps = 1e-12
    if s.optimizer in ("adamw", "lion", "momentum"):
        s.weight_decay = pick(rng, (0.0, 0.01, 0.1 if s.optimizer == "adamw" else 1e-4))
    s.schedule = pick(rng, SCHEDULES) if rng.random() < 0.6 else pick(rng, ("constant", "cosine", "linear"))
    if rng.random() < 0.5 or s.model == "transformer-post":
        s.warmup = max(3, int(s.steps * pick(rng, (0.03, 0.06, 0.1))))
    if s.model == "transformer-post":
        s.lr *= 0.5
    if s.model in RECURRENT and s.task not in ("dpo", "grpo", "finetune"):
        s.lr *= 2.0 if s.optimizer in ("lion", "rmsprop") else 1.5 if s.model != "rnn" else 1.0
        s.steps = max(s.steps, 240)
    if rng.random() < 0.5 or s.model in RECURRENT:
        s.clip = 1.0
    if s.scale > 10 and s.clip:
        s.clip = 1e5
    if rng.random() < 0.15 and "supervised" in task.tags:
        s.accum = pick(rng, (2, 4))
        s.batch = max(2, s.batch // s.accum)
        if "bn" in s.model:
            s.batch = max(8, s.batch)
        s.steps = min(s.steps, 900 // s.accum)
    if rng.random() < 0.2 and task.tags & {"classes", "tokens"}:
        s.dropout = 0.1
    special(s, name, rng)
    choose_logging(s, rng)
    if rng.random() < 0.12 and "supervised" in task.tags:
        by_epochs(s, rng)
    logs = choose_logs(rng)
    if task.tags & {"rl", "dpo", "gan"} and rng.random() < 0.8:
        logs.add("metrics")  # the loss alone says little there
    return s, logs


def special(s, name, rng):
    if name == "modadd":
        s.lr, s.weight_decay, s.batch, s.warmup, s.schedule = 1e-2, 1.0, 512, 10, "constant"
        s.accum, s.dropout = 1, 0.0
    if name == "gan":
        s.schedule, s.warmup, s.clip, s.beta1, s.weight_decay = "constant", 0, 0.0, 0.5, 0.0
    if name in ("dqn", "cartpole", "bandit", "grpo"):
        s.schedule = pick(rng, ("constant", "linear"))
        s.weight_decay, s.warmup = 0.0, 0
        s.clip = pick(rng, (0.0, 0.5, 1.0))
        s.rows = s.batch * s.steps
    if name == "cartpole":
        s.gamma, s.batch = 0.97, 8
        s.steps = s.steps * 4 if s.model == "ppo" else s.steps
        s.rows = s.batch * s.steps
        if s.model == "ppo":
            s.lr *= 0.7
    if name == "finetune" and s.model == "gru":
        s.lr *= 2.5
        s.steps = max(s.steps, 200)
    if name == "memory":
        s.steps = max(s.steps, 500)
        if s.schedule == "exponential":
            s.schedule = "cosine"


# --- odd healthy runs -----------------------------------------------------------------------------------------------

ODD = {}


def odd(name, fits=lambda task: True):
    def register(function):
        ODD[name] = (fits, function)
        return function

    return register


SUPERVISED = lambda task: "supervised" in task.tags
PLAIN = lambda task: not task.tags & {"rl", "gan", "grokking"}


@odd("cyclic-lr", PLAIN)
def cyclic(s, rng):
    s.schedule = "cyclic"


@odd("warm-restarts", PLAIN)
def restarts(s, rng):
    s.schedule = "restarts"


@odd("one-cycle", PLAIN)
def onecycle(s, rng):
    s.schedule, s.warmup = "onecycle", 0


@odd("late-step-decay", PLAIN)
def late_decay(s, rng):
    s.schedule = "step"
    s.lr *= 1.5


@odd("batch-of-2", lambda task: task.tags & {"classes", "float-target"} and not task.tags & {"recurrent"})
def batch_two(s, rng):
    s.batch, s.accum, s.steps = (2, 1, 1500) if "bn" not in s.model else (4, 1, 1200)
    s.lr *= 0.4
    s.clip = s.clip or (1e5 if s.scale > 10 else 1.0)
    choose_logging(s, rng)


@odd("few-epochs", SUPERVISED)
def few_epochs(s, rng):
    by_epochs(s, rng, 5)


@odd("twenty-epochs", SUPERVISED)
def twenty_epochs(s, rng):
    by_epochs(s, rng, 20)


@odd("very-short", lambda task: task.tags & {"classes", "lm"} and "recurrent" not in task.tags)
def very_short(s, rng):
    s.steps, s.log_every, s.eval_every, s.schedule = 60, pick(rng, (1, 5, 10)), 30, "constant"
    s.warmup, s.by_epoch = min(s.warmup, 5), False


@odd("long", lambda task: task.tags & {"float-target", "dqn", "bandit", "diffusion"})
def long_run(s, rng):
    s.steps = int(pick(rng, (3000, 4000, 5000)))
    s.rows, s.batch, s.accum, s.by_epoch = 2048, min(s.batch, 32), 1, False
    s.log_every = pick(rng, (10, 50))
    s.eval_every = s.eval_every and 500


@odd("noise-floor", lambda task: task.tags & {"lm", "float-target", "diffusion", "density", "vae"})
def noise_floor(s, rng):
    """Learns fast, then stays at what cannot be learned for most of the run."""
    s.steps, s.rows, s.schedule, s.by_epoch = min(2000, int(s.steps * 2.5)), 4096, "constant", False
    choose_logging(s, rng)


@odd(
    "large-batch", lambda task: task.tags & {"classes", "float-target", "contrastive"} and "recurrent" not in task.tags
)
def large_batch(s, rng):
    s.batch, s.accum, s.rows = 256, 1, 2048
    s.steps = min(s.steps, 300)
    s.by_epoch = False
    choose_logging(s, rng)


@odd("accumulation", SUPERVISED)
def accumulation(s, rng):
    s.accum, s.batch, s.steps, s.by_epoch = 4, max(8, s.batch // 4), min(250, s.steps), False
    choose_logging(s, rng)


@odd("resume", PLAIN)
def resume(s, rng):
    pass


@odd("resume-rewind", PLAIN)
def resume_rewind(s, rng):
    pass


@odd("curriculum", lambda task: task.tags & {"float-input"} and PLAIN(task) and "supervised" in task.tags)
def curriculum(s, rng):
    pass


@odd("recovering-spike", lambda task: "float-input" in task.tags and PLAIN(task))
def recovering_spike(s, rng):
    s.clip = s.clip or (1e5 if s.scale > 10 else 1.0)


@odd("bf16", lambda task: task.tags & {"classes", "lm"} and not task.tags & {"recurrent"})
def bf16(s, rng):
    if s.model in ("lstm", "gru", "rnn"):
        return
    s.precision = "bf16"
    s.steps = min(s.steps, 300)
    choose_logging(s, rng)


@odd("fp16-scaler", lambda task: "classes" in task.tags and not task.tags & {"recurrent", "multi-task"})
def fp16(s, rng):
    if s.model in ("lstm", "gru", "rnn"):
        return
    s.precision = "fp16"
    s.steps = min(s.steps, 300)
    choose_logging(s, rng)


@odd("high-dropout", lambda task: task.tags & {"classes"} and "recurrent" not in task.tags)
def high_dropout(s, rng):
    """The train loss stays above the eval loss."""
    s.dropout = 0.4


@odd("plain")
def plain(s, rng):
    """The same settings with another seed."""
    s.seed += 500_000


def odd_hooks(run, kind):
    """What an odd run does in its loop."""
    if kind.startswith("resume"):
        rewind = max(1, run.s.steps // 25) if kind == "resume-rewind" else 0
        run.resume = {"keep": {"model", "optimizer", "clock", "loader"}, "rewind": rewind}
    if kind == "curriculum":
        easy_until = run.s.steps // 3

        def easier(batch, step):
            """Half of the classes, or the small targets, first: the loss rises when the rest comes."""
            if step >= easy_until:
                return batch
            y = batch["y"]
            easy = (y < max(2, run.s.classes // 2)) if run.s.classes else (y.abs() < 0.5 * run.s.scale)
            rows = easy.nonzero()[:, 0]
            if not len(rows):
                return batch
            rows = rows.repeat(len(y) // len(rows) + 1)[: len(y)]
            return {k: v[rows] for k, v in batch.items()}

        run.batch_hooks.append(easier)
    if kind == "recovering-spike":

        def spike(batch, step):
            if step == run.onset:
                batch = dict(batch)
                batch["x"] = batch["x"].clone()
                batch["x"][0] *= 30
            return batch

        run.batch_hooks.append(spike)


# --- groups ---------------------------------------------------------------------------------------------------------


def combinations(name):
    """Every fault and strength that a task can have, in a fixed mixed order; the stronger half comes twice."""
    task = TASKS[name]
    rows = []
    for fault in faults.load().values():
        if any(fault.fits(task, model) for model in task.models):
            count = len(fault.strengths)
            rows += [(fault.name, i, 0) for i in range(count)]
            rows += [(fault.name, i, 1) for i in range(count // 2, count) if count > 1]
    return [row[:2] for row in sorted(rows, key=lambda row: stable(name, *row))]


COMBINATIONS = {}


def place(part, index):
    """The task of the index-th group of a part, and how many groups of that task came before it."""
    turn, at = divmod(index, len(ORDER))
    mixed = sorted(range(len(ORDER)), key=lambda i: stable("order", turn, part, i))
    name = ORDER[mixed[at]]
    before = turn * WEIGHTS.get(name, 1) + sum(ORDER[i] == name for i in mixed[:at])
    return name, before


def spec(group, kind, settings, logs, **more):
    out = {"id": f"{group:07d}-{kind}", "group": group, "settings": settings, "logs": frozenset(logs)}
    out.update({"fault": None, "level": None, "onset": 0, "odd": None}, **more)
    return out


def onset_of(settings, rng):
    return max(2, int(settings.steps * rng.uniform(0.15, 0.7)))


def group_specs(group):
    """The runs of one group; the twin is first."""
    part, index = divmod(group, PART)
    name, before = place(part, index)
    rng = np.random.default_rng([group, 12345])
    seed = int(rng.integers(0, 400_000))
    task = TASKS[name]
    chosen = []
    if name not in FAULTLESS:
        rows = COMBINATIONS.setdefault(name, combinations(name))
        start = (FAULTS * before + part * (len(rows) // 2 + 1)) % len(rows)
        chosen = [rows[(start + i) % len(rows)] for i in range(FAULTS)]
    registry = faults.load()
    s, logs = sample_base(name, rng, seed)
    for fault_name, _ in chosen:  # a model that both can have, if there is one
        wanted = registry[fault_name]
        if not wanted.fits(task, s.model):
            allowed = [m for m in task.models if all(registry[f].fits(task, m) for f, _ in chosen)]
            allowed = allowed or [m for m in task.models if wanted.fits(task, m)]
            s.model = pick(rng, allowed)
    if "bn" in s.model:
        s.batch = max(8, s.batch)
    return list(variants(group, s, logs, chosen, rng))


def variants(group, s, logs, chosen, rng):
    """Yields twin, faults, odd. A fault with demands on its base gets them into the twin as well, and keeps the twin
    for itself: the other fault of the group then brings a second twin."""
    registry = faults.load()
    task = TASKS[s.task]
    bases = []
    if any("eval" in registry[name].shows for name, _ in chosen) and not s.eval_every:
        s.eval_every = max(1, s.steps // 12)
    for fault_name, level in chosen:
        fault = registry[fault_name]
        if not fault.fits(task, s.model):
            continue
        strength = fault.strengths[level]
        base = copy.deepcopy(s)
        if fault.base:
            fault.base(base, np.random.default_rng([group, 5]), strength)
        more = set(logs) | set(fault.shows) - {"eval"}
        bases.append((base, more, fault, level))
    twins = []
    for number, (base, more, fault, level) in enumerate(bases):
        twin = next((t for t, b in twins if b == base), None)
        if twin is None:
            twin = f"h{len(twins)}"
            twins.append((twin, base))
            merged = set().union(*(m for b, m, _, _ in bases if b == base))
            yield spec(group, twin, base, merged)
        onset = onset_of(base, rng) if fault.onset else 0
        yield spec(group, f"f{number}", base, more, fault=fault.name, level=level, onset=onset, twin=twin)
    if not twins:
        yield spec(group, "h0", s, logs)
    odd_base, odd_logs = copy.deepcopy(s), choose_logs(rng)
    fitting = [k for k, (fits, _) in ODD.items() if fits(task)]
    kind = pick(rng, fitting)
    ODD[kind][1](odd_base, rng)
    if "bn" in odd_base.model:
        odd_base.batch = max(4, odd_base.batch)
    yield spec(group, "o0", odd_base, odd_logs, odd=kind, onset=onset_of(odd_base, rng))
