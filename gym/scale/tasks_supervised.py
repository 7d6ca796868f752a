"""Classification, regression, language, sequences, graphs: tasks with inputs and targets."""

import math

import numpy as np
import torch
from models import BagOfWords, Cnn, Gcn, LastOf, Mlp, Recurrent, Transformer
from task_base import IGNORE, Task
from torch import nn
from torch.nn import functional

ADAPTIVE = ("adam", "adamw", "rmsprop", "lion", "adamw", "adam")


def tensor(array, dtype=torch.float32):
    return torch.as_tensor(np.asarray(array), dtype=dtype)


def split(data, held):
    train = {k: v[:-held] for k, v in data.items()}
    return train, {k: v[-held:] for k, v in data.items()}


def class_labels(rng, count, classes, imbalance):
    if not imbalance:
        return rng.integers(0, classes, count)
    rest = (1 - imbalance) / (classes - 1)
    return rng.choice(classes, count, p=[imbalance] + [rest] * (classes - 1))


def make_sequence_model(s, vocab, outputs, length, causal=True):
    if s.model.startswith("transformer"):
        return Transformer(
            vocab, outputs, s.width, s.depth, 2, length, s.model.endswith("post"), causal=causal, dropout=s.dropout
        )
    return Recurrent(s.model, vocab, 24, outputs, s.width, s.dropout)


class Images(Task):
    words = "image classification"
    models = ("mlp", "mlp-bn", "cnn", "cnn-bn", "cnn", "cnn-bn")
    tags = frozenset({"supervised", "classes", "float-input", "relu"})
    noise, side, held_rows = 1.2, 8, 400

    def make_data(self):
        s, rng = self.s, self.rng
        s.classes = s.classes or int(rng.choice([4, 10]))
        patterns = rng.normal(0, 1, (s.classes, self.side, self.side))
        y = class_labels(rng, s.rows + self.held_rows, s.classes, s.imbalance)
        if s.imbalance:
            y[-self.held_rows :] = rng.integers(0, s.classes, self.held_rows)  # scored on balanced data
        x = patterns[y] + rng.normal(0, self.noise, (len(y), self.side, self.side))
        self.train, self.held = split({"x": tensor(x[:, None]), "y": tensor(y, torch.long)}, self.held_rows)
        self.chance, self.best = 1 / s.classes, 1.0

    def make_model(self):
        s = self.s
        if s.model.startswith("cnn"):
            self.model = Cnn(self.side, 8, s.classes, "bn" in s.model, s.dropout)
        else:
            self.model = Mlp(self.side**2, s.width, s.depth, s.classes, "bn" in s.model, s.activation, s.dropout)

    def config(self):
        return {"num_classes": self.s.classes, "image_size": self.side}


class BigImages(Images):
    models = ("cnn", "cnn-bn", "mlp")
    side, noise = 16, 2.0
    steps, batches = (120, 300), (8, 16, 32)


class Table(Task):
    words = "tabular classification"
    models = ("mlp", "mlp-bn")
    tags = frozenset({"supervised", "classes", "float-input", "relu"})
    steps, batches = (300, 3000), (2, 8, 32, 64, 128)

    def make_data(self):
        s, rng = self.s, self.rng
        s.classes = s.classes or int(rng.choice([2, 3, 5]))
        centres = rng.normal(0, 1.3, (s.classes * 2, 12))
        y = class_labels(rng, s.rows + 500, s.classes, s.imbalance)
        if s.imbalance:
            y[-500:] = rng.integers(0, s.classes, 500)
        x = centres[y + s.classes * rng.integers(0, 2, len(y))] + rng.normal(0, 1, (len(y), 12))
        self.train, self.held = split({"x": tensor(x), "y": tensor(y, torch.long)}, 500)
        self.chance, self.best = 1 / s.classes, 0.97

    def make_model(self):
        s = self.s
        self.model = Mlp(12, s.width, s.depth, s.classes, "bn" in s.model, s.activation, s.dropout)

    def config(self):
        return {"num_classes": self.s.classes, "num_features": 12}


