"""Loops written by hand that print as well-known training scripts do: `log` chooses which."""

import csv
import datetime
import json
import math
import os
import time

import parts
import spec as settings
import tasks
import torch


class Meter:
    """Value and mean, as the ImageNet example keeps them."""

    def __init__(self):
        self.val = self.sum = self.count = 0.0

    def update(self, value, n=1):
        self.val, self.sum, self.count = value, self.sum + value * n, self.count + n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


class Style:
    """What is printed: `step` every `every` steps, `epoch` after the evaluation of an epoch."""

    def __init__(self, spec, per_epoch):
        self.spec, self.per_epoch = spec, per_epoch
        self.meters = {key: Meter() for key in ("loss", "acc", "time", "data")}

    def new_epoch(self):
        for key in self.meters:
            self.meters[key] = Meter()

    def step(self, now):
        pass

    def epoch(self, now):
        pass


class Imagenet(Style):
    def step(self, now):
        m, at = self.meters, now["at"]
        print(
            f"Epoch: [{now['epoch']}][{at:3d}/{self.per_epoch:3d}]\tTime {m['time'].val:6.3f} "
            f"({m['time'].avg:6.3f})\tData {m['data'].val:6.3f} ({m['data'].avg:6.3f})"
            f"\tLoss {m['loss'].val:.4e} ({m['loss'].avg:.4e})\tAcc@1 {100 * m['acc'].val:6.2f} "
            f"({100 * m['acc'].avg:6.2f})"
        )

    def epoch(self, now):
        print(f" *   Acc@1 {100 * now['val_acc']:.3f} Loss {now['val_loss']:.4f}")


class Mnist(Style):
    def step(self, now):
        done, rows = now["at"] * self.spec.batch, self.per_epoch * self.spec.batch
        print(
            f"Train Epoch: {now['epoch'] + 1} [{done}/{rows} ({100.0 * done / rows:.0f}%)]\tLoss: "
            f"{self.meters['loss'].val:.6f}"
        )

    def epoch(self, now):
        right = round(now["val_acc"] * tasks.HELD_OUT)
        print(
            f"\nTest set: Average loss: {now['val_loss']:.4f}, Accuracy: {right}/{tasks.HELD_OUT} "
            f"({100 * now['val_acc']:.0f}%)\n"
        )


class Timm(Style):
    def step(self, now):
        m, at, rate = self.meters, now["at"], self.spec.batch
        print(
            f"Train: {now['epoch']} [{at:>4d}/{self.per_epoch} ({100.0 * at / (self.per_epoch - 1):>3.0f}%)]  Loss: "
            f"{m['loss'].val:#.3g} ({m['loss'].avg:#.3g})  "
            f"Time: {m['time'].val:.3f}s, {rate / max(1e-9, m['time'].val):>7.2f}/s  ({m['time'].avg:.3f}s, "
            f"{rate / max(1e-9, m['time'].avg):>7.2f}/s)  "
            f"LR: {now['lr']:.3e}  Data: {m['data'].val:.3f} ({m['data'].avg:.3f})"
        )

    def epoch(self, now):
        top1 = 100 * now["val_acc"]
        print(
            f"Test: [   2/2]  Time: 0.012 (0.020)  Loss:  {now['val_loss']:>6.3f} ({now['val_loss']:>6.3f})  Acc@1: "
            f"{top1:>7.3f} ({top1:>7.3f})"
        )
        print("Current checkpoints:\n" + f" ('./output/train/table/checkpoint-{now['epoch']}.pth.tar', {top1})\n")
        os.makedirs("output/train/table", exist_ok=True)
        row = {
            "epoch": now["epoch"],
            "train_loss": self.meters["loss"].avg,
            "eval_loss": now["val_loss"],
            "eval_top1": top1,
            "lr": now["lr"],
        }
        first = not os.path.exists("output/train/table/summary.csv")
        with open("output/train/table/summary.csv", "a") as f:
            writer = csv.DictWriter(f, row)
            if first:
                writer.writeheader()
            writer.writerow(row)


