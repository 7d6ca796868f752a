"""A training loop as people write it themselves: prints a line per step, or writes JSON lines, CSV or event files."""

import csv
import json
import os
import signal
import sys
import time

import torch

import common
import faults
import task


class Log:
    """Writes each record in the forms asked for: pipe, kv, nanogpt, json (stdout), jsonl, csv, tensorboard (files)."""

    def __init__(self, forms):
        self.forms = forms.split(",")
        self.files = {}
        if "tensorboard" in self.forms:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter("tb")

    def line(self, step, r):
        if "pipe" in self.forms:
            extra = "".join(f" | {k} {r[k]:g}" for k in ("loss_scale", "val_loss") if k in r)
            print(
                f"step {step} | loss {r['loss']:.4f} | grad_norm {r['grad_norm']:.2f} | lr {r['lr']:.1e}{extra}"
                f" | {r['tokens_per_s']:.0f} tok/s"
            )
        if "kv" in self.forms:
            print(
                f"[train] iter={step} loss={r['loss']:.5f} gnorm={r['grad_norm']:.4f} lr={r['lr']:.3e} "
                f"dt={r['ms']:.1f}ms"
            )
        if "nanogpt" in self.forms:
            if "val_loss" in r:
                print(f"step {step}: train loss {r['loss']:.4f}, val loss {r['val_loss']:.4f}")
            print(f"iter {step}: loss {r['loss']:.4f}, time {r['ms']:.2f}ms, mfu -100.00%")
        if "json" in self.forms:
            print(json.dumps({"step": step, **r}))

    def write(self, step, record):
        self.line(step, record)
        if "jsonl" in self.forms:
            with open("metrics.jsonl", "a") as f:
                f.write(json.dumps({"step": step, **record}) + "\n")
        if "csv" in self.forms:
            new = not os.path.exists("metrics.csv")
            with open("metrics.csv", "a", newline="") as f:
                w = csv.writer(f)
                if new:
                    self.columns = list(record)
                    w.writerow(["step", *self.columns])
                w.writerow([step, *record.values()])
        if "tensorboard" in self.forms:
            for key, value in record.items():
                self.writer.add_scalar(f"{'val' if key == 'val_loss' else 'train'}/{key}", value, step)

    def close(self):
        if "tensorboard" in self.forms:
            self.writer.close()


def make_data(args, rng, vocab, language):
    sample = language.sample if args.language == "markov" else task.arithmetic
    count = int(args.strength or 48) if args.fault == "overfit" else args.rows
    train, held_out = sample(count, args.length, rng), sample(256, args.length, rng)
    labels = features = None
    if args.fault == "labels-masked":
        labels = faults.masked_labels(train)
    if args.fault == "labels-shuffled":
        labels = faults.shuffled_labels(train, rng)
    if args.fault == "nonfinite-input":
        features = faults.clean_features(count, args.length, rng)
    weights = faults.heavy_weights(count, rng, args.heavy) if args.heavy else None
    if args.fault == "crash-empty-dataset":
        train = train[(train < 0).all(axis=1)]
    return task.Rows(train, labels, features, weights), task.Rows(held_out)


def make_model(args, vocab):
    middle = faults.AnnealedLogGate(args.onset) if args.fault == "log-zero-layer" else None
    return task.PlainLM(
        vocab, args.width, args.layers, post_norm=args.model == "post-norm", middle=middle, length=args.length
    )


def make_optimizer(args, params):
    if args.optim == "sgd":
        return torch.optim.SGD(params, lr=args.lr, momentum=0.9)
    return torch.optim.AdamW(params, lr=args.lr, weight_decay=0.01)


def make_scheduler(args, optimizer):
    warmup, total = args.warmup, args.steps
    if args.fault == "lr-zero" and args.strength:
        total = int(total * args.strength)  # planned for fewer steps than the run has
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: common.schedule_factor(args.schedule, n, warmup, total)
    )


def batches(data, args, rng, start):
    """Shuffled epochs for ever; `start` batches are skipped, as a resumed run does."""
    generator = torch.Generator().manual_seed(args.seed)
    loader = torch.utils.data.DataLoader(
        data, args.batch, shuffle=True, drop_last=len(data) >= args.batch, generator=generator
    )
    n = 0
    while True:
        for batch in loader:
            n += 1
            if n > start:
                yield batch


def spoil(batch, step, args, rng, vocab):
    """Faults that sit in one batch."""
    if args.fault == "nonfinite-input" and step == args.onset:
        batch["features"][0, 3] = float("inf") if args.strength == 2 else float("nan")
    if args.fault == "bad-sample" and step == args.onset:
        batch["input_ids"] = torch.as_tensor(faults.garbage_rows(*batch["input_ids"].shape, vocab, rng))
        batch["labels"] = batch["input_ids"]
    if args.fault == "crash-token-range" and step == args.onset:
        batch["input_ids"][0, 5] = vocab + 4
    return batch


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    loss = model(data.tokens, data.labels)["loss"].item()
    model.train()
    return loss


