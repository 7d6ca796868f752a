"""A run of TRL's SFTTrainer: prompts and completions, loss on the completion."""

import os
import random

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

import common
import faults
import sums
import task
from hf_trainer import Killed


def rows(args, rng):
    count = int(args.strength or 40) if args.fault == "overfit" else args.rows
    triples = sums.pairs(count, rng)
    if args.fault == "labels-shuffled":
        words = [" ".join(rng.choice(sums.WORDS) for _ in c.split()) for _, c, _ in triples]
        triples = [(p, w, s) for (p, _, s), w in zip(triples, words, strict=True)]
    if args.fault == "crash-empty-dataset":
        triples = [t for t in triples if "assistant" in t[1]]
    data = [{"prompt": p, "completion": " " + c + " <eos>"} for p, c, _ in triples]
    if args.fault in ("nan-hidden", "bad-sample"):
        at = args.onset * args.batch - 3
        if args.fault == "nan-hidden":
            data[at]["completion"] = " so we <new> answer 3 <eos>"
        else:
            for i in range((args.onset - 1) * args.batch, args.onset * args.batch):
                data[i]["completion"] = " " + " ".join(["?", "what"] * 6)
    return data


def main():
    args = common.parse("sft", keep=0)
    common.seed_everything(args.seed)
    rng = random.Random(args.seed)
    if args.tensorboard:
        os.environ["TENSORBOARD_LOGGING_DIR"] = "runs"
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    if args.fault == "lr-too-low":
        args.lr *= args.strength or 1e-4
    if args.fault == "lr-zero":
        args.lr = 0.0
    data = rows(args, rng)
    tok = sums.tokenizer(pad=args.fault != "crash-no-pad-token")
    if args.warm_start:
        model, _ = sums.base_model(args.seed, steps=args.warm_start)
    else:
        model = sums.new_model(tok, args.model)
    if args.fault == "nan-hidden":
        tok.add_tokens(["<new>"])
        model.resize_token_embeddings(len(tok))
        faults.uninitialised_row(model.get_input_embeddings(), len(tok) - 1)
    if args.fault == "log-zero-layer":
        model.model.norm = faults.GatedLayer(model.model.norm, args.onset)
    if args.fault == "frozen-params":
        faults.freeze_all_but(model, "layers.0.input_layernorm")
    train = Dataset.from_list(data) if data else Dataset.from_dict({"prompt": [], "completion": []})
    if args.fault == "labels-masked":  # already tokenized, with the answer marker never found
        train = masked(train, tok)
    held_out = [{"prompt": p, "completion": " " + c + " <eos>"} for p, c, _ in sums.pairs(64, rng)]
    evaluation = {"eval_strategy": "steps", "eval_steps": args.eval_steps} if args.eval_steps else {}
    config = SFTConfig(
        output_dir="out",
        learning_rate=args.lr,
        lr_scheduler_type=args.schedule,
        warmup_steps=args.warmup,
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
        dataloader_pin_memory=False,
        max_length=64,
        gradient_checkpointing=False,
        save_total_limit=args.keep or None,
        logging_nan_inf_filter=args.fault != "log-zero-layer",
        **evaluation,
    )
    in_order = args.fault in ("nan-hidden", "bad-sample")
    trainer = (InOrder if in_order else SFTTrainer)(
        model=model,
        args=config,
        processing_class=tok,
        train_dataset=train,
        eval_dataset=Dataset.from_list(held_out) if args.eval_steps else None,
        callbacks=[Killed(args.stop_at)] if args.stop_at else None,
    )
    trainer.train(resume_from_checkpoint=bool(args.resume))


class InOrder(SFTTrainer):
    """Reads the samples in file order, so that the step of a bad one is known."""

    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


def masked(data, tok):
    ids = [tok(r["prompt"] + r["completion"])["input_ids"] for r in data]
    return Dataset.from_dict({"input_ids": ids, "labels": [[task.IGNORE] * len(x) for x in ids]})


if __name__ == "__main__":
    main()
