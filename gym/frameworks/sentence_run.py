"""sentence-transformers: its Trainer on pairs, with a tiny BERT built on the spot."""

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
)
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback

try:
    from sentence_transformers.models import Pooling, Transformer
except ImportError:
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

import parts
import spec as settings

WORDS = 120


def base(spec):
    """A folder with a tiny BERT and its tokenizer."""
    names = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, **{f"w{i}": 4 + i for i in range(WORDS)}}
    tokenizer = Tokenizer(WordLevel(names, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained("tiny-bert")
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        initializer_range=spec.of(1.0) if spec.has("bad-init") else 0.1,
    )
    BertModel(config).save_pretrained("tiny-bert")
    return "tiny-bert"


def sentence(rng, topic):
    """Words of the topic among common ones."""
    return " ".join(
        f"w{topic * 8 + rng.integers(8)}" if rng.random() < 0.55 else f"w{80 + rng.integers(40)}"
        for _ in range(rng.integers(5, 9))
    )


def pairs(spec, rows, seed, shuffled=False):
    rng = np.random.default_rng(seed)
    first, second, score = [], [], []
    for _ in range(rows):
        a = int(rng.integers(10))
        same = rng.random() < 0.5 or spec.task == "pairs"
        b = a if same else int(rng.integers(10))
        (
            first.append(sentence(rng, a)),
            second.append(sentence(rng, int(rng.integers(10)) if shuffled and spec.task == "pairs" else b)),
        )
        score.append(float(a == b))
    if shuffled:
        score = list(np.array(score)[rng.permutation(rows)])
    if spec.task == "pairs":
        return Dataset.from_dict({"anchor": first, "positive": second})
    return Dataset.from_dict({"sentence1": first, "sentence2": second, "score": score})


class Watch(TrainerCallback):
    def __init__(self, spec, record):
        self.spec, self.record = spec, record

    def on_step_begin(self, args, state, control, **_):
        settings.before_step(self.spec, state.global_step)

    def on_log(self, args, state, control, logs=None, **_):
        if "loss" in logs:
            self.record.train(state.global_step, logs["loss"])
        if "eval_loss" in logs:
            self.record.eval(state.global_step, logs["eval_loss"])


def main():
    spec = settings.parse(task="scores", lr=1e-3, rows=1200, epochs=3, every=5)
    parts.begin(spec)
    record = settings.Record()
    body = Transformer(base(spec))
    width = (
        body.get_embedding_dimension()
        if hasattr(body, "get_embedding_dimension")
        else body.get_word_embedding_dimension()
    )
    model = SentenceTransformer(modules=[body, Pooling(width)], device="cpu")
    if spec.has("frozen"):
        for p in model.parameters():
            p.requires_grad = False
        next(model.parameters()).requires_grad = False
        model[0].auto_model.embeddings.LayerNorm.bias.requires_grad = True
    loss = (
        losses.MultipleNegativesRankingLoss(model, scale=spec.of(20) if not spec.has("temperature") else spec.of(4000))
        if spec.task == "pairs"
        else losses.CosineSimilarityLoss(model)
    )
    args = SentenceTransformerTrainingArguments(
        "out",
        num_train_epochs=spec.epochs,
        per_device_train_batch_size=spec.batch,
        learning_rate=spec.lr,
        lr_scheduler_type={"constant": "linear"}.get(spec.schedule, spec.schedule),
        warmup_steps=10,
        logging_steps=spec.every,
        eval_strategy="no" if spec.wants("no-eval") else "steps",
        eval_steps=spec.every * 4,
        save_strategy="no",
        seed=spec.seed,
        use_cpu=True,
        report_to="tensorboard" if "tensorboard" in spec.log else "none",
        disable_tqdm=not spec.wants("bar"),
        weight_decay=spec.decay,
        max_grad_norm=spec.clip or 1.0,
    )
    test = pairs(spec if spec.task != "pairs" else settings.Spec(task="scores"), 300, 77)
    rating = EmbeddingSimilarityEvaluator(test["sentence1"], test["sentence2"], test["score"], name="dev")
    trainer = SentenceTransformerTrainer(
        model,
        args,
        train_dataset=pairs(spec, spec.rows, spec.seed, spec.has("labels-shuffled")),
        eval_dataset=pairs(spec, 200, 55),
        loss=loss,
        evaluator=rating,
        callbacks=[Watch(spec, record)],
    )
    trainer.train()
    score = rating(model)
    with torch.no_grad():
        record.final(score["dev_spearman_cosine"], "higher")
    if "state" in spec.log:
        trainer.save_state()


if __name__ == "__main__":
    main()
