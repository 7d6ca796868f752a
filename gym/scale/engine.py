"""The training loop. One run: settings and at most one fault in, logged series and the true score out."""

import contextlib
import copy
import math
import re
import statistics
import time
import traceback

import torch
from models import Lion
from settings import Settings, factor
from tasks import TASKS

CORE_LIMIT, WALL_LIMIT = 20.0, 60.0  # seconds; a run that takes longer is dropped


class TooSlow(Exception):
    pass


def resident_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def short(value):
    """Five significant digits; non-finite values as words."""
    if value is None or math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(f"{value:.5g}")


def clean_traceback(text):
    """Paths and names as in a user's project: nothing in it names the fault."""
    text = re.sub(r'File "[^"]*/site-packages/', 'File "@packages/', text)
    text = re.sub(r'File "[^"]*/gym/scale/(engine|faults\w*)\.py"', 'File "/home/user/project/train.py"', text)
    text = re.sub(r'File "[^"]*/gym/scale/\w+\.py"', 'File "/home/user/project/model.py"', text)
    text = re.sub(r'File "[^"]*/lib/python3\.\d+/', 'File "/usr/lib/python3.11/', text)
    text = text.replace("@packages", "/opt/venv/lib/python3.11/site-packages")
    text = re.sub(r'(project/train\.py", line \d+, in )\S+', r"\1main", text)
    text = text.replace("raise KeyboardInterrupt", "loss.backward()")
    text = re.sub(r"self\.fault\.apply\(.*|hook\(self, step\)", "train(args)", text)
    return text.replace("run.task.", "").replace("self.task.", "")


def make_optimizer(s, groups):
    params = [{"params": list(p), "lr": s.lr * ratio} for p, ratio in groups]
    decay, betas = s.weight_decay, (s.beta1, s.beta2)
    if s.optimizer == "sgd":
        return torch.optim.SGD(params, s.lr, weight_decay=decay)
    if s.optimizer == "momentum":
        return torch.optim.SGD(params, s.lr, momentum=s.momentum, weight_decay=decay)
    if s.optimizer == "rmsprop":
        return torch.optim.RMSprop(params, s.lr, eps=s.eps, weight_decay=decay)
    if s.optimizer == "adagrad":
        return torch.optim.Adagrad(params, s.lr, weight_decay=decay)
    if s.optimizer == "lion":
        return Lion(params, s.lr, weight_decay=decay)
    kind = torch.optim.Adam if s.optimizer == "adam" else torch.optim.AdamW
    return kind(params, s.lr, betas, s.eps, weight_decay=decay)


class Log:
    """What was printed: points by name, means of an interval or the last value."""

    def __init__(self, mean):
        self.series, self.sums, self.mean = {}, {}, mean

    def collect(self, name, value):
        total, count = self.sums.get(name, (0.0, 0))
        self.sums[name] = (total + value, count + 1) if self.mean else (value, 1)

    def flush(self, step):
        for name, (total, count) in self.sums.items():
            self.put(name, step, total / count)
        self.sums = {}

    def put(self, name, step, value):
        steps, values = self.series.setdefault(name, ([], []))
        steps.append(step)
        values.append(short(value))

    def packed(self):
        """Regular steps as first and interval."""
        out = {}
        for name, (steps, values) in self.series.items():
            gaps = {b - a for a, b in zip(steps, steps[1:], strict=False)}
            if len(gaps) == 1 and min(gaps) > 0:
                out[name] = {"first": steps[0], "every": gaps.pop(), "values": values}
            else:
                out[name] = {"steps": steps, "values": values}
        return out


