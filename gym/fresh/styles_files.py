"""Logs that are files or need a library: JSON lines, Hydra, loguru, rich, notebooks, exports of trackers, sacred."""

import csv
import json
import logging
import math
import os
import sys

import clock
from styles import Style, stamp


def flat(now):
    """Numbers of a step under usual names."""
    row = {"train/loss": now["mean"], "train/lr": now["lr"], "train/grad_norm": now["norm"]}
    row |= {f"train/{k}": v for k, v in now["m"].items()}
    if now["rss"]:
        row["sys/rss_mb"] = now["rss"]
    return {k: v for k, v in row.items() if not (k.endswith("grad_norm") and math.isnan(v))}


class JsonLogging(Style):
    """The JSON formatter of `logging`."""

    def line(self, message, **row):
        head = {"asctime": stamp(), "levelname": "INFO", "name": "trainer", "message": message}
        self.say(json.dumps(head | row))

    def step(self, now):
        self.line("train", step=now["step"], epoch=now["epoch"], loss=now["mean"], lr=now["lr"], **now["m"])

    def epoch(self, now):
        self.line("eval", step=now["step"], epoch=now["epoch"], **{f"eval_{k}": v for k, v in now["v"].items()})

    def say(self, text):
        print(text if text.startswith("{") else json.dumps({"asctime": stamp(), "message": text}), flush=True)


class Hydra(Style):
    """Prefix of Hydra's logging, the config beside it."""

    def start(self):
        os.makedirs(".hydra", exist_ok=True)
        s = self.spec
        with open(".hydra/config.yaml", "w") as f:
            f.write(
                f"optim:\n  name: {s.optim}\n  lr: {s.lr:g}\n  weight_decay: {s.decay:g}\ndata:\n  batch_size: "
                f"{s.batch}\n  num_samples: {s.rows}\ntrainer:\n  max_steps: {self.total}\n  log_every: "
                f"{s.every}\nseed: {s.seed}\n"
            )

    def say(self, text):
        print(f"[{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]}][__main__][INFO] - {text}", flush=True)

    def step(self, now):
        more = "".join(f" {k}: {v:.4f}" for k, v in now["m"].items())
        self.say(f"step: {now['step']}/{self.total} loss: {now['mean']:.5f}{more} lr: {now['lr']:.2e}")

    def epoch(self, now):
        self.say(f"epoch {now['epoch'] + 1} val: " + " ".join(f"{k}: {v:.5f}" for k, v in now["v"].items()))


class Loguru(Style):
    def __init__(self, *args):
        super().__init__(*args)
        from loguru import logger

        logger.remove()
        logger.add(sys.stdout, format="{extra[at]} | {level: <8} | train:{function}:{line} - {message}")
        self.logger = logger.patch(lambda r: r["extra"].update(at=stamp("%Y-%m-%d %H:%M:%S.%f")[:-3]))

    def say(self, text):
        self.logger.info(text)

    def step(self, now):
        more = "".join(f" | {k} {v:.4f}" for k, v in now["m"].items())
        self.say(
            f"it {now['step']:>5} | loss {now['mean']:.4f}{more} | gnorm {now['norm']:.3g} | {1000 * now['dt']:.1f} ms"
        )

    def epoch(self, now):
        self.logger.success(f"ep {now['epoch']} done, dev " + ", ".join(f"{k}={v:.4f}" for k, v in now["v"].items()))