class Detectron(Style):
    def step(self, now):
        m, stamp = self.meters, datetime.datetime.now().strftime("%m/%d %H:%M:%S")
        eta = datetime.timedelta(seconds=int(m["time"].avg * (now["total"] - now["step"])))
        print(
            f"[{stamp} d2.utils.events]:  eta: {eta}  iter: {now['step'] - 1}  total_loss: {m['loss'].val:.4g}  "
            f"loss_cls: {m['loss'].val:.4g}    "
            f"time: {m['time'].avg:.4f}  last_time: {m['time'].val:.4f}  data_time: {m['data'].avg:.4f}  "
            f"last_data_time: {m['data'].val:.4f}   lr: {now['lr']:.5g}  "
        )
        row = {
            "data_time": m["data"].val,
            "eta_seconds": m["time"].avg * (now["total"] - now["step"]),
            "iteration": now["step"] - 1,
            "lr": now["lr"],
            "loss_cls": m["loss"].val,
            "time": m["time"].val,
            "total_loss": m["loss"].val,
        }
        with open("metrics.json", "a") as f:
            f.write(json.dumps(row, sort_keys=True) + "\n")

    def epoch(self, now):
        stamp = datetime.datetime.now().strftime("%m/%d %H:%M:%S")
        print(
            f"[{stamp} d2.evaluation.testing]: copypaste: Task: classification\n[{stamp} d2.evaluation.testing]: "
            f"copypaste: acc,loss\n[{stamp} d2.evaluation.testing]: copypaste: "
            f"{100 * now['val_acc']:.4f},{now['val_loss']:.4f}"
        )


class Tutorial(Style):
    """The loop of a tutorial: a running loss every few batches, an epoch line."""

    def step(self, now):
        print(f"[{now['epoch'] + 1}, {now['at']:5d}] loss: {self.meters['loss'].val:.3f}")

    def epoch(self, now):
        extra = "" if math.isnan(now["val_acc"]) else f" | val acc: {now['val_acc']:.2%}"
        print(
            f"Epoch {now['epoch'] + 1}/{self.spec.epochs} | train loss: {self.meters['loss'].avg:.4f} | val loss: "
            f"{now['val_loss']:.4f}{extra} | {now['took']:.1f}s"
        )


STYLES = {"imagenet": Imagenet, "mnist": Mnist, "timm": Timm, "detectron": Detectron, "tutorial": Tutorial}


def feed_of(spec, data, train):
    """Batches with the seconds that each took to come."""
    step, it = 0, iter(train)
    while True:
        began = time.perf_counter()
        try:
            batch = next(it)
        except StopIteration:
            return
        if spec.has("data-starved") and step >= spec.onset:
            time.sleep(spec.of(0.02))
        step += 1
        yield batch, time.perf_counter() - began


def save(path, step, model, optimizer, scheduler):
    torch.save(
        {
            "step": step,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
        path,
    )


def main():
    spec = settings.parse(lr=1e-3, epochs=8, every=10, log="imagenet")
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    train, _ = parts.loaders(spec, data)
    model, loss_fn = parts.Net(spec, data), parts.loss_of(spec, data)
    optimizer = parts.optimizer_of(spec, parts.trainable(spec, model))
    total = spec.epochs * len(train)
    scheduler = parts.scheduler_of(spec, optimizer, total)
    style, step, first = STYLES[spec.log](spec, len(train)), 0, 0
    if spec.resume:
        kept = torch.load("last.pth")
        model.load_state_dict(kept["model"])
        if spec.resume == "full":
            optimizer.load_state_dict(kept["optimizer"])
            scheduler.load_state_dict(kept["scheduler"])
        step, first = kept["step"], kept["step"] // len(train)
        print(f"=> loaded checkpoint 'last.pth' (epoch {first})")
    for epoch in range(first, spec.epochs):
        began = time.perf_counter()
        style.new_epoch()
        for at, ((x, y), waited) in enumerate(feed_of(spec, data, train)):
            start = time.perf_counter()
            settings.before_step(spec, step)
            out = model(x)
            loss = loss_fn(out, y)
            if not spec.has("no-zero-grad"):
                optimizer.zero_grad()
            loss.backward()
            if spec.clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), spec.clip)
            optimizer.step()
            scheduler.step()
            step += 1
            right = (out.argmax(-1) == y).float().mean().item() if data.classes else math.nan
            for key, value in (
                ("loss", loss.item()),
                ("acc", right),
                ("data", waited),
                ("time", time.perf_counter() - start + waited),
            ):
                style.meters[key].update(value)
            if at % spec.every == 0:
                record.train(step, loss.item())
                style.step({"epoch": epoch, "at": at, "step": step, "total": total, "lr": scheduler.get_last_lr()[0]})
        held, right = parts.measure(model, spec, data)
        record.eval(step, held)
        style.epoch(
            {
                "epoch": epoch,
                "val_loss": held,
                "val_acc": right,
                "lr": scheduler.get_last_lr()[0],
                "took": time.perf_counter() - began,
            }
        )
        if spec.stop and epoch + 1 == spec.stop and not spec.resume:
            save("last.pth", step, model, optimizer, scheduler)
            return
    parts.finish(record, model, spec, data)


if __name__ == "__main__":
    main()
