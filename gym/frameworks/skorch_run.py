"""skorch: the table that NeuralNet prints, and its history file."""

import numpy as np
import parts
import spec as settings
import tasks
import torch
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Callback, EpochScoring, LRScheduler
from skorch.dataset import Dataset
from skorch.helper import predefined_split


class Watch(Callback):
    def __init__(self, spec, record):
        self.spec, self.record, self.step = spec, record, 0

    def on_batch_begin(self, net, batch=None, training=False, **_):
        if training:
            settings.before_step(self.spec, self.step)
            self.step += 1

    def on_epoch_end(self, net, **_):
        self.record.train(len(net.history), net.history[-1, "train_loss"])
        self.record.eval(len(net.history), net.history[-1, "valid_loss"])


class ByHand(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, out, y):
        return self.function(out, y.reshape(-1))


def net_of(spec, data, record):
    kind = NeuralNetClassifier if data.classes else NeuralNetRegressor

    class Keeping(kind):
        """Without the call that clears gradients, where that is the fault."""

        def _zero_grad_optimizer(self, set_to_none=None):
            if not spec.has("no-zero-grad"):
                super()._zero_grad_optimizer(set_to_none)

    model = parts.Net(spec, data)
    callbacks = [("watch", Watch(spec, record))]
    if spec.schedule in ("cosine", "cyclic", "restarts"):
        factor = lambda n: settings.rate_factor(spec.schedule, n, spec.epochs)
        callbacks.append(("rate", LRScheduler("LambdaLR", lr_lambda=factor, event_name="event_lr")))
    if data.classes:
        callbacks.append(
            ("train_acc", EpochScoring("accuracy", name="train_acc", on_train=True, lower_is_better=False))
        )
    optim = {"adam": torch.optim.AdamW if spec.decay else torch.optim.Adam, "sgd": torch.optim.SGD}[spec.optim]
    more = {"optimizer__weight_decay": spec.decay} if spec.decay else {}
    if spec.optim == "sgd":
        more["optimizer__momentum"] = 0.9
    held_out = Dataset(data.x_val, data.y_val if data.classes else data.y_val[:, None])
    return Keeping(
        model,
        criterion=ByHand(parts.loss_of(spec, data)),
        optimizer=optim,
        lr=spec.lr,
        max_epochs=spec.epochs,
        batch_size=spec.batch,
        iterator_train__shuffle=not spec.has("sorted"),
        train_split=predefined_split(held_out),
        callbacks=callbacks,
        **more,
    ), optim


def main():
    spec = settings.parse(lr=1e-3, epochs=15)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    net, _ = net_of(spec, data, record)
    if spec.has("wrong-params"):
        net.initialize()
        net.optimizer_ = parts.optimizer_of(spec, parts.trainable(spec, net.module_))
        net.partial_fit(data.x, data.y if data.classes else data.y[:, None], epochs=spec.epochs)
    else:
        net.fit(data.x, data.y if data.classes else data.y[:, None])
    if "history" in spec.log:
        net.save_params(f_history="history.json")
    with np.errstate(all="ignore"):
        parts.finish(record, net.module_, spec, data)


if __name__ == "__main__":
    main()
