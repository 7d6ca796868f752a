"""A small GPT on a Markov language that prints as nanoGPT, torchtune's disk logger or Megatron do."""

import math
import time

import numpy as np
import parts
import spec as settings
import tasks
import torch
from torch import nn
from torch.nn import functional as F

LENGTH = 32


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, causal):
        b, t, c = x.shape
        q, k, v = self.mix(self.norm1(x)).view(b, t, 3, 4, c // 4).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, spec, words, width=48):
        super().__init__()
        self.causal = not spec.has("no-causal-mask")
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        scale = spec.of(20) if spec.has("bad-init") else 1.0
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.06 * scale)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, self.causal)
        return self.head(self.norm(x))


class Feed:
    def __init__(self, spec, language):
        rng = np.random.default_rng(100 + spec.seed)
        self.spec, self.rng = spec, rng
        self.train, self.valid = language.sample(rng, spec.rows, LENGTH + 1), language.sample(rng, 200, LENGTH + 1)

    def batch(self, rows):
        ids = torch.from_numpy(rows)
        x, y = ids[:, :-1], ids[:, 1:]
        if self.spec.has("labels-shuffled") and rows is not self.valid:
            y = y[:, torch.randperm(y.shape[1])]
        if self.spec.has("labels-unshifted") and rows is not self.valid:
            y = x
        return x, y

    def next(self):
        pick = self.rng.integers(0, len(self.train), self.spec.batch)
        rows = self.train[pick]
        return self.batch(rows)


def loss_of(spec, model, x, y, step):
    logits = model(x)
    if spec.has("softmax-twice"):
        logits = logits.softmax(-1)
    if spec.has("log-zero"):
        # the temperature anneals, and the probability by hand reaches 0
        p = (logits * (1 + max(0, step - spec.onset) * 0.5)).softmax(-1)
        return -torch.log(p.gather(-1, y[..., None])).mean()
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


class Lines:
    def __init__(self, spec):
        self.style = spec.log
        self.file = open("log_1763300000.txt", "w") if spec.log == "torchtune" else None

    def train(self, spec, n, loss, rate, norm, took):
        if self.style == "nanogpt":
            print(
                f"iter {n}: loss {loss:.4f}, time {took * 1e3:.2f}ms, mfu "
                f"{-100 if n < 50 else 0.02 / max(took, 1e-4) / 10:.2f}%"
            )
        elif self.style == "torchtune":
            self.file.write(
                f"Step {n} | loss:{loss} lr:{rate} tokens_per_second_per_gpu:{spec.batch * LENGTH / took} "
                f"grad_norm:{norm}\n"
            )
            self.file.flush()
            print(f"\r1|{n}|Loss: {loss}: {100 * n // spec.steps:3d}%|", end="")
        else:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            print(
                f" [{stamp}] iteration {n:8d}/{spec.steps:8d} | consumed samples: {n * spec.batch:12d} | elapsed "
                f"time per iteration (ms): {took * 1e3:.1f} | "
                f"learning rate: {rate:.6E} | global batch size: {spec.batch:5d} | lm loss: {loss:.6E} | loss "
                f"scale: 1.0 | grad norm: {norm:.3f} | "
                f"number of skipped iterations:   0 | number of nan iterations: {int(math.isnan(loss)):3d} |"
            )

    def eval(self, spec, n, train, valid):
        if self.style == "nanogpt":
            print(f"step {n}: train loss {train:.4f}, val loss {valid:.4f}")
        elif self.style == "torchtune":
            self.file.write(f"Step {n} | val_loss:{valid}\n")
        else:
            words = (
                f" validation loss at iteration {n} | lm loss value: {valid:.6E} | lm loss PPL: "
                f"{math.exp(min(20, valid)):.6E} | "
            )
            print("-" * len(words) + "\n" + words + "\n" + "-" * len(words))


def main():
    spec = settings.parse(lr=2e-3, steps=400, every=5, log="nanogpt", batch=16, clip=1.0, decay=0.01)
    parts.begin(spec)
    record, language = settings.Record(), tasks.Language()
    feed, model = Feed(spec, language), Gpt(spec, language.words)
    if spec.has("frozen"):
        for name, p in model.named_parameters():
            p.requires_grad = name.startswith("norm")
    params = parts.trainable(spec, model)
    optimizer = torch.optim.AdamW(params, spec.lr, betas=(0.9, 0.95), weight_decay=spec.decay)
    scheduler = parts.scheduler_of(spec, optimizer, spec.steps)
    lines, x_val, first = Lines(spec), feed.valid, 0
    if spec.resume:
        kept = torch.load("ckpt.pt")
        model.load_state_dict(kept["model"])
        if spec.resume == "full":
            optimizer.load_state_dict(kept["optimizer"])
            scheduler.load_state_dict(kept["scheduler"])
        first = kept["step"]
        print(f"Resuming training from out (iter {first})")
    elif spec.log == "nanogpt":
        print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M")
        print(
            f"num decayed parameter tensors: 13, with {sum(p.numel() for p in model.parameters()):,} parameters\n"
            "using fused AdamW: False"
        )

    @torch.no_grad()
    def held_out():
        x, y = feed.batch(x_val)
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()

    began, loss = time.perf_counter(), None
    for step in range(first, spec.steps):
        settings.before_step(spec, step)
        if step % (spec.every * 10) == 0 and not spec.wants("no-eval"):
            with torch.no_grad():
                x, y = feed.batch(feed.train[:100])
                seen = loss_of(spec, model, x, y, step).item()
            valid = held_out()
            record.eval(step, valid)
            lines.eval(spec, step, seen, valid)
            began = time.perf_counter()
        x, y = feed.next()
        loss = loss_of(spec, model, x, y, step)
        if not spec.has("no-zero-grad"):
            optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), spec.clip or 1e12).item()
        optimizer.step()
        scheduler.step()
        if step % spec.every == 0:
            took, began = (time.perf_counter() - began) / spec.every, time.perf_counter()
            record.train(step, loss.item())
            lines.train(spec, step, loss.item(), scheduler.get_last_lr()[0], norm, took)
        if spec.stop and step + 1 == spec.stop and not spec.resume:
            print("saving checkpoint to out")
            torch.save(
                {
                    "step": step + 1,
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(),
                },
                "ckpt.pt",
            )
            return
    model.causal = True
    x, y = torch.from_numpy(x_val[:, :-1]), torch.from_numpy(x_val[:, 1:])
    for block in model.blocks:
        block.eval()
    with torch.no_grad():
        record.final(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())


if __name__ == "__main__":
    main()