class Text(Task):
    words = "text classification"
    models = ("bag", "lstm", "gru", "transformer-pre", "transformer-post", "transformer-pre")
    optimizers = ADAPTIVE
    tags = frozenset({"supervised", "classes", "token-input"})
    vocab, length = 64, 12
    steps = (150, 400)

    def make_data(self):
        s, rng = self.s, self.rng
        s.classes = s.classes or int(rng.choice([2, 4]))
        topics = rng.dirichlet(np.full(self.vocab, 0.5), s.classes)
        y = class_labels(rng, s.rows + 400, s.classes, s.imbalance)
        if s.imbalance:
            y[-400:] = rng.integers(0, s.classes, 400)
        x = np.stack([rng.choice(self.vocab, self.length, p=topics[c]) for c in y])
        self.train, self.held = split({"x": tensor(x, torch.long), "y": tensor(y, torch.long)}, 400)
        self.chance, self.best = 1 / s.classes, 1.0

    def make_model(self):
        s = self.s
        if s.model == "bag":
            self.model = BagOfWords(self.vocab, s.width, s.classes, s.dropout)
        else:
            inner = make_sequence_model(s, self.vocab, s.classes, self.length, causal=False)
            self.model = LastOf(inner, mean=s.model.startswith("transformer"))

    def config(self):
        return {"num_labels": self.s.classes, "vocab_size": self.vocab, "max_length": self.length}


class Regression(Task):
    """The model is trained in the unit of the target: a loss of 1e6, of 1e-7, or about 1."""

    words = "regression"
    models = ("mlp", "mlp-bn")
    optimizers = ADAPTIVE
    tags = frozenset({"supervised", "float-input", "float-target", "relu"})
    steps, batches = (300, 2500), (2, 16, 32, 64, 256)
    measure_name = "mse"

    def make_data(self):
        s, rng = self.s, self.rng
        w1, w2 = rng.normal(0, 0.6, (8, 6)), rng.normal(0, 1, 6)
        x = rng.normal(0, 1, (s.rows + 500, 8))
        y = np.tanh(x @ w1) @ w2 + 0.1 * rng.normal(0, 1, len(x))
        y = (y - y.mean()) / y.std() * s.scale
        self.train, self.held = split({"x": tensor(x), "y": tensor(y)}, 500)
        self.chance = float(self.held["y"].var())
        self.best = 0.03 * self.chance

    def make_model(self):
        s = self.s
        self.model = Mlp(8, s.width, s.depth, 1, "bn" in s.model, s.activation, s.dropout)

    def loss(self, batch):
        predicted = self.model(batch["x"])[:, 0] * self.s.scale
        return functional.mse_loss(predicted, batch["y"]), {"mae": (predicted - batch["y"]).abs().mean().item()}

    def clean_measure(self):
        return functional.mse_loss(self.model(self.held["x"])[:, 0] * self.s.scale, self.held["y"]).item()

    def config(self):
        return {"num_features": 8, "loss": "mse"}


def markov(rng, vocab, count, length, branch=4):
    """Sequences of a chain with `branch` successors a word, and its entropy in nats."""
    follow = np.stack([rng.choice(vocab, branch, replace=False) for _ in range(vocab)])
    weights = 1.0 / np.arange(1, branch + 1) ** 1.2
    weights /= weights.sum()
    rows = np.empty((count, length), dtype=np.int64)
    rows[:, 0] = rng.integers(0, vocab, count)
    picks = rng.choice(branch, size=(count, length), p=weights)
    for t in range(1, length):
        rows[:, t] = follow[rows[:, t - 1], picks[:, t]]
    return rows, float(-(weights * np.log(weights)).sum())


def arithmetic(rng, count, length):
    symbols = {c: i for i, c in enumerate("0123456789+=;")}
    rows = np.empty((count, length), dtype=np.int64)
    for i in range(count):
        text = ""
        while len(text) < length:
            a, b = rng.integers(0, 9, 2)
            text += f"{a}+{b}={a + b};"
        rows[i] = [symbols[c] for c in text[:length]]
    return rows


