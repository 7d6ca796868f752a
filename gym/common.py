"""Command line and small helpers that the gym's trainers share."""

import argparse
import math
import os
import random
import signal
import sys
import threading

import numpy as np
import torch

import faults


def parse(trainer, **defaults):
    """Arguments of one run. `--list` names the faults and ends."""
    if "--list" in sys.argv:
        faults.print_list("--json" in sys.argv)
        sys.exit(0)
    p = argparse.ArgumentParser(description=f"gym trainer: {trainer}")
    p.add_argument("--fault", default="healthy", choices=["healthy", *faults.BY_NAME])
    p.add_argument("--strength", type=float, help="how strong the fault is, in its own unit")
    p.add_argument("--onset", type=int, default=60, help="step at which the fault begins, for faults that begin")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--steps", type=int, default=150)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--schedule", default="cosine", choices=["cosine", "linear", "constant"])
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--optim", default="adamw", choices=["adamw", "sgd"])
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--accum", type=int, default=1)
    p.add_argument("--length", type=int, default=32)
    p.add_argument("--rows", type=int, default=2048, help="training samples")
    p.add_argument("--language", default="markov", choices=["markov", "arithmetic"])
    p.add_argument("--model", default="gpt2", choices=["gpt2", "llama", "plain", "post-norm"])
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--logging-steps", type=int, default=1)
    p.add_argument("--eval-steps", type=int, default=0)
    p.add_argument("--save-steps", type=int, default=0, help="0: only at the end")
    p.add_argument("--stop-at", type=int, default=0, help="killed after the checkpoint of this step")
    p.add_argument("--resume", default="", help="checkpoint to go on from")
    p.add_argument("--warm-start", type=int, default=0, help="steps of training before the run that is logged")
    p.add_argument("--tensorboard", action="store_true")
    p.add_argument("--heavy", type=float, default=0.0, help="sample weights with a Pareto tail of this index")
    for name, value in defaults.items():
        if isinstance(value, bool):
            p.add_argument("--" + name, action="store_true")
        else:
            p.add_argument("--" + name, type=type(value), default=value)
    args = p.parse_args()
    if args.fault != "healthy" and trainer not in faults.BY_NAME[args.fault].trainers:
        p.error(f"{args.fault} is not made with {trainer}; see --list")
    return args


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    return np.random.default_rng(seed)


def interrupt_soon():
    """Sends what Ctrl-C sends, a moment from now."""
    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()


def schedule_factor(kind, step, warmup, total):
    """Multiplier of the peak learning rate for the update after `step` updates."""
    if step < warmup:
        return (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    if kind == "cosine":
        return 0.5 * (1 + math.cos(math.pi * progress))
    return 1.0 - progress if kind == "linear" else 1.0
