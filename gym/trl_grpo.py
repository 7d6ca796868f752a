"""A run of TRL's GRPOTrainer on small sums: a reward for the right answer, and one for its form."""

import importlib
import os
import random

from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

import common
import sums
from hf_trainer import Killed


def last_number(text):
    words = text.split()
    return int(words[-1]) if words and words[-1].isdigit() else None


def correct_reward(completions, total, **_):
    return [1.0 if last_number(c) == t else 0.0 for c, t in zip(completions, total, strict=True)]


def close_reward(completions, total, **_):
    """Part of the reward for a near miss."""
    numbers = [last_number(c) for c in completions]
    return [0.0 if n is None else max(0.0, 1.0 - abs(n - t) / 4) for n, t in zip(numbers, total, strict=True)]


def format_reward(completions, **_):
    return [0.5 if "answer" in c.split() else 0.0 for c in completions]


def boxed_reward(completions, total, **_):
    """Looks for a form that this model never writes."""
    return [1.0 if f"\\boxed{{{t}}}" in c else 0.0 for c, t in zip(completions, total, strict=True)]


def difficulty_reward(prompts, total, **_):
    """Scores the question in place of the answer."""
    return [(t // 4) / 4 for t in total]


def count_reward(completions, **_):
    """Pays for one word, seldom used, over and over."""
    return [c.split().count("?") / 8 for c in completions]


def rewards(args):
    if args.fault == "reward-constant":
        return [boxed_reward]
    if args.fault == "zero-variance-groups":
        return [difficulty_reward]
    if args.fault == "crash-reward-import":
        return [importlib.import_module("my_rewards.math_reward").reward]
    return {"correct": [correct_reward], "both": [close_reward, format_reward], "count": [count_reward]}[args.reward]


def main():
    args = common.parse(
        "grpo",
        reward="correct",
        beta=0.0,
        generations=8,
        temperature=1.0,
        completion=16,
        keep=0,
        iterations=1,
        completions=False,
        limit=sums.LIMIT,
    )
    common.seed_everything(args.seed)
    if args.tensorboard:
        os.environ["TENSORBOARD_LOGGING_DIR"] = "runs"
    if args.fault in ("lr-too-high", "entropy-collapse", "kl-blowup"):
        args.lr *= args.strength or 10
    if args.fault == "lr-zero":
        args.lr = 0.0
    if args.fault == "completions-truncated":
        args.completion = int(args.strength or 3)
    if args.fault == "crash-generations":
        args.batch = args.generations + 1
    model, tok = sums.base_model(args.seed, steps=args.warm_start or 500)
    if args.beta:  # the reference model is read again from where the policy came from
        model.save_pretrained("base")
        model = AutoModelForCausalLM.from_pretrained("base")
    rng = random.Random(args.seed + 1)
    data = Dataset.from_list([{"prompt": p, "total": t} for p, _, t in sums.pairs(args.rows, rng, limit=args.limit)])
    config = GRPOConfig(
        output_dir="out",
        learning_rate=args.lr,
        lr_scheduler_type=args.schedule,
        warmup_steps=args.warmup,
        max_steps=args.steps,
        per_device_train_batch_size=args.batch,
        gradient_accumulation_steps=args.accum,
        num_generations=args.generations,
        max_completion_length=args.completion,
        beta=args.beta,
        temperature=args.temperature,
        num_iterations=args.iterations,
        max_grad_norm=args.clip,
        logging_steps=args.logging_steps,
        save_steps=args.save_steps or 100000,
        seed=args.seed,
        use_cpu=True,
        bf16=False,
        report_to=["tensorboard"] if args.tensorboard else "none",
        dataloader_pin_memory=False,
        gradient_checkpointing=False,
        save_total_limit=args.keep or None,
        log_completions=args.completions,
    )
    trainer = GRPOTrainer(
        model=model,
        args=config,
        processing_class=tok,
        train_dataset=data,
        reward_funcs=rewards(args),
        callbacks=[Killed(args.stop_at)] if args.stop_at else None,
    )
    trainer.train(resume_from_checkpoint=bool(args.resume))


if __name__ == "__main__":
    main()