class Language(Task):
    words = "language modeling"
    models = ("transformer-pre", "transformer-post", "transformer-pre", "lstm", "gru", "rnn")
    optimizers = ADAPTIVE
    tags = frozenset({"supervised", "tokens", "token-input", "causal", "lm"})
    steps, batches = (150, 400), (4, 8, 16, 32)
    vocab, length = 32, 16
    measure_name = "cross entropy"

    def make_data(self):
        self.vocab = int(self.rng.choice([24, 48, 96]))
        rows, floor = markov(self.rng, self.vocab, self.s.rows + 100, self.length)
        self.set_data(rows, floor)

    def set_data(self, rows, floor):
        x = tensor(rows, torch.long)
        self.train, self.held = split({"x": x, "y": x.clone()}, 100)
        self.chance, self.best = math.log(self.vocab), floor

    def make_model(self):
        self.model = make_sequence_model(self.s, self.vocab, self.vocab, self.length)

    def logits_loss(self, logits, labels):
        return self.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    def loss(self, batch):
        logits = self.model(batch["x"])
        right = (logits[:, :-1].argmax(-1) == batch["y"][:, 1:]).float().mean().item()
        return self.logits_loss(logits, batch["y"]), {"accuracy": right}

    def clean_measure(self):
        causal = getattr(self.model, "causal", None)
        if causal is not None:
            self.model.causal = True
        value = self.logits_loss(self.model(self.held["x"]), self.held["y"]).item()
        if causal is not None:
            self.model.causal = causal
        return value

    def config(self):
        return {"vocab_size": self.vocab, "block_size": self.length}


class CharLanguage(Language):
    words = "character language modeling"

    def make_data(self):
        self.vocab, self.length = 13, 20
        self.set_data(arithmetic(self.rng, self.s.rows + 100, self.length), 0.95)
        counts = np.bincount(self.train["x"].flatten().numpy(), minlength=13) / self.train["x"].numel()
        self.chance = float(-(counts * np.log(counts)).sum())


class SequenceToSequence(Language):
    """`abc|cba`: the answer reverses (or copies) the question; only the answer is trained on."""

    words = "sequence to sequence"
    models = ("transformer-pre", "transformer-post", "transformer-pre", "gru")
    tags = frozenset({"supervised", "tokens", "token-input", "causal"})
    measure_name = "accuracy"
    steps, batches = (300, 500), (16, 32, 64)

    def make_data(self):
        rng, n = self.rng, 4
        self.vocab, self.length = 12, 2 * n + 1
        question = rng.integers(1, self.vocab, (self.s.rows + 200, n))
        answer = question[:, ::-1] if rng.random() < 0.5 else question
        rows = np.concatenate([question, np.zeros((len(question), 1), np.int64), answer], 1)
        labels = rows.copy()
        labels[:, : n + 1] = IGNORE
        data = {"x": tensor(rows, torch.long), "y": tensor(labels, torch.long)}
        self.train, self.held = split(data, 200)
        self.chance, self.best = 1 / 11, 1.0

    def loss(self, batch):
        logits = self.model(batch["x"])
        labels = batch["y"][:, 1:]
        kept = labels != IGNORE
        hits = (logits[:, :-1].argmax(-1) == labels) & kept
        return self.logits_loss(logits, batch["y"]), {"accuracy": (hits.sum() / kept.sum().clamp(min=1)).item()}

    def clean_measure(self):
        """Free generation, so that a missing mask cannot help."""
        n = self.length // 2
        causal, self.model.causal = getattr(self.model, "causal", True), True
        rows = self.held["x"].clone()
        rows[:, n + 1 :] = 0
        for t in range(n, 2 * n):
            rows[:, t + 1] = self.model(rows)[:, t].argmax(-1)
        self.model.causal = causal
        return (rows[:, n + 1 :] == self.held["x"][:, n + 1 :]).float().mean().item()


class Graph(Task):
    """Nodes of a graph with two-way communities; one batch is a set of labelled nodes of the whole graph."""

    words = "node classification (GCN)"
    models = ("gcn",)
    tags = frozenset({"supervised", "classes", "relu"})
    optimizers = ("adam", "adamw", "momentum", "rmsprop")
    lr_scale = 2.0
    steps, batches = (80, 300), (32, 64, 128)

    def make_data(self):
        s, rng, nodes = self.s, self.rng, 300
        s.classes = 4
        s.rows = min(s.rows, 150)
        y = rng.integers(0, 4, nodes)
        link = np.where(y[:, None] == y[None], 0.06, 0.012)
        a = (rng.random((nodes, nodes)) < link).astype(float)
        a = np.maximum(a, a.T) + np.eye(nodes)
        norm = 1 / np.sqrt(a.sum(1))
        self.adjacency = tensor(a * norm[:, None] * norm[None])
        self.features = tensor(np.eye(4)[y] * 0.6 + rng.normal(0, 0.8, (nodes, 4)))
        data = {"x": torch.arange(nodes), "y": tensor(y, torch.long)}
        self.train = {k: v[: s.rows] for k, v in data.items()}
        self.held = {k: v[150:] for k, v in data.items()}
        self.chance, self.best = 0.25, 1.0

    def make_model(self):
        inner = Gcn(self.adjacency, 4, self.s.width, 4, self.s.dropout)
        features = self.features

        class Nodes(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, rows):
                return self.inner(features)[rows]

        self.model = Nodes()

    def config(self):
        return {"num_nodes": 300, "num_classes": 4}


