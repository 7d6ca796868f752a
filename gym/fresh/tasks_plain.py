"""Supervised tasks: motifs in sequences, masks of discs, forecasts, clicks, ratings, speech-like frames."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from base import Task, accuracy


def floats(a):
    return torch.from_numpy(np.asarray(a, np.float32))


class Recurrent(nn.Module):
    def __init__(self, kind, classes):
        super().__init__()
        self.rnn = kind(4, 48, batch_first=True)
        self.out = nn.Linear(48, classes)

    def forward(self, x):
        return self.out(self.rnn(x.transpose(1, 2))[0][:, -1])


class Motif(Task):
    """Which of five motifs lies somewhere in a noisy sequence of four channels."""

    classes, chance, key, better = 5, math.log(5), "acc", "higher"

    def make(self, n):
        motifs = np.random.default_rng(4).normal(size=(5, 4, 7)) * 1.3
        x, y = self.rng.normal(size=(n, 4, 32)) * 0.7, self.rng.integers(0, 5, n)
        for i in range(n):
            at = self.rng.integers(18, 25) if self.spec.model in ("lstm", "rnn") else self.rng.integers(0, 25)
            x[i, :, at : at + 7] += motifs[y[i]]
        wrong = self.rng.random(n) < self.spec.noise
        y = np.where(wrong, self.rng.integers(0, 5, n), y)
        return floats(x), torch.from_numpy(y)

    def build(self):
        kind = self.spec.model
        if kind in ("lstm", "rnn"):
            return Recurrent(nn.LSTM if kind == "lstm" else nn.RNN, 5)
        if self.spec.has("vanishing"):
            layers = [nn.Flatten(), nn.Linear(128, 40), nn.Sigmoid()]
            for _ in range(int(self.spec.of(8))):
                layers += [nn.Linear(40, 40), nn.Sigmoid()]
            return nn.Sequential(*layers, nn.Linear(40, 5))
        norm = nn.BatchNorm1d(24) if kind == "bn" else nn.Identity()
        drop = nn.Dropout(self.spec.of(0.95) if self.spec.has("dropout-high") else 0.2)
        return nn.Sequential(
            *(nn.Conv1d(4, 24, 7, padding=3), norm, nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(24, 24, 3, padding=1)),
            *(nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), drop, nn.Linear(24, 5)),
        )

    def loss(self, batch):
        x, y = batch
        out = self.model(x)
        if self.spec.has("softmax-twice"):
            return F.cross_entropy((4 * out).softmax(-1) if self.spec.strength else out.softmax(-1), y), {
                "acc": accuracy(out, y)
            }
        if self.spec.has("one-hot-mistake"):  # targets one-hot over the wrong axis: every row asks for class 0 or 1
            return F.binary_cross_entropy_with_logits(out, F.one_hot((y > 3).long(), 5).float()), {
                "acc": accuracy(out, y)
            }
        if self.spec.has("log-zero"):
            return -torch.log(out.softmax(-1)[torch.arange(len(y)), y] - 3e-3).mean(), {"acc": accuracy(out, y)}
        return F.cross_entropy(out, y), {"acc": accuracy(out, y)}


class Discs(Task):
    """Masks of discs in noisy pictures; the loss is minus the Dice score, so below zero."""

    key, better = "dice", "higher"

    def make(self, n):
        grid = np.mgrid[0:16, 0:16]
        centre, size = self.rng.uniform(4, 12, (n, 2)), self.rng.uniform(2, 4.5, n)
        away = (grid[None, 0] - centre[:, :1, None]) ** 2 + (grid[None, 1] - centre[:, 1:, None]) ** 2
        y = (away < size[:, None, None] ** 2).astype(np.float32)[:, None]
        return floats(y * 1.2 + self.rng.normal(size=y.shape)), floats(y)

    def build(self):
        return nn.Sequential(
            *(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 5, padding=2), nn.ReLU()),
            nn.Conv2d(8, 1, 5, padding=2),
        )

    def loss(self, batch):
        x, y = batch
        p = self.model(x).sigmoid()
        smooth = 0.0 if self.spec.has("divide-by-zero") else 1.0
        dice = (2 * (p * y).sum((1, 2, 3)) + smooth) / ((p + y).sum((1, 2, 3)) + smooth)
        hard = ((p > 0.5) * y).sum() * 2 / ((p > 0.5).float().sum() + y.sum() + 1e-6)
        loss = -dice.mean()
        if self.spec.has("divide-by-zero"):  # the share of each picture found, where an empty mask gives 0 / 0
            loss = loss - 0.1 * ((p * y).sum((1, 2, 3)) / y.sum((1, 2, 3))).mean()
        return loss, {"dice": hard.item()}

    def batch(self, step):
        x, y = super().batch(step)
        if self.spec.has("divide-by-zero") and step == self.spec.onset:
            y = y.clone()
            y[3] = 0
        return [x, y]


class Series(Task):
    """Six values ahead of twenty-four, of sums of waves."""

    def make(self, n):
        t = np.arange(30)
        waves = sum(
            self.rng.uniform(0.3, 1, (n, 1)) * np.sin(2 * np.pi * t / p + self.rng.uniform(0, 6.28, (n, 1)))
            for p in (6, 11, 24)
        )
        y = waves + (0.05 + self.spec.noise) * self.rng.normal(size=waves.shape)
        return floats(y[:, :24]), floats(y[:, 24:])

    def build(self):
        return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))

    def loss(self, batch):
        x, y = batch
        out = self.model(x)
        if self.spec.wants("density"):
            return (0.5 * ((out - y) / 0.12) ** 2 + math.log(0.12)).mean(), {"mae": (out - y).abs().mean().item()}
        return F.mse_loss(out, y), {"mae": (out - y).abs().mean().item()}


class Clicks(Task):
    """Clicks on items by users: few are positive."""

    key, better = "auc", "higher"

    def make(self, n):
        rule = np.random.default_rng(8)
        bias = [rule.normal(size=k) * 1.2 for k in (60, 80, 12)]
        x = np.stack([self.rng.integers(0, k, n) for k in (60, 80, 12)], 1)
        score = sum(b[x[:, i]] for i, b in enumerate(bias)) - (6.0 if self.spec.has("imbalance") else 2.5)
        y = self.rng.random(n) < 1 / (1 + np.exp(-score))
        return torch.from_numpy(x + np.array([0, 60, 140])), floats(y)

    def build(self):
        self.embed = nn.Embedding(152, 12)
        return nn.Sequential(self.embed, nn.Flatten(), nn.Linear(36, 32), nn.ReLU(), nn.Linear(32, 1))

    def batch(self, step):
        found = super().batch(step)
        if self.spec.has("crash-token") and step == self.spec.onset:
            found[0] = found[0] + 100
        return found

    def loss(self, batch):
        x, y = batch
        out = self.model(x)[:, 0]
        above = (out[y > 0.5][:, None] > out[y < 0.5][None]).float()
        return F.binary_cross_entropy_with_logits(out, y), {"auc": above.mean().item() if above.numel() else 0.5}


class Ratings(Task):
    """Stars that users give to films, by factors of both."""

    def make(self, n):
        rule = np.random.default_rng(9)
        users, films = rule.normal(size=(120, 3)), rule.normal(size=(90, 3))
        u, f = self.rng.integers(0, 120, n), self.rng.integers(0, 90, n)
        stars = 3.5 + 0.6 * (users[u] * films[f]).sum(1) + 0.2 * self.rng.normal(size=n)
        return torch.from_numpy(np.stack([u, f + 120], 1)), floats(stars)

    def build(self):
        model = nn.Module()
        model.embed, model.bias = nn.Embedding(210, 6), nn.Linear(6, 1)
        nn.init.normal_(model.embed.weight, std=0.3)
        return model

    def loss(self, batch):
        x, y = batch
        e = self.model.embed(x)
        out = 3.5 + (e[:, 0] * e[:, 1]).sum(1) + self.model.bias(e[:, 1])[:, 0]
        mse = F.mse_loss(out, y)
        return mse, {"rmse": mse.item() ** 0.5}


class Speech(Task):
    """Frames of eight sounds in a row, to be written down by CTC."""

    key, better = "cer", "lower"

    def make(self, n):
        sounds = np.random.default_rng(6).normal(size=(8, 10)) * 1.5
        y = self.rng.integers(0, 8, (n, 5))
        x = np.repeat(sounds[y], 4, axis=1) + self.rng.normal(size=(n, 20, 10)) * 0.8
        return floats(x), torch.from_numpy(y + 1)

    def build(self):
        model = nn.Module()
        model.rnn, model.out = nn.GRU(10, 32, batch_first=True, bidirectional=True), nn.Linear(64, 9)
        return model

    def loss(self, batch):
        x, y = batch
        logits = self.model.out(self.model.rnn(x)[0])
        n = len(x)
        lengths = torch.full((n,), 20), torch.full((n,), 5)
        loss = F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), y, *lengths)
        best, errors = logits.argmax(-1), 0
        for i in range(min(n, 60)):
            row = [int(s) for s, last in zip(best[i], [0, *best[i][:-1]], strict=True) if s and s != last]
            errors += distance(row, y[i].tolist())
        return loss, {"cer": errors / (5 * min(n, 60))}


def distance(a, b):
    """Edits between two lists."""
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (one != other))
    return row[-1]
