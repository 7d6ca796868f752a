"""Accelerate with its trackers: TensorBoard and a tracker of the user's that writes CSV."""

import csv
import logging

import parts
import spec as settings
import tasks
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.tracking import GeneralTracker, on_main_process
from accelerate.utils import set_seed
from tqdm.auto import tqdm


class CsvTracker(GeneralTracker):
    name = "csv"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self):
        super().__init__()
        self.file = open("log_history.csv", "w", newline="")
        self.writer = None

    @property
    def tracker(self):
        return self.file

    @on_main_process
    def store_init_configuration(self, values):
        pass

    @on_main_process
    def log(self, values, step=None, **_):
        if self.writer is None:
            self.writer = csv.DictWriter(self.file, ["step", *values])
            self.writer.writeheader()
        if set(values) <= set(self.writer.fieldnames):
            self.writer.writerow({"step": step, **values})
            self.file.flush()


def trackers(spec):
    chosen = spec.log.split(",")
    return [CsvTracker() if name == "csv" else name for name in chosen if name in ("csv", "tensorboard")]


def main():
    spec = settings.parse(log="tensorboard", lr=1e-3, epochs=8, clip=1.0)
    logging.basicConfig(
        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO
    )
    torch.set_num_threads(1)
    set_seed(spec.seed)
    half = "fp16" if spec.wants("fp16") else "no"
    accelerator = Accelerator(
        log_with=trackers(spec) or None,
        project_dir=".",
        cpu=True,
        mixed_precision="bf16" if spec.wants("bf16") else half,
    )
    log = get_logger(__name__, log_level="INFO")
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    model, loss_fn = parts.Net(spec, data), parts.loss_of(spec, data)
    optimizer = parts.optimizer_of(spec, parts.trainable(spec, model))
    total = spec.epochs * len(train)
    scheduler = parts.scheduler_of(spec, optimizer, total)
    model, optimizer, train, valid, scheduler = accelerator.prepare(model, optimizer, train, valid, scheduler)
    accelerator.init_trackers(
        "my_project",
        config={
            "learning_rate": spec.lr,
            "num_train_epochs": spec.epochs,
            "train_batch_size": spec.batch,
            "seed": spec.seed,
            "weight_decay": spec.decay,
            "max_grad_norm": spec.clip,
        },
    )
    log.info("***** Running training *****")
    log.info(f"  Num examples = {len(data.x)}")
    log.info(f"  Num Epochs = {spec.epochs}")
    log.info(f"  Instantaneous batch size per device = {spec.batch}")
    log.info(f"  Total optimization steps = {total}")
    bar, step = tqdm(range(total), disable=not spec.wants("bar"), mininterval=0.3), 0
    if spec.resume:
        accelerator.load_state("step_saved") if spec.resume == "full" else accelerator.unwrap_model(
            model
        ).load_state_dict(torch.load("step_saved/weights.pt"))
        step = spec.stop
        log.info(f"Resumed from checkpoint: step_saved, step {step}")
        bar.update(step)
    for epoch in range(step // len(train), spec.epochs):
        model.train()
        sums = 0.0
        for batch in train:
            settings.before_step(spec, step)
            x, y = batch
            with accelerator.accumulate(model), accelerator.autocast():
                loss = loss_fn(model(x), y)
            sums += loss.item()
            accelerator.backward(loss)
            norm = accelerator.clip_grad_norm_(model.parameters(), spec.clip) if spec.clip else None
            optimizer.step()
            scheduler.step()
            if not spec.has("no-zero-grad"):
                optimizer.zero_grad()
            step += 1
            bar.update(1)
            bar.set_postfix(loss=loss.item(), lr=scheduler.get_last_lr()[0])
            record.train(step, loss.item())
            if step % spec.every == 0:
                more = {"grad_norm": float(norm)} if norm is not None and spec.wants("norm") else {}
                more.update({"rss_mb": settings.rss_mb()} if spec.wants("rss") else {})
                accelerator.log({"train_loss": loss.item(), "lr": scheduler.get_last_lr()[0], **more}, step=step)
            if spec.stop and step == spec.stop and not spec.resume:
                accelerator.save_state("step_saved")
                torch.save(accelerator.unwrap_model(model).state_dict(), "step_saved/weights.pt")
                log.info("Saved state to step_saved")
                accelerator.end_training()
                return
        held, right = parts.measure(accelerator.unwrap_model(model), spec, data)
        record.eval(step, held)
        log.info(
            f"epoch {epoch}: {{'accuracy': {right:.4f}}} eval_loss: {held:.4f} train_loss: {sums / len(train):.4f}"
        )
        accelerator.log({"eval_loss": held, "accuracy": right, "epoch": epoch}, step=step)
    accelerator.end_training()
    parts.finish(record, accelerator.unwrap_model(model), spec, data)


if __name__ == "__main__":
    main()
