"""What every task offers to the loop: data, a model, a loss, what is logged of an evaluation, and the true score."""

import numpy as np
import torch
from torch.nn import functional

IGNORE = -100


class Loader:
    """Row numbers in shuffled epochs. The position can be saved, restored, or lost."""

    def __init__(self, rows, batch, seed, shuffle=True):
        self.rows, self.batch, self.shuffle = rows, min(batch, rows), shuffle
        self.rng = np.random.default_rng(seed)
        self.order, self.at = self._new_order(), 0

    def _new_order(self):
        return self.rng.permutation(self.rows) if self.shuffle else np.arange(self.rows)

    def next(self):
        if self.at + self.batch > self.rows:
            self.order, self.at = self._new_order(), 0
        self.at += self.batch
        return torch.from_numpy(self.order[self.at - self.batch : self.at])


class Task:
    """A supervised task. Sub-classes fill `train` and `held` (dicts of tensors of equal length) and `model`.

    `chance` and `best` are the levels of the measure that guessing and a perfect model reach.
    """

    words = ""
    models = ("mlp",)
    optimizers = ("adam", "adamw", "sgd", "momentum", "rmsprop", "adagrad", "lion")
    lr_scale = 1.0
    steps = (200, 600)
    batches = (8, 16, 32, 64)
    tags = frozenset()  # what faults ask for: classes, tokens, float-input, relu, causal, rl, ...
    measure_name = "accuracy"
    chance, best = 0.0, 1.0

    def __init__(self, settings):
        self.s = settings
        self.rng = np.random.default_rng(settings.seed + 1000)
        self.double_softmax = False
        self.eval_train_mode = False
        self.logged_held = None  # set when a run evaluates on other data than it should
        self.make_data()
        torch.manual_seed(settings.seed)
        self.make_model()

    # data -----------------------------------------------------------------------------------------------------------
    def make_data(self):
        raise NotImplementedError

    def make_model(self):
        raise NotImplementedError

    def start(self, shuffle=True):
        self.loader = Loader(len(next(iter(self.train.values()))), self.s.batch, self.s.seed + 7, shuffle)

    def next_batch(self):
        rows = self.loader.next()
        return {k: v[rows] for k, v in self.train.items()}

    # loss -----------------------------------------------------------------------------------------------------------
    def cross_entropy(self, logits, labels):
        logits = logits.float() / self.s.temperature
        if self.double_softmax:
            logits = logits.softmax(-1)
        return functional.cross_entropy(
            logits, labels, ignore_index=IGNORE, label_smoothing=self.s.label_smoothing if self.model.training else 0.0
        )

    def loss(self, batch):
        logits = self.model(batch["x"])
        loss = self.cross_entropy(logits, batch["y"])
        return loss, {"accuracy": (logits.argmax(-1) == batch["y"]).float().mean().item()}

    # evaluation -----------------------------------------------------------------------------------------------------
    def evaluate(self):
        """What the run logs. Uses the run's own mode, mask and data, right or wrong."""
        held = self.held if self.logged_held is None else self.logged_held
        if not self.eval_train_mode:
            self.model.eval()
        with torch.no_grad():
            loss, metrics = self.loss(held)
        self.model.train()
        out = {"eval_loss": loss.item()}
        out.update({"eval_" + k: v for k, v in metrics.items() if k in ("accuracy",)})
        return out

    def measure(self):
        """The true held-out measure: clean data, eval mode."""
        self.model.eval()
        with torch.no_grad():
            value = self.clean_measure()
        self.model.train()
        return value

    def clean_measure(self):
        return (self.model(self.held["x"]).argmax(-1) == self.held["y"]).float().mean().item()

    def progress(self):
        """0 at the level of guessing, 1 at the best that can be."""
        value = self.measure()
        if not np.isfinite(value):
            return -1.0
        return max(-1.0, (value - self.chance) / (self.best - self.chance))

    # state that a checkpoint must hold beside model and optimizer ----------------------------------------------------
    def config(self):
        return {}

    def parameters(self):
        return list(self.model.parameters())

    def groups(self):
        """Parameter groups with a factor of the learning rate each."""
        return [(self.parameters(), 1.0)]

    def after_step(self, step):
        pass
