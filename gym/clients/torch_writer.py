"""Event files by torch's SummaryWriter: numbers of every type, histograms, text, settings, points without steps.

usage: torch_writer.py FOLDER        the C++ test knows the values
"""

import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

BEGIN = 1_760_000_000
STEPS = 12
TYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


def loss_at(step):
    return 3.0 / (1 + 0.25 * step)


def write_run(folder):
    writer = SummaryWriter(str(folder))
    for step in range(1, STEPS + 1):
        when = BEGIN + step
        writer.add_scalar("train/loss", loss_at(step), step, walltime=when)
        writer.add_scalar("train/lr", 3e-4, step, walltime=when, new_style=True)
        writer.add_scalar("train/precise", loss_at(step), step, walltime=when, new_style=True, double_precision=True)
        writer.add_scalar("train/grad_norm", math.nan if step == 9 else 0.5, step, walltime=when)
        for name in TYPES:
            writer.add_scalar(f"type/{name}", torch.tensor(step % 2, dtype=getattr(torch, name)), step, walltime=when)
    for step in (1, STEPS):
        writer.add_histogram("layer0/weight", np.linspace(-step, step, 201), step, bins=40, walltime=BEGIN + step)
    writer.add_text("args", '{"learning_rate": 0.0003, "max_steps": 12}', 0, walltime=BEGIN)
    writer.add_text(
        "failure", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", STEPS, walltime=BEGIN + STEPS
    )
    writer.add_scalars("both", {"train": 1.0, "held_out": 2.0}, 1, walltime=BEGIN)
    writer.add_hparams(
        {"weight_decay": 0.1, "optimizer": "adamw", "bf16": True}, {"final_loss": loss_at(STEPS)}, run_name="hparams"
    )
    writer.close()


def write_without_steps(folder):
    writer = SummaryWriter(str(folder))
    for step in range(1, STEPS + 1):
        writer.add_scalar("loss", loss_at(step), walltime=BEGIN + step)
    writer.close()


def take_names_out(folder):
    for path in folder.rglob("events.out.tfevents.*"):
        path.rename(path.with_name(f"events.out.tfevents.{BEGIN}.gym.{path.name.rsplit('.', 1)[1]}"))


def main():
    folder = Path(sys.argv[1]).resolve()
    write_run(folder / "run")
    write_without_steps(folder / "no-steps")
    take_names_out(folder)


if __name__ == "__main__":
    main()
