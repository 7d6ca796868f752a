"""PyTorch-Ignite: engines with handlers that print or log, as its MNIST examples do."""

import logging
import time

import parts
import spec as settings
import tasks
import torch
from ignite.contrib.handlers import ProgressBar
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.handlers import TerminateOnNan
from ignite.handlers.tensorboard_logger import TensorboardLogger
from ignite.metrics import Accuracy, Loss, MeanSquaredError
from ignite.utils import setup_logger


def trainer_of(spec, model, optimizer, loss_fn, scheduler):
    def update(engine, batch):
        settings.before_step(spec, engine.state.iteration - 1)
        model.train()
        if not spec.has("no-zero-grad"):
            optimizer.zero_grad()
        x, y = batch
        loss = loss_fn(model(x), y)
        loss.backward()
        if spec.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), spec.clip)
        optimizer.step()
        scheduler.step()
        return loss.item()

    return Engine(update)


def attach_lines(spec, trainer, evaluator, feeds, record, optimizer):
    train, valid = feeds
    log = setup_logger("trainer", level=logging.INFO) if spec.log == "logger" else None
    say = log.info if log else print
    began = [time.perf_counter()]

    @trainer.on(Events.ITERATION_COMPLETED(every=spec.every))
    def _(engine):
        record.train(engine.state.iteration, engine.state.output)
        took, began[0] = time.perf_counter() - began[0], time.perf_counter()
        if spec.log == "logger":
            rate = optimizer.param_groups[0]["lr"]
            say(
                f"Epoch[{engine.state.epoch}/{spec.epochs}] Iter[{engine.state.iteration}] "
                f"loss={engine.state.output:.4f} lr={rate:.6f} time={took:.3f}s"
            )
        elif spec.log == "print":
            at = (engine.state.iteration - 1) % len(train) + 1
            say(f"Epoch[{engine.state.epoch}] Iteration[{at}/{len(train)}] Loss: {engine.state.output:.2f}")

    @trainer.on(Events.EPOCH_COMPLETED)
    def _(engine):
        for name, feed in (("Training", train), ("Validation", valid)):
            evaluator.run(feed)
            found = evaluator.state.metrics
            words = " ".join(f"Avg {key}: {value:.2f}" for key, value in found.items())
            say(f"{name} Results - Epoch: {engine.state.epoch}  {words}")
        record.eval(engine.state.iteration, evaluator.state.metrics["loss"])


def main():
    spec = settings.parse(log="print", lr=1e-3, epochs=8)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    feeds = parts.loaders(spec, data)
    model, loss = parts.Net(spec, data), parts.loss_of(spec, data)
    optimizer = parts.optimizer_of(spec, parts.trainable(spec, model))
    scheduler = parts.scheduler_of(spec, optimizer, spec.epochs * len(feeds[0]))
    trainer = trainer_of(spec, model, optimizer, loss, scheduler)
    metrics = (
        {"accuracy": Accuracy(), "loss": Loss(loss)}
        if data.classes
        else {"mse": MeanSquaredError(lambda o: (o[0][:, 0], o[1])), "loss": Loss(loss)}
    )
    evaluator = create_supervised_evaluator(model, metrics=metrics)
    attach_lines(spec, trainer, evaluator, feeds, record, optimizer)
    if spec.log == "bar":
        ProgressBar(persist=True).attach(trainer, output_transform=lambda x: {"batch loss": x})
    if spec.wants("tensorboard"):
        board = TensorboardLogger(log_dir="tb_logs")
        board.attach_output_handler(
            trainer,
            Events.ITERATION_COMPLETED(every=spec.every),
            tag="training",
            output_transform=lambda x: {"batchloss": x},
        )
        board.attach_opt_params_handler(trainer, Events.ITERATION_COMPLETED(every=spec.every), optimizer)
        board.attach_output_handler(
            evaluator,
            Events.COMPLETED,
            tag="validation",
            metric_names="all",
            global_step_transform=lambda *_: trainer.state.epoch,
        )
    if spec.wants("nanstop"):
        trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    trainer.run(feeds[0], max_epochs=spec.epochs)
    parts.finish(record, model, spec, data)


if __name__ == "__main__":
    main()
