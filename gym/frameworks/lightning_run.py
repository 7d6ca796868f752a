"""PyTorch Lightning as its examples use it: the progress bar, CSVLogger, TensorBoard; metrics by epoch or by step."""

import time

import lightning
import parts
import spec as settings
import tasks
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, RichProgressBar, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger


class Model(lightning.LightningModule):
    def __init__(self, spec, data, record, total):
        super().__init__()
        self.spec, self.data, self.record, self.total = spec, data, record, total
        self.save_hyperparameters(
            {"lr": spec.lr, "batch_size": spec.batch, "optimizer": spec.optim, "weight_decay": spec.decay}
        )
        self.net, self.loss = parts.Net(spec, data), parts.loss_of(spec, data)
        self.automatic_optimization = not spec.has("no-zero-grad")
        self.began = time.perf_counter()

    def training_step(self, batch, index):
        settings.before_step(self.spec, self.global_step)
        x, y = batch
        loss = self.loss(self.net(x), y)
        both = self.spec.wants("both")
        self.log(
            "train_loss",
            loss,
            prog_bar=True,
            on_step=both or self.spec.wants("step"),
            on_epoch=not self.spec.wants("step"),
        )
        if self.spec.wants("rss"):
            self.log("process/rss_mb", settings.rss_mb())
        if self.spec.wants("timing"):
            now = time.perf_counter()
            self.log("step_time", now - self.began)
            self.began = now
        self.record.train(self.global_step, loss)
        if not self.automatic_optimization:
            self.manual_backward(loss)
            self.optimizers().step()
        return loss

    def on_before_optimizer_step(self, optimizer):
        if self.spec.wants("norm"):
            self.log("grad_norm", parts.grad_norm(self.net))

    def validation_step(self, batch, _):
        x, y = batch
        out = self.net(x)
        self.log("val_loss", self.loss(out, y), prog_bar=True)
        if self.data.classes:
            self.log("val_acc", (out.argmax(-1) == y).float().mean(), prog_bar=True)

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking and "val_loss" in self.trainer.callback_metrics:
            self.record.eval(self.global_step, self.trainer.callback_metrics["val_loss"])

    def configure_optimizers(self):
        optimizer = parts.optimizer_of(self.spec, parts.trainable(self.spec, self.net))
        if self.spec.schedule == "constant":
            return optimizer
        scheduler = parts.scheduler_of(self.spec, optimizer, self.total)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def loggers(spec):
    made = []
    if "csv" in spec.log:
        made.append(CSVLogger(".", flush_logs_every_n_steps=20))
    if "tensorboard" in spec.log:
        made.append(TensorBoardLogger("."))
    return made or False


def main():
    spec = settings.parse(log="csv", lr=1e-3, every=10)
    lightning.seed_everything(spec.seed, verbose=True)
    torch.set_num_threads(1)
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    model = Model(spec, data, record, spec.epochs * len(train))
    watch = [LearningRateMonitor("step")] if loggers(spec) else []
    if "tqdm" in spec.log:
        watch.append(TQDMProgressBar(refresh_rate=20))
    elif "rich" in spec.log:
        watch.append(RichProgressBar())
    trainer = lightning.Trainer(
        max_epochs=spec.epochs,
        logger=loggers(spec),
        log_every_n_steps=spec.every,
        accelerator="cpu",
        callbacks=watch,
        gradient_clip_val=spec.clip or None,
        enable_checkpointing=bool(spec.stop or spec.resume),
        enable_progress_bar="tqdm" in spec.log or "rich" in spec.log,
        detect_anomaly=spec.wants("anomaly"),
    )
    trainer.fit(model, train, None if spec.wants("no-eval") else valid)
    parts.finish(record, model.net, spec, data)


if __name__ == "__main__":
    main()
