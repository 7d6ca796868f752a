"""What following a remedy changes in a run of the gym at scale: remedy id -> a change of settings, code or data.

A change is made to the faulty program, never by leaving the fault out: a proposed learning rate is set, inputs are
normalised by their own numbers, a missing call is put in. A remedy that says where to look ("look") finds a fault only
where it points: then what is found there is repaired, otherwise nothing changes. FINDS says which fault stands where;
where it can be measured in the program itself (a gradient of 0, a batch that is changed), it is measured.
"""

import contextlib
import math

import torch

# What each remedy that says where to look shows to somebody who looks there.
FINDS = {
    "check-labels": {
        "labels-shuffled",
        "labels-off-by-one",
        "labels-masked",
        "preference-swapped",
        "preference-same",
        "features-lost",
    },
    "check-trainable": {"frozen-share", "wrong-optimizer-parameters", "biases-only"},
    "check-leak": {"leak-target", "train-test-overlap", "missing-causal-mask"},
    "check-evaluation": {"eval-in-train-mode", "train-test-overlap"},
    "find-first-op": {
        "nonfinite-sample",
        "nonfinite-from",
        "log-of-zero",
        "sqrt-of-zero",
        "division-by-zero",
        "exp-overflow",
    },
    "guard-operation": {"log-of-zero", "sqrt-of-zero", "division-by-zero", "exp-overflow"},
    "test-reward": {"reward-constant", "reward-noise", "reward-hacking"},
    "log-completions": {"reward-hacking", "reward-constant"},
    "length-neutral-reward": {"reward-hacking"},
    "check-loading": {"head-not-loaded", "resume-no-weights"},
    "vary-noise": {"gan-mode-collapse"},
    "profile-steps": {"slow-down", "data-stall", "step-outliers"},  # each is one part of the step
    "overfit-one-batch": set(),  # says that something is wired wrongly, not what
    "more-data": set(),
    "easier-task": set(),
}


def number(remedy, otherwise=None):
    try:
        return float(remedy["proposed"])
    except (TypeError, ValueError):
        return otherwise


def also(remedy, name):
    for change in remedy.get("also", []):
        if name in change["setting"]:
            return float(change["proposed"])
    return None


# --- settings: before the task is built, and again after the fault has acted on it -----------------------------------


def set_rate(run, remedy, case):
    share = {"a tenth": 0.1, "a third": 1 / 3}.get(remedy["proposed"])
    if share:
        case.setdefault("lr_before", run.s.lr)
        run.s.lr = case["lr_before"] * share
    elif number(remedy):
        run.s.lr = number(remedy)


def set_batch(run, remedy, case):
    before = case.setdefault("batch_before", run.s.batch)
    run.s.batch = max(1, int(number(remedy, before / 2)))
    accum = also(remedy, "accum")
    if accum:
        run.s.accum = int(accum)


