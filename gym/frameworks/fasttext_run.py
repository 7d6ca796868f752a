"""fastText: the progress line of `fasttext supervised`."""

import random

import fasttext
import spec as settings

LABELS = ["sport", "trade", "crime", "travel"]


def lines(rng, rows, shuffled, noise=0.05):
    for _ in range(rows):
        label = rng.randrange(4)
        words = [f"w{label}{rng.randrange(25)}" if rng.random() < 0.2 else f"c{rng.randrange(60)}" for _ in range(rng.randint(8, 20))]
        if shuffled or rng.random() < noise:
            label = rng.randrange(4)
        yield f"__label__{LABELS[label]} " + " ".join(words)


def main():
    spec = settings.parse(lr=0.1, epochs=5, rows=6000)
    rng, record = random.Random(spec.seed), settings.Record()
    with open("train.spacy", "w") as f:
        f.writelines(line + "\n" for line in lines(rng, spec.rows, spec.has("labels-shuffled")))
    with open("valid.spacy", "w") as f:
        f.writelines(line + "\n" for line in lines(rng, 800, False))
    model = fasttext.train_supervised("train.spacy", lr=spec.lr, epoch=spec.epochs, dim=32, thread=1, verbose=2, seed=spec.seed, bucket=1000)
    count, precision, recall = model.test("valid.spacy")
    print(f"N\t{count}\nP@1\t{precision:.3f}\nR@1\t{recall:.3f}")
    record.final(precision, "higher")


if __name__ == "__main__":
    main()
