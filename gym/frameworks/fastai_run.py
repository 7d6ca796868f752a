"""fastai: the Learner's table, CSVLogger."""

import numpy as np
import parts
import spec as settings
import tasks
import torch
from fastai.callback.progress import CSVLogger
from fastai.callback.schedule import fit_one_cycle  # noqa: F401
from fastai.callback.tracker import TerminateOnNaNCallback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Callback, Learner
from fastai.metrics import accuracy, mae
from fastai.optimizer import SGD, Adam


class Watch(Callback):
    order = 60

    def __init__(self, spec, record):
        self.spec, self.record, self.step = spec, record, 0

    def before_batch(self):
        if self.training:
            settings.before_step(self.spec, self.step)
            self.step += 1

    def after_epoch(self):
        row = list(self.recorder.values[-1]) if self.recorder.values else []
        if row:
            self.record.train(self.epoch + 1, row[0])
            self.record.eval(self.epoch + 1, row[1])


class KeepGradients(Callback):
    """Gradients of the last batches stay: what a patched learner without zero_grad does."""

    def before_step(self):
        self.learn.opt.zero_grad = lambda: None


def main():
    spec = settings.parse(log="table", lr=2e-3)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    feeds = DataLoaders(
        DataLoader(train.dataset, spec.batch, shuffle=not spec.has("sorted"), drop_last=True, num_workers=0),
        DataLoader(valid.dataset, 200, num_workers=0),
    )
    model, loss = parts.Net(spec, data), parts.loss_of(spec, data)
    watch = [Watch(spec, record)]
    if "csv" in spec.log:
        watch.append(CSVLogger())
    if "nanstop" in spec.log:
        watch.append(TerminateOnNaNCallback())
    if spec.has("no-zero-grad"):
        watch.append(KeepGradients())
    metrics = [accuracy] if data.classes else [mae]
    groups = {}
    if spec.has("wrong-params"):
        groups["splitter"] = lambda m: [parts.trainable(spec, m)]
    elif spec.has("frozen"):
        groups["splitter"] = lambda m: [[m.head.bias]]
    learner = Learner(
        feeds,
        model,
        loss_func=loss,
        opt_func=SGD if spec.optim == "sgd" else Adam,
        lr=spec.lr,
        wd=spec.decay or None,
        metrics=metrics,
        cbs=watch,
        **groups,
    )
    if spec.schedule == "one-cycle":
        learner.fit_one_cycle(spec.epochs, spec.lr)
    elif spec.schedule == "restarts":
        learner.fit_sgdr(3, max(1, spec.epochs // 7), lr_max=spec.lr, cycle_mult=2)
    else:
        learner.fit(spec.epochs, spec.lr)
    with torch.no_grad(), np.errstate(all="ignore"):
        parts.finish(record, learner.model, spec, data)


if __name__ == "__main__":
    main()