def more_steps(run, remedy, case):
    """The same number of samples in smaller steps."""
    batch, accum, steps = case.setdefault("before", (run.s.batch, run.s.accum, run.s.steps))
    run.s.batch = max(1, int(number(remedy, batch / 4)))
    run.s.accum = int(also(remedy, "accum") or accum)
    run.s.steps = min(3000, steps * batch * accum // (run.s.batch * run.s.accum))


def set_epochs(run, remedy, case):
    run.s.steps = max(4, round(number(remedy, 1) * run.s.steps_per_epoch()))
    run.s.warmup = min(run.s.warmup, run.s.steps // 5)


def set_steps(run, remedy, case):
    run.s.steps = max(4, int(number(remedy, run.s.steps)))
    run.s.warmup = min(run.s.warmup, run.s.steps // 5)


def setter(*names, to=None):
    def change(run, remedy, case):
        for name in names:
            setattr(run.s, name, number(remedy) if to is None else to)

    return change


def set_warmup(run, remedy, case):
    run.s.warmup = int(number(remedy, 0))


def set_accumulation(run, remedy, case):
    run.s.accum = max(1, int(number(remedy, 1)))


def default_betas(run, remedy, case):
    run.s.beta1, run.s.beta2 = 0.9, 0.999


def default_optimizer(run, remedy, case):
    run.s.eps, run.s.beta1, run.s.beta2, run.s.momentum = min(run.s.eps, 1e-8), 0.9, 0.999, 0.9


def plain_loss(run, remedy, case):
    run.s.temperature, run.s.label_smoothing, run.s.task_weight = 1.0, 0.0, 1.0
    run.s.dropout = min(run.s.dropout, 0.5)
    run.sign = 1.0


def set_precision(run, remedy, case):
    """The forward pass in bf16, the weights in fp32."""
    run.s.precision = "bf16"
    if hasattr(run, "task"):
        run.task.model.__dict__.pop("forward", None)
        run.task.model.float()


def let_gradients_through(run, remedy, case):
    run.s.activation = "relu"
    if run.s.model == "mlp":
        run.s.model = "mlp-bn"


SETTINGS = {
    "lower-lr": set_rate,
    "raise-lr": set_rate,
    "set-lr": set_rate,
    "add-warmup": set_warmup,
    "clip-gradients": setter("clip"),
    "raise-clip": setter("clip"),
    "use-bf16": set_precision,
    "moderate-weight-decay": setter("weight_decay"),
    "default-epsilon": setter("eps"),
    "default-betas": default_betas,
    "default-momentum": setter("momentum"),
    "default-optimizer": default_optimizer,
    "less-dropout": setter("dropout"),
    "less-smoothing": setter("label_smoothing"),
    "plain-temperature": setter("temperature"),
    "raise-temperature": setter("temperature"),
    "smaller-batch": set_batch,
    "more-steps-per-epoch": more_steps,
    "more-accumulation": set_accumulation,
    "fewer-epochs": set_epochs,
    "fewer-steps": set_steps,
    "add-kl-penalty": setter("beta"),
    "add-entropy-bonus": setter("entropy_weight"),
    "lower-entropy-bonus": setter("entropy_weight"),
    "usual-discount": setter("gamma"),
    "lengthen-completions": lambda run, remedy, case: setattr(run.s, "max_length", int(number(remedy, 6))),
    "check-loss": plain_loss,
    "balance-sides": setter("disc_lr_ratio", to=1.0),
    "normalise-rewards": setter("reward_scale", to=1.0),
    "anneal-kl": setter("kl_weight", to=1.0),
    "shorten-gradient-path": let_gradients_through,
}


# --- code and data: after the fault has acted ------------------------------------------------------------------------


def smooth_schedule(run, remedy, case):
    run.schedule_rate, run.schedule_shift = 1.0, {}
    if number(remedy) is None and remedy["proposed"]:
        run.s.schedule = remedy["proposed"]


def whole_schedule(run, remedy, case):
    run.schedule_rate, run.schedule_shift = 1.0, {}


def reset_weights(run, remedy, case):
    torch.manual_seed(run.s.seed)
    for module in run.task.model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()


def normalise(run, remedy, case):
    x = run.task.train["x"]
    if not x.is_floating_point():
        return
    mean, std = x.mean(0, keepdim=True), x.std(0, keepdim=True)
    std = torch.where(std > 1e-12 * (1 + mean.abs()), std, torch.ones_like(std))
    for part in (run.task.train, run.task.held):
        part["x"] = (part["x"] - mean) / std


def shuffle(run, remedy, case):
    run.shuffle = True


def set_mode(run, remedy, case):
    run.train_mode, run.task.eval_train_mode = True, False


def weights_in_fp32(run, remedy, case):
    run.task.model.__dict__.pop("forward", None)
    run.task.model.float()
    run.s.precision = "fp32"


def right_loss(run, remedy, case):
    run.task.double_softmax = False
    run.task.__dict__.pop("cross_entropy", None)


def balance(run, remedy, case):
    labels = run.task.train["y"]
    if "classes" not in run.task.tags or labels.dim() != 1:
        return
    counts = torch.bincount(labels, minlength=run.s.classes).float().clamp(min=1)
    weight = counts.sum() / (len(counts) * counts)
    run.task.cross_entropy = lambda logits, y: torch.nn.functional.cross_entropy(logits.float(), y, weight=weight)


def keep(*parts):
    def change(run, remedy, case):
        if run.resume:
            run.resume["keep"] = set(run.resume["keep"]) - {"clock-ahead"} | set(parts)

    return change


def zero(run, remedy, case):
    run.zero_grad = True


def divide(run, remedy, case):
    run.divide = True


def drop_kept(run, remedy, case):
    run.keep_bytes, run.keep_graph = 0, False


def feed(run, remedy, case):
    run.stall_factor, run.stall_every = 1.0, 0


def named_steps(case):
    """The steps whose data the diagnosis names, with a logging interval before them."""
    first = case["diagnosis"].get("first_step")
    if first is None:
        return range(0)
    return range(max(1, first - case["log_every"]), first + 1)


def skip_batches(run, remedy, case):
    """The batches of the steps that are named are not trained on as they came."""
    steps = named_steps(case)
    for i, hook in enumerate(run.batch_hooks):
        run.batch_hooks[i] = lambda batch, step, hook=hook: batch if step in steps else hook(batch, step)


@contextlib.contextmanager
def aside(run):
    """What is looked at before the run leaves no trace in it."""
    kept, own = torch.get_rng_state(), run.fault_rng.get_state()
    run.task.start(run.shuffle)
    try:
        yield
    finally:
        torch.set_rng_state(kept)
        run.fault_rng.set_state(own)


def is_changed(before, after):
    return any(not torch.equal(before[k], after[k]) for k in before if torch.is_tensor(before[k]))


def look_at_batch(run, remedy, case):
    """Somebody who looks at the batches of the named steps and finds one bad repairs where it comes from."""
    with aside(run):
        batch = run.task.next_batch()
        bad = any(is_changed(batch, hook(batch, step)) for hook in run.batch_hooks for step in named_steps(case))
    if bad:
        run.batch_hooks.clear()


def gets_nothing(module):
    """A layer with a tensor that gets a gradient of exactly 0, or a matrix of zeros."""
    own = list(module.parameters(recurse=False))
    zero = any(p.dim() > 1 and not p.any() for p in own)
    return zero or any(p.requires_grad and (p.grad is None or not p.grad.any()) for p in own)


def list_what_trains(run, remedy, case):
    """Layers that the list shows as dead are initialised again; what is frozen is in FINDS."""
    model = run.task.model
    with aside(run):
        run.task.loss(run.task.next_batch())[0].backward()
    dead = [m for m in model.modules() if hasattr(m, "reset_parameters") and gets_nothing(m)]
    model.zero_grad(set_to_none=True)
    torch.manual_seed(run.s.seed)
    for module in dead:
        module.reset_parameters()


def skip_non_finite(run, remedy, case):
    run.guards_steps = True


CODE = {
    "smooth-schedule": smooth_schedule,
    "lengthen-schedule": whole_schedule,
    "keep-to-schedule": whole_schedule,
    "check-trainable": list_what_trains,
    "skip-non-finite": skip_non_finite,
    "check-init": reset_weights,
    "normalise-inputs": normalise,
    "shuffle-data": shuffle,
    "check-mode": set_mode,
    "fp32-weights": weights_in_fp32,
    "check-loss": right_loss,
    "balance-classes": balance,
    "zero-gradients": zero,
    "scale-accumulation": divide,
    "drop-references": drop_kept,
    "detach-loss": drop_kept,
    "feed-faster": feed,
    "save-all-state": keep("model", "optimizer", "clock", "loader"),
    "restore-optimizer": keep("optimizer"),
    "restore-scheduler": keep("clock"),
    "restore-sampler": keep("loader"),
    "skip-batch": skip_batches,
    "inspect-batch": look_at_batch,
}


def is_known(remedy_id):
    return remedy_id in SETTINGS or remedy_id in CODE or remedy_id in FINDS


def finds(remedy_id, fault):
    return fault in FINDS.get(remedy_id, ())


def finite(value):
    return value is not None and math.isfinite(value)
