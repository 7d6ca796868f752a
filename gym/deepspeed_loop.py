"""A loop as people write it with DeepSpeed, whose engine schedules, clips, prints and writes one-metric tables."""

import os
import sys

import torch

import common
import task
import torch_loop


def settings(args):
    shape = {"warmup_max_lr": args.lr, "warmup_num_steps": args.warmup}
    decays = args.schedule != "constant"
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": args.accum,
        "gradient_clipping": args.clip,
        "steps_per_print": args.logging_steps,
        "optimizer": {"type": "AdamW", "params": {"lr": args.lr, "weight_decay": 0.01, "torch_adam": True}},
        "scheduler": {
            "type": "WarmupDecayLR" if decays else "WarmupLR",
            "params": {**shape, "total_num_steps": args.steps} if decays else shape,
        },
        "csv_monitor": {"enabled": "csv" in args.log, "output_path": ".", "job_name": "csv"},
        "tensorboard": {"enabled": "tensorboard" in args.log, "output_path": ".", "job_name": "tb"},
        "wall_clock_breakdown": False,
    }


def main():
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1")):
        os.environ.setdefault(name, value)
    os.environ.setdefault("MASTER_PORT", "29561")
    import deepspeed

    # An operator for several processes on one machine, which would be compiled for minutes.
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None
    args = common.parse("deepspeed", log="csv")
    rng = common.seed_everything(args.seed)
    language = task.MarkovLanguage(seed=7 + args.seed % 3)
    data, _ = torch_loop.make_data(args, rng, language.vocab, language)
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    deepspeed.init_distributed(dist_backend="gloo")
    model = torch_loop.make_model(args, language.vocab)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings(args))
    feed = torch.utils.data.DataLoader(data, args.batch, shuffle=True, drop_last=True)
    while engine.global_steps < args.steps:
        for batch in feed:
            loss = engine(**batch)["loss"]
            engine.backward(loss)
            engine.step()
            if engine.global_steps % args.logging_steps == 0 and engine.is_gradient_accumulation_boundary():
                print(f"step {engine.global_steps}: loss {loss.item():.4f}")
            if engine.global_steps >= args.steps:
                break


if __name__ == "__main__":
    main()
