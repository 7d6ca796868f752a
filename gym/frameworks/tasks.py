"""Data made on the spot with numpy, and the faults that live in data.

A task gives train, held-out and clean arrays. `clean` is held-out data without the fault: the true measure is taken on
it, so that a leak of the label counts as the fault that it is.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Data:
    x: np.ndarray
    y: np.ndarray
    x_val: np.ndarray
    y_val: np.ndarray
    x_clean: np.ndarray
    y_clean: np.ndarray
    classes: int  # 0: regression

    @property
    def features(self):
        return int(np.prod(self.x.shape[1:]))


def table(rng, rows, noise):
    """Eight classes by a random network over 16 numbers."""
    rule = np.random.default_rng(11)
    first, second = rule.normal(size=(16, 24)), rule.normal(size=(24, 8))
    x = rng.normal(size=(rows, 16))
    y = np.argmax(np.tanh(x @ first / 4) @ second, axis=1)
    wrong = rng.random(rows) < noise
    return x, np.where(wrong, rng.integers(0, 8, rows), y), 8


def images(rng, rows, noise):
    """Six patterns of 10x10 points under noise."""
    patterns = np.random.default_rng(5).normal(size=(6, 1, 10, 10))
    patterns = (patterns + np.roll(patterns, 1, 2) + np.roll(patterns, 1, 3)) / 1.7
    y = rng.integers(0, 6, rows)
    x = 0.6 * patterns[y] + rng.normal(size=(rows, 1, 10, 10))
    wrong = rng.random(rows) < noise
    return x, np.where(wrong, rng.integers(0, 6, rows), y), 6


def binary(rng, rows, noise):
    """Two classes, one in six positive, with some rows far out."""
    x = rng.normal(size=(rows, 12)) * np.where(rng.random(rows) < 0.05, 6.0, 1.0)[:, None]
    score = x[:, 0] + x[:, 1] * x[:, 2] - 0.5 * x[:, 3]
    y = (score > 1.4).astype(np.int64)
    wrong = rng.random(rows) < noise
    return x, np.where(wrong, 1 - y, y), 2


def regression(rng, rows, noise):
    x = rng.normal(size=(rows, 8))
    y = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, 3] + (2 * noise + 0.05) * rng.normal(size=rows)
    return x, y, 0


def prices(rng, rows, noise):
    """Regression with targets in the thousands."""
    x, y, _ = regression(rng, rows, noise)
    return x, 3000 + 900 * y, 0


TASKS = {"table": table, "images": images, "binary": binary, "regression": regression, "prices": prices}
HELD_OUT = 600


def leak(x, y, classes):
    """Writes the label into the last features."""
    flat = x.reshape(len(x), -1).copy()
    if classes:
        flat[:, -classes:] = 4.0 * np.eye(classes)[y]
    else:
        flat[:, -1] = (y - y.mean()) / y.std()
    return flat.reshape(x.shape)


def load(spec):
    rng = np.random.default_rng(1000 + spec.seed)
    x, y, classes = TASKS[spec.task](rng, spec.rows + 2 * HELD_OUT, spec.noise)
    cut = [spec.rows, spec.rows + HELD_OUT]
    parts = [*zip(np.split(x, cut), np.split(y, cut), strict=True)]
    (x, y), (x_val, y_val), (x_clean, y_clean) = parts
    if spec.has("labels-shuffled"):
        y = rng.permutation(y)
    if spec.has("leak"):
        x, x_val = leak(x, y, classes), leak(x_val, y_val, classes)
    if spec.has("nan-sample"):
        x = x.copy()
        x[int(spec.of(0.6) * len(x))].flat[3] = np.nan
    if spec.has("unscaled"):
        x, x_val, x_clean = (part * spec.of(3000) for part in (x, x_val, x_clean))
    if spec.has("sorted"):
        order = np.argsort(y, kind="stable")
        x, y = x[order], y[order]
    kind = np.int64 if classes else np.float32
    arrays = [
        a.astype(t)
        for pair in ((x, y), (x_val, y_val), (x_clean, y_clean))
        for a, t in zip(pair, (np.float32, kind), strict=True)
    ]
    return Data(*arrays, classes)


class Language:
    """A Markov chain over words; its entropy is the floor of the loss."""

    def __init__(self, words=48, fan=4):
        rule = np.random.default_rng(3)
        self.words = words
        self.next = np.stack([rule.permutation(words)[:fan] for _ in range(words)])
        self.share = rule.dirichlet(np.ones(fan), size=words).cumsum(axis=1)

    def sample(self, rng, rows, length):
        out = np.empty((rows, length), np.int64)
        out[:, 0] = rng.integers(0, self.words, rows)
        for i in range(1, length):
            pick = (rng.random(rows)[:, None] > self.share[out[:, i - 1]]).sum(axis=1).clip(0, self.next.shape[1] - 1)
            out[:, i] = self.next[out[:, i - 1], pick]
        return out
