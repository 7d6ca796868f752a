"""Faults of optimizer, schedule, loop, precision, resume and resources."""

from faults import BLOWUP, FLAT, fault

# --- learning rate and optimizer ------------------------------------------------------------------------------------


@fault("lr-too-high", (3, 10, 30, 100, 300, 1000), BLOWUP, "lr-too-high")
def lr_too_high(run, v):
    run.s.lr *= v


@fault("lr-too-low", (3, 10, 30, 100, 300, 1000), FLAT + ",lr/out-of-range", "lr-too-low")
def lr_too_low(run, v):
    run.s.lr /= v


@fault("lr-zero", (1,), "lr/zero,loss/not-decreasing,loss/at-chance", "lr-zero,frozen-params", shows=("lr",))
def lr_zero(run, v):
    run.s.lr = 0.0


def needs_warmup(s, rng, v):
    s.warmup, s.schedule = max(10, s.steps // 8), "cosine"
    if s.optimizer in ("adam", "adamw", "rmsprop", "lion"):
        s.lr *= 2


@fault(
    "no-warmup",
    (1, 3),
    BLOWUP + ",lr/no-warmup",
    "no-warmup,lr-too-high",
    models=("transformer", "rnn", "lstm"),
    base=needs_warmup,
)
def no_warmup(run, v):
    run.s.warmup = 0
    run.s.lr *= v


def adamw_base(s, rng, v):
    if s.optimizer not in ("adamw", "momentum", "sgd"):
        s.optimizer = "adamw"
        s.lr = 3e-3


@fault(
    "weight-decay-too-high",
    (0.3, 3, 10, 60, 300),
    FLAT + ",loss/divergence,loss/collapse",
    "weight-decay-too-high",
    base=adamw_base,
)
def weight_decay(run, v):
    run.s.weight_decay = v


def adam_base(s, rng, v):
    if s.optimizer not in ("adam", "adamw"):
        s.optimizer, s.lr = "adam", 3e-3


@fault("adam-eps", (1e-4, 1e-2, 1, 100), FLAT, "optimizer-settings,lr-too-low", base=adam_base)
def adam_eps(run, v):
    run.s.eps = v


@fault("adam-betas", (0.95, 0.99, 0.999), BLOWUP, "optimizer-settings,lr-too-high", base=adam_base)
def adam_betas(run, v):
    run.s.beta1, run.s.beta2 = v, 0.9 if v > 0.95 else 0.95


def momentum_base(s, rng, v):
    if s.optimizer != "momentum":
        s.optimizer, s.lr, s.eps = "momentum", 0.03, 1e-8


@fault(
    "momentum-too-high",
    (0.97, 0.99, 0.999),
    BLOWUP,
    "optimizer-settings,lr-too-high",
    needs=("classes",),
    models=("mlp", "cnn"),
    base=momentum_base,
)
def momentum_high(run, v):
    run.s.momentum = v


@fault(
    "clip-too-low",
    (0.1, 1e-2, 1e-3, 1e-5),
    FLAT + ",grad/always-clipped",
    "clip-too-low,lr-too-low",
    needs=("classes",),
    models=("mlp", "cnn", "gcn"),
    base=momentum_base,
)
def clip_low(run, v):
    run.s.clip = v


def recurrent_base(s, rng, v):
    s.clip = 1.0


@fault(
    "rnn-no-clip",
    (2, 6, 20),
    BLOWUP + ",grad/spike",
    "no-clipping,lr-too-high",
    stage="task",
    models=("rnn", "lstm", "gru"),
    excludes=("dpo", "grpo", "fine-tune"),
    base=recurrent_base,
    shows=("grad_norm",),
)
def rnn_no_clip(run, v):
    run.s.clip = 0.0
    run.s.lr *= v
    _scale_recurrent(run, 1.5 if v < 20 else 2.0)


def _scale_recurrent(run, times):
    import torch

    with torch.no_grad():
        for name, p in run.task.model.named_parameters():
            if "weight_hh" in name:
                p.mul_(times)


# --- schedule -------------------------------------------------------------------------------------------------------


def scheduled_base(s, rng, v):
    if s.schedule not in ("cosine", "linear", "step", "exponential"):
        s.schedule = str(rng.choice(["cosine", "linear", "exponential"]))
    s.warmup = min(s.warmup, s.steps // 10)


@fault(
    "scheduler-too-fast",
    (2, 4, 10, 50),
    "loss/plateau,lr/zero,lr/schedule-break,loss/not-decreasing,loss/oscillation",
    "bad-schedule,lr-zero",
    base=scheduled_base,
    shows=("lr",),
)
def scheduler_fast(run, v):
    """Stepped twice, once a micro-batch, or once a batch where once an epoch was meant."""
    run.schedule_rate = v


def warm_base(s, rng, v):
    s.warmup = max(5, s.steps // int(rng.choice([5, 10, 20])))


@fault(
    "scheduler-never",
    (1,),
    "lr/zero,lr/schedule-break,loss/not-decreasing,loss/plateau,lr/out-of-range",
    "bad-schedule,lr-too-low",
    base=warm_base,
    shows=("lr",),
)
def scheduler_never(run, v):
    run.schedule_rate = 0.0


@fault(
    "schedule-break",
    (0.01, 3, 10, 100, 1000),
    "lr/schedule-break,loss/divergence,loss/spike,loss/plateau",
    "bad-schedule,lr-too-high",
    onset=True,
    shows=("lr",),
)
def schedule_break(run, v):
    run.schedule_shift = {run.onset: v}


@fault(
    "schedule-ends-early",
    (0.7, 0.4, 0.15, 0.05),
    "lr/zero,loss/plateau",
    "lr-zero,bad-schedule",
    shows=("lr",),
    onset=True,
)
def schedule_ends(run, v):
    run.onset = max(2, int(v * run.s.steps))
    run.schedule_shift = {run.onset: 0.0}


# --- loop -----------------------------------------------------------------------------------------------------------


@fault("no-zero-grad", (1,), BLOWUP, "gradients-not-zeroed", base=None)
def no_zero_grad(run, v):
    run.zero_grad = False


def accumulation_base(s, rng, v):
    s.accum, s.batch = int(v), max(2, s.batch // 4)
    s.steps = min(s.steps, max(60, 1200 // int(v)))


@fault(
    "accumulation-not-divided",
    (2, 4, 8, 16),
    "loss/divergence,loss/bad-start,grad/explosion,loss/oscillation,loss/plateau",
    "accumulation-not-scaled,lr-too-high",
    base=accumulation_base,
    needs=("supervised", "density", "diffusion", "vae", "contrastive"),
)
def accumulation(run, v):
    run.divide = False


@fault("sign-flipped", (1,), "loss/divergence,loss/non-finite,grad/explosion", "objective-mismatch", excludes=("gan",))
def sign_flipped(run, v):
    run.sign = -1.0


@fault("gradient-noise", (0.3, 3, 10, 30), FLAT + ",loss/oscillation", "hardware-corruption,batch-too-noisy")
def gradient_noise(run, v):
    run.grad_noise = v


@fault(
    "batch-too-large",
    (8, 32, 128),
    FLAT,
    "batch-too-large,lr-too-low",
    needs=("supervised", "diffusion", "density", "vae"),
)
def batch_large(run, v):
    s = run.s
    grown = min(s.rows, s.batch * int(v))
    s.steps = max(8, s.steps * s.batch // grown)  # the same number of epochs
    s.batch = grown
    s.log_every = max(1, min(s.log_every, s.steps // 8))
    s.eval_every = s.eval_every and max(1, s.steps // 6)
    s.warmup = min(s.warmup, s.steps // 8)


@fault(
    "batch-too-small",
    (4, 2, 1),
    "loss/oscillation,loss/plateau,loss/divergence,loss/not-decreasing",
    "batch-too-noisy,lr-too-high",
    needs=("classes", "float-target"),
    models=("mlp", "cnn"),
    excludes=("multi-task",),
)
def batch_small(run, v):
    if "bn" in run.s.model:
        v = max(2, v)
    run.s.lr *= 3
    run.s.batch = int(v)


# --- precision ------------------------------------------------------------------------------------------------------


def half_base(s, rng, v):
    s.precision = "fp16"
    s.steps = min(s.steps, 300)


DENSE = ("mlp", "cnn", "transformer")


@fault(
    "fp16-overflow",
    (30, 1e3, 3e4, 1e6),
    "numerics/loss-scale-collapse,loss/non-finite,grad/non-finite,loss/divergence,loss/not-decreasing,loss/plateau,numerics/overflow",
    "fp16-overflow",
    stage="task",
    needs=("float-input",),
    models=("mlp", "cnn"),
    excludes=("gan", "contrastive", "vae", "diffusion"),
    base=half_base,
    onset=True,
)
def fp16_overflow(run, v):
    """Activations beyond 65504 from a step on: a layer of the wrong scale before the head, undone after it."""

    def act(run, step):
        if step == run.onset:
            import torch

            with torch.no_grad():
                first = [p for p in run.task.model.parameters() if p.dim() > 1][0]
                first.mul_(v)

    run.step_hooks.append(act)


@fault(
    "half-weights",
    (1,),
    "loss/non-finite,grad/non-finite,loss/plateau,loss/not-decreasing,numerics/underflow",
    "low-precision,fp16-overflow,optimizer-settings",
    stage="task",
    models=("mlp", "transformer"),
    needs=("supervised",),
    excludes=("float-target", "fine-tune"),
)
def half_weights(run, v):
    """model.half(): Adam's epsilon is 0 in fp16."""
    import torch

    if "bn" in run.s.model:
        run.task.model.to(torch.bfloat16)
    else:
        run.task.model.half()
    run.s.precision = "half"
    kind = torch.bfloat16 if "bn" in run.s.model else torch.float16
    inner = run.task.model.forward
    run.task.model.forward = lambda x: inner(x.to(kind) if x.is_floating_point() else x).float()


@fault(
    "bf16-weights",
    (1, 10),
    FLAT,
    "low-precision,lr-too-low",
    stage="task",
    models=("mlp", "transformer"),
    needs=("supervised",),
    excludes=("fine-tune",),
)
def bf16_weights(run, v):
    """Weights in bf16 without a master copy: small updates round to nothing (a smaller rate makes it worse)."""
    import torch

    run.task.model.to(torch.bfloat16)
    run.s.lr /= v
    run.s.precision = "bf16"
    inner = run.task.model.forward
    run.task.model.forward = lambda x: inner(x.to(torch.bfloat16) if x.is_floating_point() else x).float()


# --- stop and resume ------------------------------------------------------------------------------------------------

ALL = {"model", "optimizer", "clock", "loader"}
RESUME = "loss/resume-jump,lr/schedule-break,loss/spike,resume/incomplete-checkpoint"
REAL = {"excludes": ("rl",), "onset": True}


@fault("resume-no-optimizer", (1,), "resume/optimizer-reset," + RESUME, "optimizer-not-saved", **REAL)
def resume_no_optimizer(run, v):
    run.resume = {"keep": ALL - {"optimizer"}}


@fault(
    "resume-schedule-restart",
    (1,),
    "resume/schedule-restart," + RESUME,
    "scheduler-not-saved,bad-schedule",
    base=scheduled_base,
    shows=("lr",),
    **REAL,
)
def resume_schedule(run, v):
    run.resume = {"keep": ALL - {"clock"}}


@fault(
    "resume-wrong-step",
    (1,),
    "resume/schedule-restart," + RESUME,
    "scheduler-not-saved,bad-schedule",
    base=scheduled_base,
    shows=("lr",),
    **REAL,
)
def resume_wrong_step(run, v):
    run.resume = {"keep": (ALL - {"clock"}) | {"clock-ahead"}}


@fault("resume-data-restart", (1,), "resume/data-restart,data/repeated," + RESUME, "sampler-not-saved", **REAL)
def resume_data(run, v):
    run.resume = {"keep": ALL - {"loader"}}


@fault("resume-no-weights", (1,), RESUME + ",loss/divergence", "head-not-loaded,bad-config", **REAL)
def resume_no_weights(run, v):
    """The checkpoint is found, its weights are not loaded: the model starts again under an optimizer that goes on."""
    import torch

    def act(run, step):
        if step == run.onset:
            torch.manual_seed(run.s.seed + 1)
            for module in run.task.model.modules():
                if hasattr(module, "reset_parameters"):
                    module.reset_parameters()

    run.resume = {"keep": {"clock", "loader"}}
    run.step_hooks.append(act)


# --- memory and time ------------------------------------------------------------------------------------------------


@fault(
    "memory-leak",
    (0.02, 0.2, 1.0, 3.0),
    "memory/leak,memory/growth",
    "memory-leak-host-ref,graph-retained",
    shows=("rss",),
    onset=True,
    judge="memory",
)
def memory_leak(run, v):
    run.keep_bytes = int(min(v, 600 / run.s.steps) * 2**20)
    run.onset = 1 if v < 3 else run.onset


@fault(
    "graph-retained",
    (1,),
    "memory/leak,memory/growth",
    "graph-retained,memory-leak-host-ref",
    shows=("rss",),
    judge="memory",
    excludes=("rl",),
)
def graph_retained(run, v):
    run.keep_graph = True


def short_base(s, rng, v):
    """Sleeping costs a worker its time."""
    if s.steps > 400:
        s.steps, s.by_epoch = 400, False
        s.warmup, s.log_every = min(s.warmup, 40), min(s.log_every, 10)
        s.eval_every = s.eval_every and 50


@fault(
    "slow-down",
    (1.2, 1.5, 2.5, 5),
    "throughput/regression",
    "framework-overhead,neighbour-load,input-pipeline",
    shows=("step_time",),
    onset=True,
    judge="time",
    base=short_base,
)
def slow_down(run, v):
    run.slow_factor = v


@fault(
    "data-stall",
    (1.3, 2, 4, 8),
    "throughput/data-starved,throughput/regression",
    "input-pipeline",
    shows=("step_time", "data_time"),
    onset=True,
    judge="time",
    base=short_base,
)
def data_stall(run, v):
    run.stall_factor = v


@fault(
    "step-outliers",
    (5, 20),
    "throughput/step-outliers",
    "input-pipeline",
    shows=("step_time",),
    judge="outliers",
    base=short_base,
)
def step_outliers(run, v):
    run.stall_factor, run.stall_every = v, max(5, run.s.steps // 25)