class Rich(Style):
    """A table at the end of each five epochs, by rich."""

    rows = ()

    def epoch(self, now):
        self.rows = (*self.rows, now)
        if len(self.rows) == 5 or now["step"] >= self.total:
            self.table()

    def table(self):
        from rich.console import Console
        from rich.table import Table

        table = Table(title=f"epochs {self.rows[0]['epoch'] + 1}-{self.rows[-1]['epoch'] + 1}")
        names = list(self.rows[0]["v"])
        for name in ("epoch", "train loss", *(f"val {n}" for n in names), "lr", "time"):
            table.add_column(name, justify="right")
        for r in self.rows:
            cells = [
                f"{r['train']:.4f}",
                *(f"{r['v'][n]:.4f}" for n in names),
                f"{r['lr']:.1e}",
                f"{r['elapsed']:.1f}s",
            ]
            table.add_row(str(r["epoch"] + 1), *cells)
        Console(width=100).print(table)
        self.rows = ()

    def say(self, text):
        if self.rows:
            self.table()
        print(text)


class Alive(Style):
    """A bar of alive-progress, as a terminal recorder keeps it."""

    def step(self, now):
        share = now["step"] / self.total
        bar = "█" * int(40 * share) + "▌" + " " * (40 - int(40 * share))
        rate = now["step"] / max(1e-6, now["elapsed"])
        print(
            f"\rloss={now['mean']:.4f} |{bar}| {now['step']}/{self.total} [{100 * share:.0f}%] in "
            f"{now['elapsed']:.1f}s "
            f"({rate:.1f}/s, eta: {(self.total - now['step']) / rate:.0f}s) ",
            end="",
        )

    def epoch(self, now):
        print(f"\non {now['step']}: val " + " ".join(f"{k}={v:.4f}" for k, v in now["v"].items()))


class Notebook(Style):
    """An .ipynb with the prints as outputs of its cells."""

    def start(self):
        self.text = []

    def say(self, text):
        self.text.append(text + "\n")

    def step(self, now):
        self.say(f"Step {now['step']:4d} | train loss {now['mean']:.4f}")

    def epoch(self, now):
        more = "".join(f", val {k} {v:.3f}" for k, v in now["v"].items() if k != "loss")
        self.say(f"Epoch {now['epoch'] + 1}: train loss {now['train']:.4f}, val loss {now['v']['loss']:.4f}{more}")
        self.write()

    def write(self):
        s = self.spec
        code = [
            f"opt = torch.optim.AdamW(model.parameters(), lr={s.lr:g})\n",
            f"train(model, opt, batch_size={s.batch})",
        ]
        output = {"name": "stdout", "output_type": "stream", "text": self.text}
        first = {"cell_type": "markdown", "metadata": {}, "source": ["# Experiment\n", "Training of the small model."]}
        cell = {"cell_type": "code", "execution_count": 7, "metadata": {}, "outputs": [output], "source": code}
        info = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        book = {"cells": [first, cell], "metadata": info, "nbformat": 4, "nbformat_minor": 5}
        with open("train.ipynb", "w") as f:
            json.dump(book, f, indent=1)


class Exports(Style):
    """One CSV for each metric, as a tracker's page exports them."""

    def add(self, name, step, value):
        path = f"export/{name.replace('/', '_')}.csv"
        os.makedirs("export", exist_ok=True)
        fresh = not os.path.exists(path)
        with open(path, "a") as f:
            if fresh:
                f.write("step,timestamp,value\n")
            f.write(f"{step},{int(1000 * clock.wall())},{value}\n")

    def step(self, now):
        for name, value in flat(now).items():
            self.add(name, now["step"], value)

    def epoch(self, now):
        for name, value in now["v"].items():
            self.add(f"valid/{name}", now["step"], value)


class WebTable(Style):
    """The table that a tracker's page gives for download: a column of steps, three for each metric."""

    def start(self):
        self.rows = []

    def step(self, now):
        self.rows.append({"Step": now["step"], **flat(now)})
        names = [n for n in self.rows[0] if n != "Step"]
        head = ["Step"] + [f"brisk-lake-17 - {n}{end}" for n in names for end in ("", "__MIN", "__MAX")]
        with open("wandb_export_2024-05-14T10_21_07.csv", "w", newline="") as f:
            out = csv.writer(f, quoting=csv.QUOTE_ALL)
            out.writerow(head)
            out.writerows([r["Step"]] + [r.get(n, "") for n in names for _ in range(3)] for r in self.rows)


