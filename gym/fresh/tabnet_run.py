"""TabNet of pytorch-tabnet over a table; the text is its own."""

import firstset  # noqa: F401
import spec as settings
import tasks
import torch
from pytorch_tabnet.callbacks import Callback
from pytorch_tabnet.tab_model import TabNetClassifier


class Keep(Callback):
    def __init__(self, record):
        self.record = record

    def on_epoch_end(self, epoch, logs=None):
        self.record.train(epoch + 1, logs["loss"])


def main():
    spec = settings.parse(lr=2e-2, epochs=15, rows=2400, task="binary", batch=256)
    torch.manual_seed(spec.seed)
    torch.set_num_threads(1)
    record, data = settings.Record(), tasks.load(spec)
    model = TabNetClassifier(
        n_d=8,
        n_a=8,
        n_steps=3,
        seed=spec.seed,
        optimizer_params={"lr": spec.lr, "weight_decay": spec.decay},
        optimizer_fn=torch.optim.AdamW,
        lambda_sparse=spec.of(3000.0) if spec.has("too-much-regularisation") else 1e-3,
        device_name="cpu",
    )
    model.fit(
        *(data.x, data.y),
        eval_set=[(data.x, data.y), (data.x_val, data.y_val)],
        eval_name=["train", "valid"],
        eval_metric=["accuracy", "logloss"],
        max_epochs=spec.epochs,
        patience=0,
        batch_size=spec.batch,
        virtual_batch_size=128,
        drop_last=True,
        callbacks=[Keep(record)],
    )
    right = (model.predict(data.x_clean) == data.y_clean).mean()
    record.final(float(right), "higher")


if __name__ == "__main__":
    main()
