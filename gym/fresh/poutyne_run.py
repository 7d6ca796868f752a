"""Poutyne: Keras-like text over PyTorch, a CSV of epochs beside it."""

import time

import firstset  # noqa: F401
import parts
import poutyne
import spec as settings
import tasks
import torch


class Slow(parts.Rows):
    """Samples from a store that stops answering at one of them."""

    def __getitem__(self, i):
        if i == 700:
            time.sleep(60)
        return super().__getitem__(i)


class Keep(poutyne.Callback):
    def __init__(self, record):
        super().__init__()
        self.record, self.at = record, 0

    def on_epoch_end(self, epoch_number, logs):
        self.record.train(epoch_number, logs["loss"])
        self.record.eval(epoch_number, logs["val_loss"])


def main():
    spec = settings.parse(lr=1e-3, epochs=12, task="images", model="cnn")
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    if spec.has("hang-loader"):
        train = torch.utils.data.DataLoader(Slow(data.x, data.y), spec.batch, num_workers=1, timeout=6)
    net = parts.Net(spec, data)
    optimizer = parts.optimizer_of(spec, parts.trainable(spec, net) or list(net.parameters()))
    if spec.has("no-grad"):
        net.requires_grad_(False)
    model = poutyne.Model(net, optimizer, parts.loss_of(spec, data), batch_metrics=["accuracy"])
    calls = [poutyne.CSVLogger("log.csv"), Keep(record)]
    if spec.schedule == "restarts":
        calls.append(poutyne.CosineAnnealingWarmRestarts(T_0=4))
    model.fit_generator(train, valid, epochs=spec.epochs, callbacks=calls, progress_options={"coloring": False})
    parts.finish(record, net, spec, data)


if __name__ == "__main__":
    main()
