"""MosaicML Composer: the Trainer with its console lines and its file logger."""

import time

import parts
import spec as settings
import tasks
import torch
from composer import Callback, ComposerModel, Trainer
from composer.loggers import FileLogger
from composer.optim import ConstantScheduler, CosineAnnealingWithWarmupScheduler, LinearScheduler
from torchmetrics import MeanSquaredError
from torchmetrics.classification import MulticlassAccuracy


class Model(ComposerModel):
    def __init__(self, spec, data):
        super().__init__()
        self.net, self.loss_fn, self.classes = parts.Net(spec, data), parts.loss_of(spec, data), data.classes
        self.score = MulticlassAccuracy(data.classes, average="micro") if data.classes else MeanSquaredError()

    def forward(self, batch):
        return self.net(batch[0])

    def loss(self, outputs, batch, *_, **__):
        return self.loss_fn(outputs, batch[1])

    def get_metrics(self, is_train=False):
        return {} if is_train else {type(self.score).__name__: self.score}

    def update_metric(self, batch, outputs, metric):
        metric.update(outputs if self.classes else outputs[:, 0], batch[1])


class Watch(Callback):
    def __init__(self, spec, record):
        self.spec, self.record, self.began = spec, record, time.perf_counter()

    def batch_start(self, state, logger):
        settings.before_step(self.spec, state.timestamp.batch.value)

    def after_backward(self, state, logger):
        if self.spec.wants("norm"):
            logger.log_metrics({"l2_norm/grad/global": parts.grad_norm(state.model)})

    def batch_end(self, state, logger):
        if self.spec.wants("rss"):
            logger.log_metrics({"memory/rss_mb": settings.rss_mb()})
        if self.spec.wants("timing"):
            now = time.perf_counter()
            logger.log_metrics({"throughput/batches_per_sec": 1 / (now - self.began)})
            self.began = now
        self.record.train(state.timestamp.batch.value, state.loss)


def main():
    spec = settings.parse(lr=1e-3, epochs=6, every=10)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    model = Model(spec, data)
    loggers = []
    if "file" in spec.log:
        loggers.append(FileLogger(filename="{run_name}-logs-rank{rank}.txt", overwrite=True))
    rates = {"cosine": CosineAnnealingWithWarmupScheduler("40ba"), "linear": LinearScheduler()}
    if spec.has("bad-schedule"):
        rates["constant"] = lambda state, ssr=1.0: 1.0 if state.timestamp.batch.value < spec.onset else spec.of(60)
    trainer = Trainer(
        model=model,
        train_dataloader=train,
        eval_dataloader=valid,
        max_duration=f"{spec.epochs}ep",
        loggers=loggers,
        device="cpu",
        optimizers=parts.optimizer_of(spec, parts.trainable(spec, model)),
        schedulers=rates.get(spec.schedule, ConstantScheduler()),
        run_name="table",
        seed=spec.seed,
        progress_bar=False,
        log_to_console=True,
        console_log_interval=f"{spec.every}ba",
        callbacks=[Watch(spec, record)],
    )
    trainer.fit()
    with torch.no_grad():
        parts.finish(record, model.net, spec, data)


if __name__ == "__main__":
    main()
