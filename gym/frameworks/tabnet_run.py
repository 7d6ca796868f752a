"""TabNet (pytorch-tabnet) and scikit-learn's MLP: what `fit` prints with its verbose switch."""

import contextlib
import io
import re
import sys

import numpy as np
import parts
import spec as settings
import tasks
import torch


class Tee(io.TextIOBase):
    """Passes text on and keeps it, for the record."""

    def __init__(self, out):
        self.out, self.kept = out, []

    def write(self, text):
        self.kept.append(text)
        return self.out.write(text)

    def flush(self):
        self.out.flush()


def tabnet(spec, data, record):
    from pytorch_tabnet.callbacks import Callback
    from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

    class Watch(Callback):
        step = 0

        def on_batch_begin(self, batch, logs=None):
            settings.before_step(spec, self.step)
            self.step += 1

        def on_epoch_end(self, epoch, logs=None):
            record.train(epoch + 1, logs["loss"])

    kind = TabNetClassifier if data.classes else TabNetRegressor
    model = kind(optimizer_params={"lr": spec.lr, "weight_decay": spec.decay}, seed=spec.seed, verbose=1, n_d=8, n_a=8, device_name="cpu")
    column = (lambda y: y) if data.classes else (lambda y: y[:, None])
    loss = None
    if spec.has("softmax-twice"):
        loss = lambda out, y: torch.nn.functional.cross_entropy(out.softmax(-1), y)
    model.fit(
        data.x,
        column(data.y),
        eval_set=[(data.x, column(data.y)), (data.x_val, column(data.y_val))],
        eval_name=["train", "valid"],
        max_epochs=spec.epochs,
        patience=0,
        batch_size=spec.batch,
        virtual_batch_size=spec.batch,
        callbacks=[Watch()],
        loss_fn=loss,
        drop_last=False,
    )
    return model.predict(data.x_clean)


def sklearn(spec, data, record):
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    kind = MLPClassifier if data.classes else MLPRegressor
    tee = Tee(sys.stdout)
    model = kind(
        (64, 64), solver="sgd" if spec.optim == "sgd" else "adam", alpha=spec.decay or 1e-4, batch_size=spec.batch, learning_rate_init=spec.lr,
        max_iter=spec.epochs, random_state=spec.seed, verbose=True, early_stopping=spec.wants("stopping"), n_iter_no_change=spec.epochs,
        activation="logistic" if spec.has("vanishing") else "relu",
    )
    with contextlib.redirect_stdout(tee):
        model.fit(data.x, data.y)
    for i, loss in enumerate(re.findall(r"loss = (\S+)", "".join(tee.kept)), 1):
        record.train(i, float(loss))
    return model.predict(data.x_clean)


def main():
    spec = settings.parse(model="tabnet", lr=2e-2, epochs=15, batch=256)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    out = {"tabnet": tabnet, "sklearn": sklearn}[spec.model](spec, data, record)
    if data.classes:
        record.final(float((np.ravel(out) == data.y_clean).mean()), "higher")
    else:
        record.final(float(((np.ravel(out) - data.y_clean) ** 2).mean()))


if __name__ == "__main__":
    main()