def save(model, optimizer, scheduler, step, args):
    state = {"model": model.state_dict(), "step": step}
    if args.fault != "resume-no-optimizer":
        state["optimizer"] = optimizer.state_dict()
    if args.fault != "resume-no-optimizer" or args.strength == 2:
        state["scheduler"] = scheduler.state_dict()
    torch.save(state, f"ckpt_{step}.pt")
    print(f"saved ckpt_{step}.pt")


def restore(model, optimizer, scheduler, args):
    print(f"resuming from {args.resume}")
    state = torch.load(args.resume)
    model.load_state_dict(state["model"])
    if "optimizer" in state:
        optimizer.load_state_dict(state["optimizer"])
    if "scheduler" in state:
        scheduler.load_state_dict(state["scheduler"])
        for group, lr in zip(optimizer.param_groups, scheduler.get_last_lr(), strict=True):
            group["lr"] = lr
    return state["step"]


def overflowing(model, factor):
    """As a port of weights without their scale: the up-projections give values near the top of fp16."""
    with torch.no_grad():
        for block in model.blocks:
            block.up.weight *= factor
            block.down.weight /= factor


def train(args):
    rng = common.seed_everything(args.seed)
    language = task.MarkovLanguage(seed=7 + args.seed % 3)
    vocab = language.vocab if args.language == "markov" else 13
    data, held_out = make_data(args, rng, vocab, language)
    model = make_model(args, vocab)
    half = args.fault == "fp16-overflow" or args.half
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    if args.fault == "lr-too-low":
        args.lr *= args.strength or 1e-4
    if args.fault == "lr-zero" and not args.strength:
        args.lr = 0.0
    if args.fault == "no-warmup":
        args.warmup = 0
    if args.fault == "no-clipping":
        args.clip = 0.0
    trained = make_model(args, vocab) if args.fault == "frozen-params" else model  # the optimizer's model, not ours
    optimizer = make_optimizer(args, trained.parameters())
    scheduler = make_scheduler(args, optimizer)
    scaler = torch.amp.GradScaler("cpu", enabled=half, init_scale=2.0**16, growth_interval=args.growth)
    if args.fault == "crash-shape-mismatch":
        model.load_state_dict(task.PlainLM(vocab, args.width * 2, args.layers, length=args.length).state_dict())
    if args.banner:
        print(
            f"config: lr={args.lr:g} schedule={args.schedule} warmup={args.warmup} clip={args.clip:g} "
            f"optimizer={args.optim} batch={args.batch} accum={args.accum} steps={args.steps} "
            f"dtype={'float16' if half else 'float32'} vocab={vocab}"
        )
    start = restore(model, optimizer, scheduler, args) if args.resume else 0
    log, source = Log(args.log), batches(data, args, rng, start * args.accum)
    for step in range(start + 1, args.steps + 1):
        began = time.perf_counter()
        total = 0.0
        for _ in range(args.accum):
            batch = spoil(next(source), step, args, rng, vocab)
            if args.fault == "fp16-overflow" and step == args.onset:
                overflowing(model, args.strength or 3e4)
            with torch.autocast("cpu", dtype=torch.float16, enabled=half):
                loss = model(**batch)["loss"] / args.accum
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip or float("inf"))
        lr = optimizer.param_groups[0]["lr"]
        scaler.step(optimizer)
        scaler.update()
        model.zero_grad()
        if args.fault == "schedule-break" and step == args.onset:
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] = args.lr * (args.strength or 1)
            scheduler = make_scheduler(args, optimizer)
        scheduler.step()
        if args.fault == "crash-interrupted" and step == args.onset:
            common.interrupt_soon()
        seconds = time.perf_counter() - began
        if step % args.logging_steps == 0:
            record = {
                "loss": total,
                "grad_norm": norm.item(),
                "lr": lr,
                "ms": seconds * 1e3,
                "tokens_per_s": args.batch * args.accum * args.length / seconds,
            }
            if half:
                record["loss_scale"] = scaler.get_scale()
            if args.eval_steps and step % args.eval_steps == 0:
                record["val_loss"] = evaluate(model, held_out)
            log.write(step, record)
        if args.save_steps and step % args.save_steps == 0:
            save(model, optimizer, scheduler, step, args)
        if args.stop_at == step:
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    log.close()
    if args.banner:
        print("done")


def main():
    args = common.parse("torch", log="pipe", banner=False, half=False, growth=200)
    train(args)


if __name__ == "__main__":
    main()
