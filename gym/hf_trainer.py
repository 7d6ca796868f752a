"""A run of the Hugging Face Trainer on a tiny model."""

import os
import signal

import torch
from transformers import DataCollatorForLanguageModeling, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

import common
import faults
import task


def make_data(args, rng, vocab, language):
    sample = language.sample if args.language == "markov" else task.arithmetic
    count = int(args.strength or 48) if args.fault == "overfit" else args.rows
    train, held_out = sample(count, args.length, rng), sample(128, args.length, rng)
    labels = features = None
    if args.fault == "labels-masked":
        labels = faults.masked_labels(train)
    if args.fault == "labels-shuffled":
        labels = faults.shuffled_labels(train, rng)
    if args.fault == "nonfinite-input" or (args.fault == "nan-hidden" and args.model == "plain"):
        features = faults.clean_features(count, args.length, rng)
        features[args.onset * args.batch - 3, 3] = float("inf") if args.strength == 2 else float("nan")
    if args.fault == "nan-hidden" and args.model != "plain":
        train = train % (vocab - 1)  # the last word of the vocabulary is new: it occurs in one sample only
        train[args.onset * args.batch - 3, 5] = vocab - 1
    weights = faults.heavy_weights(count, rng, args.heavy) if args.heavy else None
    if args.fault == "bad-sample":
        at = slice((args.onset - 1) * args.batch, args.onset * args.batch)
        train[at] = faults.garbage_rows(args.batch, args.length, vocab, rng)
    if args.fault == "crash-token-range":
        train[args.onset * args.batch - 3, 5] = vocab + 4
    if args.fault == "crash-empty-dataset":
        train = train[(train < 0).all(axis=1)]
    return task.Rows(train, labels, features, weights), task.Rows(held_out)


def make_model(args, vocab):
    if args.model in ("plain", "post-norm"):
        middle = faults.AnnealedLogGate(args.onset) if args.fault == "log-zero-layer" else None
        return task.PlainLM(
            vocab, args.width, args.layers, post_norm=args.model == "post-norm", middle=middle, length=args.length
        )
    model = task.library_model(args.model, vocab, args.width, args.layers, args.length, dropout=args.dropout)
    if args.fault == "nan-hidden":
        faults.uninitialised_row(model.get_input_embeddings(), vocab - 1)
    if args.fault == "frozen-params":
        faults.freeze_all_but(model, "wpe" if args.model == "gpt2" else "input_layernorm")
    if args.fault == "crash-matmul":
        model.lm_head = torch.nn.Linear(args.width // 2, vocab)
    return model


class InOrder(Trainer):
    """Reads the samples in file order, so that the step of a bad one is known."""

    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


class Killed(TrainerCallback):
    """The job is killed right after a checkpoint, as by a time limit."""

    def __init__(self, step):
        self.step = step

    def on_save(self, args, state, control, **_):
        if state.global_step >= self.step:
            os.kill(os.getpid(), signal.SIGKILL)


class CtrlC(TrainerCallback):
    """The user loses patience: the signal comes from outside and hits whatever runs then."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.step:
            common.interrupt_soon()


class NewScheduler(TrainerCallback):
    """As user code that builds a scheduler of its own again at a phase change: the count starts over."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, lr_scheduler=None, **_):
        if state.global_step == self.step:
            lr_scheduler.last_epoch = 0


def training_arguments(args):
    extra = {}
    if args.optim == "sgd":
        extra.update(optim="sgd", optim_args="momentum=0.9")
    if args.eval_steps:
        extra.update(eval_strategy="steps", eval_steps=args.eval_steps, per_device_eval_batch_size=64)
    if args.epochs:
        extra.update(num_train_epochs=args.epochs)
    else:
        extra.update(max_steps=args.steps)
    return TrainingArguments(
        output_dir="out",
        learning_rate=args.lr,
        lr_scheduler_type=args.schedule,
        warmup_steps=args.warmup,
        max_grad_norm=args.clip,
        per_device_train_batch_size=args.batch,
        gradient_accumulation_steps=args.accum,
        logging_steps=args.logging_steps,
        save_steps=args.save_steps or 100000,
        seed=args.seed,
        use_cpu=True,
        report_to=["tensorboard"] if args.tensorboard else "none",
        dataloader_pin_memory=False,
        save_only_model=args.fault == "resume-no-optimizer",
        save_total_limit=args.keep or None,
        logging_nan_inf_filter=args.fault not in ("nonfinite-input", "log-zero-layer"),
        **extra,
    )


def main():
    args = common.parse("hf", dropout=0.0, epochs=0, keep=0)
    rng = common.seed_everything(args.seed)
    if args.tensorboard:
        os.environ["TENSORBOARD_LOGGING_DIR"] = "runs"
    if args.fault == "lr-too-high":
        args.lr *= args.strength or 100
    if args.fault == "lr-too-low":
        args.lr *= args.strength or 1e-4
    if args.fault == "lr-zero":
        args.lr = 0.0
    if args.fault == "no-warmup":
        args.warmup = 0
    if args.fault == "no-clipping":
        args.clip = 0.0
    language = task.MarkovLanguage(seed=7 + args.seed % 3)
    vocab = language.vocab if args.language == "markov" else 13
    data, held_out = make_data(args, rng, vocab, language)
    model = make_model(args, vocab)
    if args.warm_start:
        warm_start(model, task.Rows(language.sample(args.batch * args.warm_start, args.length, rng)), args)
    callbacks = []
    if args.stop_at:
        callbacks.append(Killed(args.stop_at))
    if args.fault == "schedule-break":
        callbacks.append(NewScheduler(args.onset))
    if args.fault == "crash-interrupted":
        callbacks.append(CtrlC(args.onset))
    collator = None
    if args.fault == "crash-no-pad-token":
        collator = DataCollatorForLanguageModeling(
            task.word_tokenizer([str(i) for i in range(vocab)], pad=False), mlm=False
        )
    in_order = args.fault in ("nonfinite-input", "nan-hidden", "bad-sample", "crash-token-range")
    trainer = (InOrder if in_order else Trainer)(
        model=model,
        args=training_arguments(args),
        train_dataset=data,
        callbacks=callbacks,
        data_collator=collator,
        eval_dataset=held_out if args.eval_steps else None,
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint("out") if args.resume else None)


def warm_start(model, data, args):
    """Stands for pretraining: the run that follows is a fine-tune."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for batch in torch.utils.data.DataLoader(data, args.batch):
        loss = task.shifted_loss(model(input_ids=batch["input_ids"])["logits"], batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
