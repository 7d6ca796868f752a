"""The same small models trained by Lightning's Trainer, with its CSV and TensorBoard loggers."""

import lightning
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

import common
import task
import torch_loop


class Model(lightning.LightningModule):
    def __init__(self, args, vocab):
        super().__init__()
        self.args = args
        self.save_hyperparameters({"lr": args.lr, "warmup": args.warmup, "batch_size": args.batch, "vocab_size": vocab})
        self.inner = torch_loop.make_model(args, vocab)

    def training_step(self, batch, _):
        loss = self.inner(**batch)["loss"]
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.inner(**batch)["loss"], prog_bar=True)

    def on_before_optimizer_step(self, optimizer):
        norms = [p.grad.norm() for p in self.inner.parameters() if p.grad is not None]
        self.log("grad_norm", torch.stack(norms).norm())

    def configure_optimizers(self):
        optimizer = torch_loop.make_optimizer(self.args, self.inner.parameters())
        scheduler = torch_loop.make_scheduler(self.args, optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def loggers(which):
    kinds = {"csv": CSVLogger, "tensorboard": TensorBoardLogger}
    return [kinds[name](".", name="lightning_logs", version=0) for name in which.split(",")]


def main():
    args = common.parse("lightning", log="csv")
    rng = common.seed_everything(args.seed)
    language = task.MarkovLanguage(seed=7 + args.seed % 3)
    data, held_out = torch_loop.make_data(args, rng, language.vocab, language)
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    trainer = lightning.Trainer(
        max_steps=args.steps,
        logger=loggers(args.log),
        log_every_n_steps=args.logging_steps,
        accelerator="cpu",
        gradient_clip_val=args.clip or None,
        val_check_interval=args.eval_steps or None,
        check_val_every_n_epoch=None,
        limit_val_batches=4 if args.eval_steps else 0,
        enable_checkpointing=False,
        callbacks=[LearningRateMonitor("step")],
        enable_progress_bar="bar" in args.log,
    )
    feed = torch.utils.data.DataLoader(data, args.batch, shuffle=True, drop_last=True)
    trainer.fit(Model(args, language.vocab), feed, torch.utils.data.DataLoader(held_out, args.batch))


if __name__ == "__main__":
    main()
