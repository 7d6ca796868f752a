"""Small runs as experiment trackers keep them: MLflow (database and folder), trackio, and what they leave when killed.

usage: trackers.py FOLDER        needs mlflow and trackio (see README.md)

The numbers are a curve with a known formula, not a training: the fixtures are for readers, not for detectors.
"""

import gzip
import math
import os
import shutil
import sqlite3
import sys
from pathlib import Path

STEPS = 12


def loss_at(step, offset=0.0):
    return round(3.0 / (1 + 0.25 * step) + offset, 6)


def log_mlflow(mlflow, name, offset):
    with mlflow.start_run(run_name=name):
        mlflow.log_params({"learning_rate": 0.0003, "per_device_train_batch_size": 4, "max_steps": STEPS})
        mlflow.set_tag("team", "gym")
        for step in range(1, STEPS + 1):
            loss = math.nan if step == 9 and offset else loss_at(step, offset)
            values = {"train/loss": loss, "train/grad_norm": math.inf if step == 9 and offset else 0.5}
            mlflow.log_metrics(values, step=step)


def make_mlflow(folder):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    for kind, uri in (("mlflow-db", f"sqlite:///{folder}/mlflow.db"), ("mlflow-files", f"file://{folder}/mlruns")):
        mlflow.set_tracking_uri(uri)
        experiment = mlflow.create_experiment(kind, artifact_location="mlflow-artifacts:/gym")
        mlflow.set_experiment(experiment_id=experiment)
        log_mlflow(mlflow, "steady", 0.0)
        log_mlflow(mlflow, "broken", 1.0)
        with mlflow.start_run(run_name="stopped"):
            for value in (2.5, 2.25, 2.0):
                mlflow.log_metric("loss", value)  # without a step, as many people do
            mlflow.end_run("FAILED")
        with mlflow.start_run(run_name="thrown-away") as run:
            mlflow.log_metric("loss", 9.0, step=1)
        mlflow.delete_run(run.info.run_id)


def make_trackio(folder):
    os.environ["TRACKIO_DIR"] = str(folder / "trackio")
    import trackio

    for name, offset in (("steady", 0.0), ("broken", 1.0)):
        trackio.init(project="gym", name=name, config={"learning_rate": 0.0003, "max_steps": STEPS})
        for step in range(1, STEPS + 1):
            loss = math.nan if step == 9 and offset else loss_at(step, offset)
            trackio.log({"train/loss": loss, "train/grad_norm": 0.5}, step=step)
        trackio.finish()


def keep_log_beside(database, into):
    """A copy of the database as a writer that was killed leaves it: the newest rows only in the write-ahead log."""
    shutil.copy(database, into)
    writer = sqlite3.connect(into)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    columns = [row[1] for row in writer.execute("PRAGMA table_info(metrics)")]
    last = dict(zip(columns, writer.execute("SELECT * FROM metrics ORDER BY id DESC").fetchone(), strict=True))
    for step in (STEPS + 1, STEPS + 2):
        row = {key: value for key, value in last.items() if key not in ("id", "log_id")}
        row |= {"step": step, "metrics": f'{{"train/loss": {loss_at(step, 1.0)}}}'}
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        writer.execute(f"INSERT INTO metrics ({names}) VALUES ({marks})", list(row.values()))
        writer.commit()
    for suffix in ("", "-wal"):
        shutil.copy(f"{into}{suffix}", f"{into}.kept{suffix}")
    writer.close()
    for suffix in ("", "-wal"):
        shutil.move(f"{into}.kept{suffix}", f"{into}{suffix}")


def pack(path):
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    make_mlflow(folder)
    make_trackio(folder)
    (folder / "killed").mkdir(exist_ok=True)
    database = next((folder / "trackio").glob("*.db"))
    keep_log_beside(database, folder / "killed" / "gym.db")
    for packed in (*folder.glob("*.db"), *folder.glob("*/gym.db*")):
        pack(packed)
    for left in (*folder.rglob("*.lock"), *folder.rglob("mlflow.source.*"), *folder.rglob("mlflow.user")):
        left.unlink()


if __name__ == "__main__":
    main()