class Memory(Task):
    """Says at the end which token came first."""

    words = "recurrent memory (recall the first symbol)"
    models = ("lstm", "gru", "rnn")
    optimizers = ADAPTIVE
    lr_scale = 1.5
    tags = frozenset({"supervised", "classes", "token-input", "recurrent"})
    steps, batches = (300, 600), (16, 32, 64)
    vocab, length = 8, 10

    def make_data(self):
        self.s.classes = self.vocab
        x = self.rng.integers(0, self.vocab, (self.s.rows + 300, self.length))
        data = {"x": tensor(x, torch.long), "y": tensor(x[:, 0], torch.long)}
        self.train, self.held = split(data, 300)
        self.chance, self.best = 1 / self.vocab, 1.0

    def make_model(self):
        self.model = LastOf(make_sequence_model(self.s, self.vocab, self.vocab, self.length), mean=False)

    def config(self):
        return {"vocab_size": self.vocab, "sequence_length": self.length, "num_classes": self.vocab}


class MultiTask(Table):
    """One body, a class and a number; the loss is a weighted sum."""

    words = "multi-task (classification + regression)"
    tags = frozenset({"supervised", "classes", "float-input", "relu", "multi-task"})
    steps, batches = (300, 1200), (16, 32, 64)
    optimizers = ADAPTIVE

    def make_data(self):
        super().make_data()
        w = tensor(self.rng.normal(0, 0.4, (12, 3)))
        for part in (self.train, self.held):
            part["z"] = torch.tanh(part["x"] @ w).sum(1)

    def make_model(self):
        s = self.s
        self.model = Mlp(12, s.width, s.depth, s.classes + 1, "bn" in s.model, s.activation, s.dropout)

    def loss(self, batch):
        out = self.model(batch["x"])
        first = self.cross_entropy(out[:, :-1], batch["y"])
        second = functional.mse_loss(out[:, -1], batch["z"])
        accuracy = (out[:, :-1].argmax(-1) == batch["y"]).float().mean().item()
        return first + self.s.task_weight * second, {
            "loss_cls": first.item(),
            "loss_reg": second.item(),
            "accuracy": accuracy,
        }

    def clean_measure(self):
        out = self.model(self.held["x"])
        right = (out[:, :-1].argmax(-1) == self.held["y"]).float().mean().item()
        share = 1 - (functional.mse_loss(out[:, -1], self.held["z"]) / self.held["z"].var()).item()
        return 0.5 * right + 0.5 * max(-1.0, share) * (1 - self.chance) + 0.5 * self.chance


class ModularAddition(Task):
    """a + b mod p from half of all pairs: memorised early, understood late."""

    words = "modular addition (delayed generalisation)"
    models = ("mlp",)
    optimizers = ("adamw",)
    tags = frozenset({"grokking"})
    steps, batches = (1500, 2000), (256, 512)

    def make_data(self):
        p = 23
        self.s.classes, self.s.rows = p, int(0.6 * p * p)
        pairs = self.rng.permutation(p * p)
        x = np.stack([pairs // p, pairs % p], 1)
        data = {"x": tensor(x, torch.long), "y": tensor(x.sum(1) % p, torch.long)}
        self.train, self.held = split(data, p * p - self.s.rows)
        self.chance, self.best = 1 / p, 1.0

    def make_model(self):
        p = self.s.classes
        embedding = nn.Embedding(p, 48)
        self.model = nn.Sequential(embedding, Mlp(96, 128, 1, p))

    def config(self):
        return {"num_classes": self.s.classes}
