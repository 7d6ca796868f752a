"""A loop as people write it with Accelerate, which prepares model and data and logs through its trackers."""

import torch
from accelerate import Accelerator

import common
import task
import torch_loop


def main():
    args = common.parse("accelerate", log="tensorboard")
    rng = common.seed_everything(args.seed)
    language = task.MarkovLanguage(seed=7 + args.seed % 3)
    data, held_out = torch_loop.make_data(args, rng, language.vocab, language)
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    accelerator = Accelerator(cpu=True, log_with=args.log, project_dir=".", gradient_accumulation_steps=args.accum)
    settings = {
        "learning_rate": args.lr,
        "warmup_steps": args.warmup,
        "max_grad_norm": args.clip,
        "max_steps": args.steps,
    }
    accelerator.init_trackers("gym", config=settings)
    model = torch_loop.make_model(args, language.vocab)
    optimizer = torch_loop.make_optimizer(args, model.parameters())
    scheduler = torch_loop.make_scheduler(args, optimizer)
    feed = torch.utils.data.DataLoader(data, args.batch, shuffle=True, drop_last=True)
    model, optimizer, feed = accelerator.prepare(model, optimizer, feed)
    step = 0
    while step < args.steps:
        for batch in feed:
            with accelerator.accumulate(model):
                loss = model(**batch)["loss"]
                accelerator.backward(loss)
                norm = accelerator.clip_grad_norm_(model.parameters(), args.clip or float("inf"))
                optimizer.step()
                optimizer.zero_grad()
            if not accelerator.sync_gradients:
                continue
            step += 1
            row = {"train/loss": loss.item(), "train/grad_norm": float(norm), "train/lr": scheduler.get_last_lr()[0]}
            scheduler.step()
            if args.eval_steps and step % args.eval_steps == 0:
                row["eval/loss"] = torch_loop.evaluate(model, held_out)
            if step % args.logging_steps == 0:
                accelerator.log(row, step=step)
                accelerator.print(f"step {step} loss {row['train/loss']:.4f}")
            if step == args.steps:
                break
    accelerator.end_training()


if __name__ == "__main__":
    main()
