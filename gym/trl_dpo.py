"""A run of TRL's DPOTrainer on small sums: the right answer is chosen, a wrong one rejected."""

import os
import random

from datasets import Dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

import common
import sums


def rows(args, rng):
    out = []
    for _ in range(args.rows):
        a, b = rng.randrange(sums.LIMIT), rng.randrange(sums.LIMIT)
        right, wrong = sums.reply(a, b, rng), sums.reply(a, b, rng, wrong=1.0)
        if args.fault == "preference-shuffled" and rng.random() < 0.5:
            right, wrong = wrong, right
        out.append({"prompt": sums.question(a, b), "chosen": f" {right} <eos>", "rejected": f" {wrong} <eos>"})
    return Dataset.from_list(out)


def main():
    args = common.parse("dpo", beta=0.1)
    common.seed_everything(args.seed)
    if args.tensorboard:
        os.environ["TENSORBOARD_LOGGING_DIR"] = "runs"
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    model, tok = sums.base_model(args.seed)
    model.save_pretrained("base")
    rng = random.Random(args.seed + 2)
    evaluation = {"eval_strategy": "steps", "eval_steps": args.eval_steps} if args.eval_steps else {}
    config = DPOConfig(
        output_dir="out",
        learning_rate=args.lr,
        lr_scheduler_type=args.schedule,
        warmup_steps=args.warmup,
        beta=args.beta,
        max_steps=args.steps,
        per_device_train_batch_size=args.batch,
        gradient_accumulation_steps=args.accum,
        max_grad_norm=args.clip,
        logging_steps=args.logging_steps,
        save_steps=args.save_steps or 100000,
        seed=args.seed,
        use_cpu=True,
        bf16=False,
        report_to=["tensorboard"] if args.tensorboard else "none",
        max_length=64,
        dataloader_pin_memory=False,
        gradient_checkpointing=False,
        **evaluation,
    )
    train = rows(args, rng)
    held_out = train.select(range(64)) if args.eval_steps else None
    trainer = DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained("base"),
        args=config,
        processing_class=tok,
        train_dataset=train.select(range(64, len(train))),
        eval_dataset=held_out,
    )
    trainer.train()


if __name__ == "__main__":
    main()
