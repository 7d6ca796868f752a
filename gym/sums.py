"""The task of the TRL runs: small sums, answered with a few words of thought and then the result."""

import os
import random

import torch

import task

FILLER = ["so", "we", "take", "then", "add", "both", "now", "hence", "count", "and"]
LIMIT = 10
NUMBERS = [str(i) for i in range(2 * LIMIT)]
WORDS = ["what", "is", "plus", "?", "answer", *FILLER, *NUMBERS]


def question(a, b):
    return f"what is {a} plus {b} ?"


def thought(rng, least=2, most=6):
    """A walk over the filler words: mostly the next one, sometimes a jump."""
    at, words = rng.choice([0, 0, 0, 6]), []
    for _ in range(rng.choice([least, least + 1, least + 1, most])):
        words.append(FILLER[at])
        at = (at + 1) % len(FILLER) if rng.random() < 0.95 else rng.randrange(len(FILLER))
    return " ".join(words)


def reply(a, b, rng, wrong=0.0):
    total = a + b
    if rng.random() < wrong:
        total = max(0, total + rng.choice([-2, -1, 1, 2]))
    return f"{thought(rng)} answer {min(total, 2 * LIMIT - 1)}"


def pairs(count, rng, wrong=0.0, limit=LIMIT):
    """(prompt, completion, sum) triples of numbers below `limit`."""
    out = []
    for _ in range(count):
        a, b = rng.randrange(limit), rng.randrange(limit)
        out.append((question(a, b), reply(a, b, rng, wrong), a + b))
    return out


def tokenizer(pad=True):
    return task.word_tokenizer(WORDS, pad)


def new_model(tok, kind="llama", width=64, layers=2, length=64):
    return task.library_model(kind, len(tok), width, layers, length, pad_token_id=0, eos_token_id=1, bos_token_id=1)


def base_model(seed, wrong=0.4, steps=500, kind="llama"):
    """A model that knows the form of an answer and is right about half of the time; kept in .work."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".work", f"base-{kind}-{seed}-{wrong}-{steps}")
    tok = tokenizer()
    model = new_model(tok, kind)
    path = os.path.join(folder, "weights.pt")
    if os.path.exists(path):
        model.load_state_dict(torch.load(path))
        return model, tok
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(steps):
        texts = [f"{p} {c} <eos>" for p, c, _ in pairs(32, rng, wrong)]
        batch = tok(texts, padding=True, padding_side="right", return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, task.IGNORE)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    os.makedirs(folder, exist_ok=True)
    torch.save(model.state_dict(), path)
    return model, tok
