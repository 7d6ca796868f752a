"""Hand-written training loops: `task` chooses what is learned, `log` how it is printed, `fault` what is wrong."""

import faulthandler
import math
import os
import signal

import clock
import firstset  # noqa: F401
import numpy as np
import spec as settings
import styles
import styles_files
import tasks_made
import tasks_plain
import torch

TASKS = {
    "motif": tasks_plain.Motif,
    "discs": tasks_plain.Discs,
    "series": tasks_plain.Series,
    "clicks": tasks_plain.Clicks,
    "ratings": tasks_plain.Ratings,
    "speech": tasks_plain.Speech,
    "vae": tasks_made.Vae,
    "gan": tasks_made.Gan,
    "diffusion": tasks_made.Diffusion,
    "views": tasks_made.Views,
    "triplets": tasks_made.Triplets,
    "translate": tasks_made.Translate,
    "text": tasks_made.Text,
}


def optimizer_of(spec, task):
    params = [p for p in task.model.parameters() if p.requires_grad]
    if spec.has("wrong-params"):
        params = list(TASKS[spec.task](spec).model.parameters())
    if spec.has("head-only"):
        params = list(task.head().parameters())
    if spec.optim == "sgd":
        return torch.optim.SGD(params, spec.lr, momentum=spec.of(0.9) if spec.has("momentum") else 0.9)
    if spec.optim == "plain-sgd":
        return torch.optim.SGD(params, spec.lr)
    if spec.optim == "adagrad":
        return torch.optim.Adagrad(params, spec.lr)
    return torch.optim.AdamW(params, spec.lr, weight_decay=spec.decay)


