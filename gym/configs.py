"""Settings as trainers leave them: training_args.bin (transformers, TRL), hparams.yaml (Lightning), W&B's files.

usage: configs.py FOLDER        needs what requirements.txt names, and lightning and wandb for their files
"""

import os
import sys
from pathlib import Path


def make_training_args(folder):
    import torch
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir="out",
        learning_rate=3e-4,
        warmup_steps=50,
        max_grad_norm=0.5,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=8,
        max_steps=1200,
        lr_scheduler_type="cosine",
        logging_steps=10,
        use_cpu=True,
        report_to=[],
    )
    torch.save(arguments, folder / "training_args.bin")


def make_trl_args(folder):
    import torch
    from trl import GRPOConfig

    arguments = GRPOConfig(
        output_dir="out", learning_rate=1e-6, beta=0.04, num_generations=8, use_cpu=True, report_to=[]
    )
    torch.save(arguments, folder / "grpo_training_args.bin")


def make_old_pickle(folder):
    """As torch before 1.6 saved it: pickles in a row, no archive around them."""
    import torch

    settings = {"learning_rate": 3e-4, "weight_decay": 0.1, "optimizer": "adamw"}
    torch.save(settings, folder / "old_args.pt", _use_new_zipfile_serialization=False)


def make_hparams(folder):
    from lightning.pytorch.loggers import CSVLogger

    logger = CSVLogger(folder, name="lightning", version=0)
    logger.log_hyperparams({"optimizer": {"lr": 0.001, "weight_decay": 0.01}, "batch_size": 32, "max_epochs": 3})
    logger.log_metrics({"train_loss": 2.5}, step=1)
    logger.save()


def make_wandb(folder):
    import wandb

    os.environ["WANDB_SILENT"] = "true"
    config = {"learning_rate": 0.0003, "model": {"vocab_size": 512}, "max_steps": 12}
    # Names of the machine have no place in a fixture.
    quiet = wandb.Settings(
        x_disable_meta=True, disable_git=True, host="gym", program="gym.py", program_relpath="gym.py"
    )
    run = wandb.init(project="gym", dir=folder, mode="offline", config=config, settings=quiet)
    for step in range(1, 13):
        print(f"step {step}: loss {3.0 / (1 + 0.25 * step):.4f}")
        run.log({"train": {"loss": 3.0 / (1 + 0.25 * step)}, "train/grad_norm": 0.5, "train/global_step": 10 * step})
    run.finish()


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    makers = {
        "training_args": make_training_args,
        "trl": make_trl_args,
        "old": make_old_pickle,
        "hparams": make_hparams,
        "wandb": make_wandb,
    }
    for name in sys.argv[2:] or makers:
        makers[name](folder)


if __name__ == "__main__":
    main()
