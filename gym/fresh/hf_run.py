"""transformers: a small BERT or GPT-2 with the Trainer, its logs printed by a callback; `model=lora`: peft."""

import os

import firstset  # noqa: F401
import numpy as np
import spec as settings
import torch
import transformers as hf
from tasks import Language

VOCAB = 48


class Say(hf.TrainerCallback):
    def __init__(self, record, spec):
        self.record, self.spec = record, spec

    def on_step_begin(self, args, state, control, **_):
        if self.spec.has("memory-leak") and state.global_step >= self.spec.onset:
            settings.before_step(self.spec, state.global_step)

    def on_log(self, args, state, control, logs=None, **_):
        at = state.global_step
        if "loss" in logs:
            self.record.train(at, logs["loss"])
            print(
                f"[{at}/{state.max_steps}] train_loss -> {logs['loss']:.4f} (lr {logs['learning_rate']:.3g}, "
                f"grad {float(logs.get('grad_norm') or 0):.3f}, ep {logs['epoch']:.2f})"
                + (f" rss {settings.rss_mb():.0f}MB" if self.spec.wants("rss") else "")
            )
        elif "eval_loss" in logs:
            self.record.eval(at, logs["eval_loss"])
            print(f"[{at}/{state.max_steps}] ** eval_loss -> {logs['eval_loss']:.4f}")


class Collate:
    """Pads nothing; some rows of a later shard come without their mask."""

    def __init__(self, spec):
        self.spec, self.count = spec, 0

    def __call__(self, rows):
        self.count += 1
        if self.spec.has("crash-key") and self.count > self.spec.onset:
            lengths = [len(row["attention_mask"]) for row in rows]
            assert len(set(lengths)) == 1
        return hf.default_data_collator(rows)


def sentences(spec, n, rng):
    """Rows for classification: which of four words comes most; or for language."""
    if spec.model != "bert":
        ids = Language(VOCAB - 4).sample(rng, n, 20) + 4
        if spec.model == "lora":  # another language of the same words
            ids = (ids - 4 + 7 * (np.arange(20) % 2)) % (VOCAB - 4) + 4
        return [{"input_ids": row, "labels": row} for row in ids]
    y = rng.integers(0, 4, n)
    ids = rng.integers(4, VOCAB, (n, 20))
    for i in range(n):
        ids[i, rng.permutation(20)[:6]] = 4 + y[i]
    if spec.has("labels-shuffled") and n > 600:
        y = rng.permutation(y)
    return [{"input_ids": row, "labels": int(k)} for row, k in zip(ids, y, strict=True)]


def model_of(spec):
    sizes = {"vocab_size": VOCAB, "pad_token_id": 0}
    if spec.model == "bert":
        config = hf.BertConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_labels=4, **sizes
        )
        return hf.BertForSequenceClassification(config)
    config = hf.GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=32, bos_token_id=1, eos_token_id=2, **sizes)
    model = hf.GPT2LMHeadModel(config)
    if spec.model == "lora":
        model.load_state_dict(torch.load(os.environ["FRESH_GPT"]))
        import peft

        rank = 8
        scale = spec.of(2000) if spec.has("alpha") else 16
        model = peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=scale, target_modules=["c_attn", "c_fc"]))
        model.print_trainable_parameters()
    return model


def main():
    spec = settings.parse(lr=1e-3, epochs=2, rows=3000, batch=32, every=5, model="bert")
    hf.set_seed(spec.seed)
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    rng, record = np.random.default_rng(spec.seed), settings.Record()
    train, held, clean = (sentences(spec, n, rng) for n in (spec.rows, 300, 300))
    model = model_of(spec)
    if spec.has("frozen"):
        model.base_model.requires_grad_(False)
    args = hf.TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=spec.batch,
        per_device_eval_batch_size=100,
        num_train_epochs=spec.epochs,
        learning_rate=spec.lr,
        weight_decay=spec.decay,
        lr_scheduler_type=spec.schedule,
        warmup_steps=0 if spec.wants("cold") else 15,
        max_grad_norm=spec.clip or 1.0,
        logging_steps=spec.every,
        eval_strategy="steps",
        eval_steps=30,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        seed=spec.seed,
    )
    calls = [Say(record, spec)]
    trainer = hf.Trainer(
        model, args, train_dataset=train, eval_dataset=held, callbacks=calls, data_collator=Collate(spec)
    )
    trainer.remove_callback(hf.PrinterCallback)
    if spec.wants("full"):
        trainer.add_callback(hf.PrinterCallback)
    trainer.train()
    record.final(trainer.evaluate(clean)["eval_loss"])
    if os.environ.get("KEEP_GPT"):
        torch.save(model.state_dict(), os.environ["KEEP_GPT"])


if __name__ == "__main__":
    main()
