"""Ultralytics: YOLO classification from scratch on small pictures; its table and results.csv."""

import logging
from pathlib import Path

import numpy as np
import parts
import spec as settings
import tasks
import torch
from PIL import Image
from ultralytics import YOLO
from ultralytics.utils import LOGGER


def pictures(spec, data):
    """The set as folders of PNG files, as the trainer wants it."""
    rng = np.random.default_rng(spec.seed)
    for part, x, y in (("train", data.x, data.y), ("val", data.x_val[:200], data.y_val[:200])):
        for i, (image, label) in enumerate(zip(x, y, strict=True)):
            folder = Path("data", part, f"class{label}")
            folder.mkdir(parents=True, exist_ok=True)
            grey = np.clip(128 + 45 * np.kron(image[0], np.ones((3, 3))), 0, 255).astype(np.uint8)
            Image.fromarray(np.stack([grey] * 3, -1)).save(folder / f"{i}.png")
    del rng


def main():
    spec = settings.parse(task="images", lr=2e-3, rows=360, epochs=8, batch=32)
    parts.begin(spec)
    record, data = settings.Record(), tasks.load(spec)
    pictures(spec, data)
    LOGGER.setLevel(logging.INFO)
    model = YOLO("yolo11n-cls.yaml")
    epochs = []

    def after(trainer):
        loss = trainer.tloss
        epochs.append(float(next(iter(loss.values())) if isinstance(loss, dict) else loss))
        record.train(len(epochs), epochs[-1])
        if "val/loss" in trainer.metrics:
            record.eval(len(epochs), trainer.metrics["val/loss"])

    model.add_callback("on_fit_epoch_end", after)
    model.add_callback("on_train_batch_start", lambda trainer: settings.before_step(spec, len(epochs) * 12))
    model.train(
        data=str(Path("data").resolve()),
        epochs=spec.epochs,
        imgsz=32,
        batch=spec.batch,
        lr0=spec.lr,
        lrf=0.1,
        optimizer="AdamW" if spec.optim == "adam" else "SGD",
        device="cpu",
        workers=0,
        seed=spec.seed,
        plots=False,
        save=False,
        val=True,
        weight_decay=spec.decay or 5e-4,
        freeze=10 if spec.has("frozen") else None,
        warmup_epochs=1.0 if spec.schedule != "none" else 0.0,
        amp=False,
        project="runs",
        name="train",
        cos_lr=spec.schedule == "cosine",
        auto_augment="",
        erasing=0.0,
        fliplr=0.0,
        scale=0.0,
        hsv_h=0.0,
        hsv_s=0.0,
        hsv_v=0.0,
        translate=0.0,
    )
    x = (
        torch.from_numpy(
            np.clip(128 + 45 * np.kron(data.x_clean[:200], np.ones((3, 3))), 0, 255).astype(np.uint8)
        ).float()
        / 255
    )
    net = model.trainer.ema.ema.float().eval()
    with torch.no_grad():
        x = torch.nn.functional.interpolate(x.repeat(1, 3, 1, 1), (32, 32), mode="bilinear")
        out = net(x)
        out = out[0] if isinstance(out, (tuple, list)) else out
    names = [model.trainer.data["names"][i] for i in range(data.classes)]
    guess = np.array([int(names[i].removeprefix("class")) for i in out.argmax(-1).tolist()])
    record.final(float((guess == data.y_clean[:200]).mean()), "higher")


if __name__ == "__main__":
    main()