def factor(spec, step, total, per_epoch):
    """Multiplier of the rate, with the faults of the schedule."""
    if spec.has("bad-schedule") and step >= spec.onset:
        return spec.of(30)
    if spec.has("scheduler-per-batch"):  # a schedule meant for epochs, counted in batches
        return 0.5 ** (step // 4)
    return settings.rate_factor(spec.schedule, step, total)


def save_checkpoint(state, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        torch.save(state, f)


class Half:
    """Mixed precision with a loss scale, as on a GPU."""

    def __init__(self, spec):
        self.on = spec.wants("fp16")
        self.scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
        self.scaler.set_growth_interval(50)

    def backward(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


class Loop:
    def __init__(self, spec):
        np.random.seed(spec.seed)
        torch.manual_seed(spec.seed)
        torch.set_num_threads(1)
        self.spec, self.record = spec, settings.Record()
        self.task = TASKS[spec.task](spec)
        self.per = self.task.per_epoch
        self.total = spec.steps or spec.epochs * self.per
        self.optimizer = optimizer_of(spec, self.task)
        self.half = Half(spec)
        self.skipped = 0  # steps that the schedule does not know of
        self.began = clock.seconds()
        kind = getattr(styles, spec.log, None) or getattr(styles_files, spec.log)
        self.style = kind(spec, self.per, self.total)
        self.losses, self.kept = [], []

    def rate(self, step):
        rate = self.spec.lr * factor(self.spec, step - self.skipped, self.total, self.per)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def update(self, batch):
        """One step of the optimizer."""
        spec, task = self.spec, self.task
        if hasattr(task, "update"):
            return *task.update(batch), math.nan
        half = self.half.on
        with torch.autocast("cpu", torch.float16, enabled=half):
            loss, measures = task.loss(batch)
        if not spec.has("no-zero-grad"):
            self.optimizer.zero_grad()
        if self.half.on:
            self.half.backward(loss, self.optimizer)
            measures["scale"] = self.half.scaler.get_scale()
        else:
            loss.backward()
        limit = spec.of(1e-4) if spec.has("clip-tiny") else spec.clip
        norm = torch.nn.utils.clip_grad_norm_(task.model.parameters(), limit or math.inf).item()
        if self.half.on:
            self.half.step(self.optimizer)
        else:
            self.optimizer.step()
        if spec.has("memory-leak"):
            self.kept.append(torch.cat([loss.view(1), torch.randn(int(spec.of(60_000)))]))
        return loss.item(), measures, norm

    def load(self, step):
        """The batch of a step, and the seconds it took to come."""
        spec, began = self.spec, clock.seconds()
        if step >= spec.onset and spec.fault in ("slow-loader", "slow-down"):
            clock.sleep(spec.of(0.02))
        batch = self.task.batch(step)
        return batch, clock.seconds() - began if not spec.has("slow-down") else 2e-4

    def process(self, step):
        """Faults that end the process."""
        if step != self.spec.onset:
            return
        if self.spec.has("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.spec.has("hang"):
            faulthandler.dump_traceback_later(6, exit=True)
            os.read(os.pipe()[0], 1)

    def step(self, at):
        spec, start = self.spec, clock.seconds()
        if spec.fault in ("killed", "hang"):
            self.process(at)
        rate = self.rate(at)
        batch, waited = self.load(at)
        loss, measures, norm = self.update(batch)
        self.losses.append(loss)
        now = {
            "step": at + 1,
            "epoch": at // self.per,
            "at": at % self.per,
            "loss": loss,
            "mean": sum(self.losses[-spec.every :]) / len(self.losses[-spec.every :]),
            "m": measures,
            "lr": rate,
            "norm": norm,
            "dt": clock.seconds() - start,
            "data": waited,
            "rss": settings.rss_mb() if spec.wants("rss") else 0.0,
            "elapsed": max(1e-3, clock.seconds() - self.began),
        }
        if (at + 1) % spec.every == 0:
            self.record.train(at + 1, now["mean"])
            self.style.step(now)
        if (at + 1) % self.per == 0:
            self.epoch(now)

    def epoch(self, now):
        v = self.task.evaluate(self.task.val)
        if not self.spec.wants("no-eval"):
            self.record.eval(now["step"], v["loss"])
        part = self.losses[-self.per :]
        self.style.epoch({**now, "train": sum(part) / len(part), "v": v})
        if self.spec.has("crash-disk") and now["step"] >= self.spec.onset:
            if os.path.exists("checkpoints/last.pt"):
                os.remove("checkpoints/last.pt")
            os.symlink("/dev/full", "checkpoints/last.pt")
        if self.spec.wants("checkpoint"):
            save_checkpoint({"model": self.task.model.state_dict()}, "checkpoints/last.pt")
        if self.spec.has("crash-memory") and now["step"] >= self.spec.onset:
            self.style.say("building the neighbour graph of the whole catalogue")
            bank = self.task.model.embed.weight.repeat(16000, 1)
            torch.cdist(bank, bank).topk(10)

    def resume(self):
        kept = torch.load("last.pth", weights_only=False)
        if self.spec.resume != "nothing":
            self.task.model.load_state_dict(kept["model"])
        if self.spec.resume == "full":
            self.optimizer.load_state_dict(kept["optimizer"])
        if self.spec.resume == "weights":
            self.skipped = kept["step"]
        self.style.say(f"Resuming from last.pth (step {kept['step']})")
        os.remove("last.pth")
        return kept["step"]

    def run(self):
        spec, first = self.spec, 0
        self.style.start()
        if spec.resume:
            first = self.resume()
        for at in range(first, min(self.total, spec.stop or self.total)):
            self.step(at)
        if spec.stop:
            states = {"model": self.task.model.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save({"step": spec.stop, **states}, "last.pth")
            return
        self.style.end()
        self.task.model.eval()
        self.task.finish(self.record)


def main():
    spec = settings.parse(lr=2e-3, epochs=8, every=10, task="motif", log="Fairseq", rows=1600)
    loop = Loop(spec)
    if spec.has("train-in-eval-mode"):
        loop.task.model.eval()
        loop.task.model.train = lambda mode=True: loop.task.model
    loop.run()


if __name__ == "__main__":
    main()
