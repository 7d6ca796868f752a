"""A task of the hand-written loops: data in tensors, a model, a loss; and the faults that live in data and weights."""

import math

import firstset  # noqa: F401
import numpy as np
import torch
from torch import nn

HELD_OUT = 400


def damage_rows(spec, parts, classes):
    """Faults of the data, on lists of tensors of which the last is the target."""
    train, val, clean = parts
    x, y = train[0], train[-1]
    if spec.has("labels-shuffled"):
        train[-1] = y[torch.randperm(len(y))]
    if spec.has("misaligned"):
        train[-1] = y.roll(1, 0)
    if spec.has("leak") and x.is_floating_point():
        for part in (train, val):
            part[0] = part[0].clone()
            part[0].view(len(part[0]), -1)[:, 0] = 4.0 * part[-1].float().view(len(part[-1]), -1)[:, 0]
    if spec.has("unscaled"):
        for part in parts:
            part[0] = part[0] * spec.of(400) + spec.of(400)
    if spec.has("fp16"):
        train[0] = x * spec.of(3e4)
    if spec.has("nan-sample"):
        x.view(len(x), -1)[int(0.6 * len(x)), 1] = math.nan
    if spec.has("crash-label"):
        y[torch.randperm(len(y), generator=torch.Generator().manual_seed(0))[int(0.8 * len(y))]] = classes
    if spec.has("sorted"):
        order = torch.argsort(y, stable=True)
        for i, part in enumerate(train):
            train[i] = part[order]
    if spec.has("shift"):
        val[0], clean[0] = (part[0] * 1.8 + spec.of(1.5) for part in (val, clean))
    if spec.has("eval-is-train"):
        val[:] = [part[:HELD_OUT] for part in train]


class Task:
    """`make` gives rows as a tuple of tensors, `build` the model, `loss` the loss and the measures of a batch."""

    chance = 0.0  # loss of guessing, where it is known
    classes = 0
    key = ""  # the true measure; the loss where empty
    better = "lower"

    def __init__(self, spec):
        self.spec = spec
        self.rng = np.random.default_rng(100 + spec.seed)
        self.train, self.val, self.clean = parts = [list(self.make(n)) for n in (spec.rows, HELD_OUT, HELD_OUT)]
        damage_rows(spec, parts, self.classes)
        self.model = self.build()
        self.per_epoch = max(1, len(self.train[0]) // spec.batch)
        if spec.has("crash-last-batch"):
            self.per_epoch = math.ceil(len(self.train[0]) / spec.batch)
        self.break_weights()

    def break_weights(self):
        spec = self.spec
        with torch.no_grad():
            for m in self.model.modules():
                if spec.has("dead-relu") and isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d)) and m is not self.head():
                    m.bias.fill_(-spec.of(20))
            for p in self.model.parameters():
                if spec.has("bad-init"):
                    p.mul_(spec.of(12))
                if spec.has("zero-init"):
                    p.zero_()
        if spec.has("frozen"):
            self.model.requires_grad_(False)
            self.head().bias.requires_grad_(True)

    def head(self):
        return [m for m in self.model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))][-1]

    def rows_of(self, step):
        """Numbers of the rows of a step."""
        epoch, at = divmod(step, self.per_epoch)
        order = torch.arange(len(self.train[0]))
        if not self.spec.has("sorted"):
            order = torch.randperm(len(order), generator=torch.Generator().manual_seed(epoch))
        rows = order[at * self.spec.batch : (at + 1) * self.spec.batch]
        if self.spec.has("crash-index") and step == self.spec.onset:
            rows = rows + len(order)
        return rows

    def batch(self, step):
        rows = self.rows_of(step)
        found = [part[rows] for part in self.train]
        if self.spec.wants("curriculum"):  # four stages, each with more noise
            found[0] = found[0] + 0.35 * (4 * step // (self.spec.epochs * self.per_epoch)) * torch.randn_like(found[0])
        if self.spec.has("corrupted") and step >= self.spec.onset:
            found[0] = self.garbage(found[0])
        return found

    def garbage(self, x):
        """What a broken decoder leaves: noise in place of the sample."""
        if x.is_floating_point():
            return torch.randn_like(x) * self.spec.of(3)
        return torch.randint_like(x, 0, int(x.max()) + 1)

    @torch.no_grad()
    def evaluate(self, part):
        """Loss and measures over a held-out part."""
        was = self.model.training
        self.model.train(self.spec.has("eval-in-train-mode"))
        loss, measures = self.loss(part)
        self.model.train(was)
        return {"loss": float(loss), **measures}

    def finish(self, record):
        found = self.evaluate(self.clean)
        record.final(found[self.key or "loss"], self.better)


def accuracy(out, y):
    return (out.argmax(-1) == y).float().mean().item()
