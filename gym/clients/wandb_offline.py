"""Offline runs by W&B's own client: finished, killed, failed with a traceback, counted by a metric of its own.

usage: wandb_offline.py FOLDER        the C++ test knows the values

Each run is made by a process of its own, since it is the client that writes the last records when a process ends.
"""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

STEPS = 12
# Under another name, so that no path of this machine stands in a traceback.
AS_TRAIN = "import sys; exec(compile(open(sys.argv.pop(1)).read(), 'train.py', 'exec'))"


def loss_at(step):
    return 3.0 / (1 + 0.25 * step)


def start(folder, name, **more):
    import wandb

    # Names of the machine have no place in a fixture.
    quiet = wandb.Settings(
        x_disable_meta=True,
        disable_git=True,
        host="gym",
        program="gym.py",
        program_relpath="gym.py",
        x_stats_sampling_interval=0.2,
        silent=True,
    )
    config = {
        "learning_rate": 0.0003,
        "model": {"vocab_size": 512, "hidden_size": 64},
        "max_steps": STEPS,
        "bf16": True,
    }
    return wandb.init(
        project="gym", name=name, id=name, dir=folder, mode="offline", config=config, settings=quiet, **more
    )


def finished(folder):
    """Nested keys, NaN and infinity, a histogram, console output, system metrics, an alert."""
    import numpy as np
    import wandb

    run = start(folder, "finished")
    for step in range(1, STEPS + 1):
        print(f"step {step}: loss {loss_at(step):.4f}")
        row = {"train": {"loss": math.nan if step == 9 else loss_at(step), "grad": {"norm": 0.5}}}
        if step == 9:
            row["eval/loss"] = math.inf
        if step in (1, STEPS):
            row["weights"] = wandb.Histogram(np_histogram=np.histogram(np.linspace(-step, step, 101), bins=10))
        run.log(row)
        time.sleep(0.1)
    run.alert(title="loss is NaN", text="seen at step 9", level="WARN")
    run.summary["best"] = 0.75
    run.finish()


def killed(folder):
    """No exit record; the file ends with the last block that the client had written."""
    run = start(folder, "killed")
    for step in range(1, 401):
        run.log({"loss": loss_at(step)}, step=10 * step)
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)


def failed(folder):
    run = start(folder, "failed")
    for step in range(1, STEPS + 1):
        run.log({"loss": loss_at(step)}, step=step)
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def own_axis(folder):
    """Counted by a metric that the user defined, with rows of evaluation between those of training."""
    run = start(folder, "own-axis")
    run.define_metric("updates")
    run.define_metric("*", step_metric="updates")
    for step in range(1, STEPS + 1):
        run.log({"updates": 100 * step, "loss": loss_at(step)})
        if step % 4 == 0:
            run.log({"updates": 100 * step, "val_loss": loss_at(step) + 0.5})
    run.finish()


MAKERS = {"finished": finished, "killed": killed, "failed": failed, "own-axis": own_axis}


def main():
    folder = Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        MAKERS[sys.argv[2]](folder)
        return
    for name in MAKERS:
        work = folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-c", AS_TRAIN, __file__, str(work), name], check=False)
        file = next(work.rglob(f"run-{name}.wandb"))
        (folder / name).mkdir(exist_ok=True)
        file.rename(folder / name / file.name)
    subprocess.run(["rm", "-rf", str(folder / "work")], check=True)


if __name__ == "__main__":
    main()