class Run:
    """Settings, flags that faults set, and hooks that they hang in."""

    def __init__(self, settings: Settings, logs, fault=None, strength=None, onset=0):
        self.s = copy.deepcopy(settings)
        self.logs, self.fault, self.strength, self.onset = logs, fault, strength, onset
        self.zero_grad, self.divide, self.sign = True, True, 1.0
        self.schedule_rate, self.schedule_shift = 1.0, {}
        self.shuffle, self.train_mode = True, True
        self.grad_noise, self.keep_bytes, self.keep_graph = 0.0, 0, False
        self.slow_factor, self.stall_factor, self.stall_every = 1.0, 1.0, 0
        self.train_parameters = None  # what the optimizer gets, when not the model's
        self.resume = None  # dict: what is restored
        self.batch_hooks, self.step_hooks = [], []
        self.events, self.kept, self.times = [], [], []
        self.nan_streak, self.crashed = 0, False
        self.fault_rng = torch.Generator().manual_seed(settings.seed + 99)

    # set-up ---------------------------------------------------------------------------------------------------------
    def build(self):
        if self.fault is not None and self.fault.stage == "settings":
            self.fault.apply(self, self.strength)
        self.task = TASKS[self.s.task](self.s)
        if self.fault is not None and self.fault.stage == "task":
            self.fault.apply(self, self.strength)
        self.task.start(self.shuffle)
        self.parameters = self.task.parameters()
        self.make_optimizer()
        half = self.s.precision == "fp16"
        self.scaler = torch.amp.GradScaler("cpu", enabled=half, init_scale=2.0**14, growth_interval=50)
        kind = {"fp16": torch.float16, "fp16-noscale": torch.float16, "bf16": torch.bfloat16}.get(self.s.precision)
        self.cast = (lambda: torch.autocast("cpu", dtype=kind)) if kind else contextlib.nullcontext
        self.log = Log(self.s.log_mean)

    def make_optimizer(self):
        groups = self.task.groups()
        if self.train_parameters is not None:
            groups = [(self.train_parameters, 1.0)]
        self.optimizer = make_optimizer(self.s, groups)
        self.peaks = [g["lr"] for g in self.optimizer.param_groups]
        self.clock = 0.0

    def event(self, step, text):
        self.events.append({"step": step, "text": text})

    # one step -------------------------------------------------------------------------------------------------------
    def set_rate(self, step):
        share = factor(self.s, self.clock)
        for at, times in self.schedule_shift.items():
            share = share * times if step >= at else share
        for group, peak in zip(self.optimizer.param_groups, self.peaks, strict=True):
            group["lr"] = max(0.0, peak * share)

    def micro_batch(self, step):
        began = time.perf_counter()
        batch = self.task.next_batch()
        for hook in self.batch_hooks:
            batch = hook(batch, step)
        if self.times and step >= self.onset and self.stall_factor > 1:
            if not self.stall_every or step % self.stall_every == 0:
                time.sleep(min(0.05, (self.stall_factor - 1) * statistics.median(self.times[:50])))
        self.data_time += time.perf_counter() - began
        return batch

    def backward(self, batch):
        with self.cast():
            loss, metrics = self.task.loss(batch)
        share = self.s.accum if self.divide else 1
        self.scaler.scale(self.sign * loss / share).backward()
        if self.keep_graph:
            self.kept.append(self.task.loss(batch)[0])  # the loss, not loss.item(): its graph stays alive
        return loss.item() / share, metrics

    def add_noise(self):
        for p in self.parameters:
            if p.grad is not None:
                scale = self.grad_noise * p.grad.norm() / math.sqrt(p.numel())
                p.grad += scale * torch.randn(p.shape, generator=self.fault_rng)

    def norm(self):
        if not self.s.clip and "grad_norm" not in self.logs:
            return None
        if self.scaler.is_enabled():
            self.scaler.unscale_(self.optimizer)
        return float(torch.nn.utils.clip_grad_norm_(self.parameters, self.s.clip or math.inf))

    def step(self, step):
        began, self.data_time = time.perf_counter(), 0.0
        for hook in self.step_hooks:
            hook(self, step)
        self.set_rate(step)
        if self.zero_grad:
            self.optimizer.zero_grad()
            for p in self.parameters:
                p.grad = None
        total = 0.0
        for _ in range(self.s.accum):
            loss, metrics = self.backward(self.micro_batch(step))
            total += loss
        if self.grad_noise:
            self.add_noise()
        norm = self.norm()
        rate = self.optimizer.param_groups[0]["lr"]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.task.after_step(step)
        self.clock += self.schedule_rate
        if self.keep_bytes and step >= self.onset:
            self.kept.append(torch.ones(self.keep_bytes, dtype=torch.uint8))
        if self.slow_factor > 1 and step >= self.onset and self.times:
            time.sleep(min(0.05, (self.slow_factor - 1) * statistics.median(self.times[:50])))
        seconds = time.perf_counter() - began
        self.times.append(seconds)
        self.nan_streak = 0 if math.isfinite(total) else self.nan_streak + 1
        self.record(step, total, metrics, norm, rate, seconds)

    def record(self, step, loss, metrics, norm, rate, seconds):
        log = self.log
        if "loss" in self.logs:
            log.collect("loss", loss)
        if "metrics" in self.logs:
            for name, value in metrics.items():
                log.collect(name, value)
        if step % self.s.log_every == 0 or step == self.s.steps:
            log.flush(step)
            if "lr" in self.logs:
                log.put("lr", step, rate)
            if "grad_norm" in self.logs:
                log.put("grad_norm", step, norm)
            if "step_time" in self.logs:
                log.put("step_time", step, statistics.fmean(self.times[-self.s.log_every :]))
            if "data_time" in self.logs:
                log.put("data_time", step, self.data_time)
            if "rss" in self.logs:
                log.put("rss_mb", step, resident_mb())
            if self.scaler.is_enabled():
                log.put("loss_scale", step, self.scaler.get_scale())
        if self.s.eval_every and step % self.s.eval_every == 0:
            for name, value in self.task.evaluate().items():
                log.put(name, step, value)

    # stop and resume ------------------------------------------------------------------------------------------------
    def snapshot(self, step):
        self.saved = {
            "step": step,
            "model": copy.deepcopy(self.task.model.state_dict()),
            "optimizer": copy.deepcopy(self.optimizer.state_dict()),
            "clock": self.clock,
            "loader": copy.deepcopy(getattr(self.task, "loader", None)),
            "torch": torch.get_rng_state(),
        }

    def restore(self):
        saved, keep = self.saved, self.resume["keep"]
        if "model" in keep:
            self.task.model.load_state_dict(saved["model"])
        self.make_optimizer()
        if "optimizer" in keep:
            self.optimizer.load_state_dict(saved["optimizer"])
        if "clock" in keep:
            self.clock = saved["clock"]
        elif "clock-ahead" in keep:
            self.clock = saved["clock"] * 2
        if "loader" in keep:
            if saved["loader"] is not None:
                self.task.loader = saved["loader"]
            torch.set_rng_state(saved["torch"])
        else:
            self.task.start(self.shuffle)
        if self.resume.get("notice", True):
            self.event(saved["step"], f"Resuming from checkpoint ckpt/step_{saved['step']}.pt (step {saved['step']})")
        return saved["step"]

    # the whole ------------------------------------------------------------------------------------------------------
    def train(self):
        began, core, step, self.progress, resumed = time.perf_counter(), time.process_time(), 0, [], False
        marks = {max(1, round(self.s.steps * k / 5)) for k in range(1, 6)}
        self.task.model.train(self.train_mode)
        while step < self.s.steps:
            step += 1
            self.step(step)
            if not self.train_mode:
                self.task.model.eval()
            if step in marks and not (resumed and step <= self.onset):
                self.progress.append(self.task.progress())
                self.task.model.train(self.train_mode)
            if self.resume and not resumed:
                if step == max(1, self.onset - self.resume.get("rewind", 0)):
                    self.snapshot(step)
                if step == self.onset:
                    step, resumed = self.restore(), True
            if self.nan_streak > 150 and self.nan_streak > 0.3 * self.s.steps:
                self.event(step, "KeyboardInterrupt" if self.s.seed % 2 else "Killed by user")
                break
            if time.perf_counter() - began > WALL_LIMIT or time.process_time() - core > CORE_LIMIT:
                raise TooSlow
        self.last_step = step

    def execute(self):
        """Builds and trains; a crash of the training is part of the record, with its traceback."""
        self.progress, self.last_step, self.log = [], 0, Log(True)
        try:
            self.build()
            self.train()
        except TooSlow:
            raise
        except (Exception, KeyboardInterrupt):
            self.crashed = True
            self.last_step = len(self.times)
            self.event(self.last_step + 1, clean_traceback(traceback.format_exc()))
        finally:
            self.kept = []
        return self

    # what is kept ---------------------------------------------------------------------------------------------------
    def settings(self):
        s = self.s
        out = {
            "task": TASKS[s.task].words,
            "model": s.model,
            "optimizer": {"momentum": "sgd"}.get(s.optimizer, s.optimizer),
            "lr": s.lr,
            "lr_schedule": s.schedule,
            "warmup_steps": s.warmup,
            "max_steps": s.steps,
            "epochs": round(s.steps / s.steps_per_epoch(), 3),
            "steps_per_epoch": s.steps_per_epoch(),
            "batch_size": s.batch,
            "gradient_accumulation_steps": s.accum,
            "max_grad_norm": s.clip,
            "weight_decay": s.weight_decay,
            "precision": {"fp16-noscale": "fp16", "half": "fp16"}.get(s.precision, s.precision),
            "dropout": s.dropout,
            "seed": s.seed,
            "train_samples": s.rows,
            "logging_steps": s.log_every,
            "eval_steps": s.eval_every,
        }
        if s.optimizer == "momentum":
            out["momentum"] = s.momentum
        if s.optimizer.startswith("adam"):
            out["betas"], out["eps"] = [s.beta1, s.beta2], s.eps
        if s.label_smoothing:
            out["label_smoothing"] = s.label_smoothing
        if s.temperature != 1 and s.task != "contrastive":
            out["temperature"] = s.temperature
        if hasattr(self, "task"):
            out.update(self.task.config())
            out["parameters"] = sum(p.numel() for p in self.task.parameters())
        return out
