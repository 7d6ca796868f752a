"""spaCy: `spacy train` on a text classifier or a tagger, with its own table."""

import json
import random
import sys
from pathlib import Path

import numpy as np
import spacy
import spec as settings
from spacy.cli.init_config import init_config
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin

LABELS = ["SPORT", "TRADE", "CRIME", "TRAVEL"]
TAGS = ["NOUN", "VERB", "ADJ", "DET", "ADV"]


def words_of(rng, label):
    own = [f"w{label}{i}" for i in range(25)]
    common = [f"c{i}" for i in range(60)]
    return [rng.choice(own) if rng.random() < 0.22 else rng.choice(common) for _ in range(rng.randint(6, 14))]


def text_docs(spec, vocab, rng, rows, shuffled):
    docs = []
    for _ in range(rows):
        label = rng.randrange(len(LABELS))
        doc = Doc(vocab, words_of(rng, label))
        if shuffled or rng.random() < spec.noise:
            label = rng.randrange(len(LABELS))
        doc.cats = {name: float(i == label) for i, name in enumerate(LABELS)}
        docs.append(doc)
    return docs


def tag_docs(spec, vocab, rng, rows, shuffled):
    """A word's tag follows from the word and the one before."""
    docs = []
    for _ in range(rows):
        words = [rng.randrange(80) for _ in range(rng.randint(5, 12))]
        tags = [TAGS[(w + (words[i - 1] % 2 if i else 0)) % 5] for i, w in enumerate(words)]
        if shuffled:
            rng.shuffle(tags)
        docs.append(Doc(vocab, [f"t{w}" for w in words], tags=tags))
    return docs


def main():
    spec = settings.parse(task="textcat", lr=1e-3, steps=300, rows=400)
    rng = random.Random(spec.seed)
    np.random.seed(spec.seed)
    nlp = spacy.blank("en")
    make = text_docs if spec.task == "textcat" else tag_docs
    record = settings.Record()
    DocBin(docs=make(spec, nlp.vocab, rng, spec.rows, spec.has("labels-shuffled")), store_user_data=True).to_disk(
        "train.spacy"
    )
    DocBin(docs=make(spec, nlp.vocab, rng, 150, False), store_user_data=True).to_disk("dev.spacy")
    config = init_config(lang="en", pipeline=["textcat" if spec.task == "textcat" else "tagger"], optimize="efficiency")
    training = config["training"]
    training["optimizer"]["learn_rate"] = spec.lr
    training["optimizer"]["L2"] = spec.decay or 0.01
    training["optimizer"]["grad_clip"] = 0.0 if spec.wants("no-clip") else 1.0
    training["dropout"] = spec.of(0.99) if spec.has("dropout-high") else 0.1
    training["max_steps"], training["max_epochs"], training["patience"] = spec.steps, 0, 0
    training["eval_frequency"], training["seed"] = 20, spec.seed
    training["frozen_components"] = []
    config["system"]["seed"] = spec.seed
    if spec.task == "tagger":
        config["components"]["tok2vec"]["model"]["encode"]["width"] = 64
    if spec.has("frozen"):
        # the tagger listens to a tok2vec that is not trained, and its weights start at zero
        training["frozen_components"] = ["tok2vec"]
        training["annotating_components"] = ["tok2vec"]
    config.to_disk("config.cfg")
    if spec.has("crash-file"):
        Path("dev.spacy").unlink()
    if spec.has("crash-labels"):
        config["components"]["textcat"]["model"]["@architectures"] = "spacy.TextCatBOW.v9"
        config.to_disk("config.cfg")
    log = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    if "jsonl" in spec.log:
        log["training.logger"] = {
            "@loggers": "spacy.ConsoleLogger.v3",
            "progress_bar": None,
            "output_file": "training.jsonl",
            "console_output": True,
        }
    train(Path("config.cfg"), Path("output"), overrides=log)
    meta = json.loads(Path("output/model-last/meta.json").read_text())["performance"]
    record.final(meta["cats_score" if spec.task == "textcat" else "tag_acc"], "higher")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
