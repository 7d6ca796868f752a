"""MMEngine: Runner with its text log, scalars.json and config dump."""

import time

import parts
import spec as settings
import tasks
import torch
from mmengine.config import Config
from mmengine.evaluator import BaseMetric
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.optim import AmpOptimWrapper, OptimWrapper
from mmengine.runner import Runner


class Model(BaseModel):
    def __init__(self, spec, data):
        super().__init__()
        self.net, self.loss_fn = parts.Net(spec, data), parts.loss_of(spec, data)

    def forward(self, x, y, mode):
        out = self.net(x)
        return {"loss": self.loss_fn(out, y)} if mode == "loss" else (out, y)


class Score(BaseMetric):
    def __init__(self, spec, data, record):
        super().__init__()
        self.spec, self.data, self.record, self.loss_fn = spec, data, record, parts.loss_of(spec, data)

    def process(self, data_batch, data_samples):
        out, y = data_samples
        right = (out.argmax(-1) == y).sum().item() if self.data.classes else 0
        self.results.append((len(y), right, self.loss_fn(out, y).item() * len(y)))

    def compute_metrics(self, results):
        count = sum(r[0] for r in results)
        found = {"loss": sum(r[2] for r in results) / count}
        if self.data.classes:
            found["accuracy"] = 100 * sum(r[1] for r in results) / count
        self.record.eval(0, found["loss"])
        return found


class Watch(Hook):
    def __init__(self, spec, record):
        self.spec, self.record = spec, record

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        settings.before_step(self.spec, runner.iter)

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        if (runner.iter + 1) % self.spec.every == 0:
            self.record.train(runner.iter + 1, outputs["loss"])


class Keeping(OptimWrapper):
    """Gradients are never cleared."""

    def zero_grad(self, **_):
        pass


class SlowRows(parts.Rows):
    """A dataset on slow storage."""

    def __init__(self, x, y, pause):
        super().__init__(x, y)
        self.pause = pause

    def __getitem__(self, i):
        time.sleep(self.pause)
        return super().__getitem__(i)


def main():
    spec = settings.parse(lr=1e-3, epochs=8, every=10)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    train, valid = parts.loaders(spec, data)
    if spec.has("data-starved"):
        train = torch.utils.data.DataLoader(
            SlowRows(data.x, data.y, spec.of(0.0004)), spec.batch, shuffle=True, drop_last=True
        )
    model = Model(spec, data)
    wrapper = Keeping if spec.has("no-zero-grad") else OptimWrapper
    clip = {"max_norm": spec.clip} if spec.clip else ({"max_norm": 1e9} if spec.wants("norm") else None)
    wrapped = wrapper(parts.optimizer_of(spec, parts.trainable(spec, model.net)), clip_grad=clip)
    if spec.wants("amp"):
        wrapped = AmpOptimWrapper(loss_scale="dynamic", dtype="float16", optimizer=wrapped.optimizer, clip_grad=clip)
    scheduler = []
    if spec.schedule != "constant":
        scheduler = [
            {"type": "LinearLR", "start_factor": 0.01, "by_epoch": False, "begin": 0, "end": len(train) // 2},
            {"type": "CosineAnnealingLR", "T_max": spec.epochs * len(train), "by_epoch": False, "begin": 0},
        ]
    config = {
        "optim_wrapper": {
            "optimizer": {"type": "AdamW" if spec.decay else "Adam", "lr": spec.lr, "weight_decay": spec.decay}
        },
        "train_dataloader": {"batch_size": spec.batch},
        "seed": spec.seed,
        "max_epochs": spec.epochs,
    }
    runner = Runner(
        model=model,
        work_dir="work_dirs/table",
        train_dataloader=train,
        val_dataloader=valid,
        val_evaluator=[Score(spec, data, record)],
        train_cfg={"by_epoch": True, "max_epochs": spec.epochs, "val_interval": 1},
        val_cfg={},
        optim_wrapper=wrapped,
        param_scheduler=scheduler or None,
        default_hooks={
            "logger": {"type": "LoggerHook", "interval": spec.every},
            "checkpoint": {"type": "CheckpointHook", "interval": -1, "save_last": False},
        },
        custom_hooks=[Watch(spec, record)],
        randomness={"seed": spec.seed},
        experiment_name="table",
        cfg=Config(config),
    )
    runner.train()
    parts.finish(record, model.net, spec, data)


if __name__ == "__main__":
    main()