class ClearMl(Style):
    """Scalars as an offline session of ClearML keeps them: lines of events."""

    def add(self, metric, variant, step, value):
        row = {"type": "training_stats_scalar", "task": "offline-3f0a", "timestamp": int(1000 * clock.wall())}
        row |= {"metric": metric, "variant": variant, "iter": step, "value": value}
        with open("metrics.jsonl", "a") as f:
            f.write(json.dumps(row) + "\n")

    def step(self, now):
        for name, value in flat(now).items():
            self.add(name.split("/")[1], "train", now["step"], value)

    def epoch(self, now):
        for name, value in now["v"].items():
            self.add(name, "validation", now["step"], value)


class History(Style):
    """A history of epochs dumped as JSON at the end of each epoch."""

    def start(self):
        self.kept = {}

    def epoch(self, now):
        row = {"loss": now["train"], **{f"val_{k}": v for k, v in now["v"].items()}, "lr": now["lr"]}
        for name, value in row.items():
            self.kept.setdefault(name, []).append(value)
        with open("history.json", "w") as f:
            json.dump(self.kept, f)


class Columns(Style):
    """Aligned columns under one header line."""

    def start(self):
        self.say("   iter       loss         lr      gnorm    ms/it   data_ms")

    def step(self, now):
        self.say(
            f"{now['step']:7d} {now['mean']:10.5f} {now['lr']:10.3e} {now['norm']:10.4f} {1000 * now['dt']:8.2f} "
            f"{1000 * now['data']:9.2f}"
        )


class Markdown(Style):
    """A report in Markdown that grows by a row each epoch."""

    def epoch(self, now):
        fresh = not os.path.exists("report.md")
        with open("report.md", "a") as f:
            if fresh:
                f.write("# Training report\n\n| epoch | train loss | val loss | lr |\n|---:|---:|---:|---:|\n")
            f.write(f"| {now['epoch'] + 1} | {now['train']:.4f} | {now['v']['loss']:.4f} | {now['lr']:.2e} |\n")


class TensorboardX(Style):
    def start(self):
        from tensorboardX import SummaryWriter

        logging.disable(logging.WARNING)
        self.writer = SummaryWriter("runs/exp1")

    def step(self, now):
        for name, value in flat(now).items():
            self.writer.add_scalar(name, value, now["step"], clock.wall())

    def epoch(self, now):
        for name, value in now["v"].items():
            self.writer.add_scalar(f"val/{name}", value, now["step"], clock.wall())
        self.writer.flush()

    def end(self):
        self.writer.close()


class Silent:
    """In place of the file in which sacred captures prints: there are none."""

    closed = True

    def get(self):
        return ""


class Sacred(Style):
    """The folder of sacred's FileStorageObserver, by sacred itself."""

    def start(self):
        from sacred import SETTINGS, Experiment
        from sacred.observers import FileStorageObserver

        SETTINGS["CAPTURE_MODE"] = "no"
        ex = Experiment("exp", save_git_info=False)
        ex.observers.append(FileStorageObserver("sacred_runs", copy_sources=False))
        ex.add_config({"lr": self.spec.lr, "batch_size": self.spec.batch, "seed": self.spec.seed})
        ex.main(lambda: 0)
        self.run = ex._create_run()
        self.run._output_file = Silent()
        self.run._emit_started()

    def step(self, now):
        for name, value in flat(now).items():
            self.run.log_scalar(name.replace("/", "."), value, now["step"])

    def epoch(self, now):
        for name, value in now["v"].items():
            self.run.log_scalar(f"val.{name}", value, now["step"])

    def end(self):
        self.run._stop_heartbeat()
        self.run._emit_heartbeat()
        self.run.stop_time = clock.now()
        self.run._emit_completed(0)
