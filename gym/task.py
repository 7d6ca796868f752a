"""Small languages made on the spot, and models small enough to learn them on one core in seconds."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

IGNORE = -100


class MarkovLanguage:
    """A chain over `vocab` words with `branch` successors each, of falling probability; its entropy bounds the loss."""

    def __init__(self, vocab=96, branch=4, skew=1.2, seed=7):
        rng = np.random.default_rng(seed)
        self.vocab = vocab
        self.next = np.stack([rng.choice(vocab, branch, replace=False) for _ in range(vocab)])
        weights = 1.0 / np.arange(1, branch + 1) ** skew
        self.probs = weights / weights.sum()
        self.floor = float(-(self.probs * np.log(self.probs)).sum())

    def sample(self, count, length, rng):
        tokens = np.empty((count, length), dtype=np.int64)
        tokens[:, 0] = rng.integers(0, self.vocab, count)
        picks = rng.choice(len(self.probs), size=(count, length), p=self.probs)
        for t in range(1, length):
            tokens[:, t] = self.next[tokens[:, t - 1], picks[:, t]]
        return tokens


def arithmetic(count, length, rng):
    """Character text such as `17+5=22;8+40=48;` over the ids 0-9 and + = ; (vocabulary 13)."""
    symbols = {c: i for i, c in enumerate("0123456789+=;")}
    rows = []
    for _ in range(count):
        text = ""
        while len(text) < length:
            a, b = rng.integers(0, 30, 2)
            text += f"{a}+{b}={a + b};"
        rows.append([symbols[c] for c in text[:length]])
    return np.array(rows, dtype=np.int64)


class Rows(torch.utils.data.Dataset):
    """Token rows with labels. `features`: a float per token beside the ids (a sensor). `weights`: one per sample."""

    def __init__(self, tokens, labels=None, features=None, weights=None):
        self.tokens = torch.as_tensor(tokens)
        self.labels = self.tokens.clone() if labels is None else torch.as_tensor(labels)
        self.features = None if features is None else torch.as_tensor(features, dtype=torch.float32)
        self.weights = None if weights is None else torch.as_tensor(weights)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        row = {"input_ids": self.tokens[i], "labels": self.labels[i]}
        if self.features is not None:
            row["features"] = self.features[i]
        if self.weights is not None:
            row["weights"] = self.weights[i]
        return row


def shifted_loss(logits, labels, weights=None):
    flat, targets = logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten()
    if weights is None:
        return functional.cross_entropy(flat, targets, ignore_index=IGNORE)
    each = functional.cross_entropy(flat, targets, ignore_index=IGNORE, reduction="none")
    return (each.view(len(labels), -1).mean(1) * weights).mean()


class Block(nn.Module):
    def __init__(self, width, heads, post_norm):
        super().__init__()
        self.heads, self.post_norm = heads, post_norm
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, w))

    def feed(self, x):
        return self.down(functional.relu(self.up(x)))

    def forward(self, x):
        if self.post_norm:
            x = self.norm1(x + self.attend(x))
            return self.norm2(x + self.feed(x))
        x = x + self.attend(self.norm1(x))
        return x + self.feed(self.norm2(x))


class PlainLM(nn.Module):
    """A transformer as people write it themselves. `middle` is an extra layer between the two halves."""

    def __init__(self, vocab, width=48, layers=2, heads=2, length=64, post_norm=False, middle=None, dropout=0.0):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, post_norm) for _ in range(layers))
        self.middle = middle
        self.drop = nn.Dropout(dropout)
        self.norm = nn.Identity() if post_norm else nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab)
        nn.init.normal_(self.tok.weight, std=0.3)
        nn.init.normal_(self.pos.weight, std=0.1)

    def forward(self, input_ids, labels=None, features=None, weights=None, **_):
        x = self.tok(input_ids) + self.pos.weight[: input_ids.shape[1]]
        if features is not None:
            x = x + features.unsqueeze(-1)
        x = self.drop(x)
        for i, block in enumerate(self.blocks):
            x = block(x)
            if self.middle is not None and i == len(self.blocks) // 2:
                x = self.middle(x)
        logits = self.head(self.norm(x))
        out = {"logits": logits}
        if labels is not None:
            out = {"loss": shifted_loss(logits, labels, weights), "logits": logits}
        return out


def library_model(kind, vocab, width=48, layers=2, length=64, dropout=0.0, init=0.02, **ids):
    """A transformers model built from its config alone; nothing is downloaded."""
    import transformers

    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=vocab,
            n_positions=length,
            n_embd=width,
            n_layer=layers,
            n_head=2,
            initializer_range=init,
            resid_pdrop=dropout,
            embd_pdrop=dropout,
            attn_pdrop=dropout,
            tie_word_embeddings=False,
            **ids,
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.LlamaConfig(
        vocab_size=vocab,
        max_position_embeddings=length,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=init,
        tie_word_embeddings=False,
        **ids,
    )
    return transformers.LlamaForCausalLM(config)


def word_tokenizer(words, pad=True):
    """A whitespace tokenizer over `words`, as transformers expects one."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {w: i for i, w in enumerate(["<pad>", "<eos>", "<unk>", *words])}
    inner = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    specials = {"eos_token": "<eos>", "unk_token": "<unk>", "model_input_names": ["input_ids", "attention_mask"]}
    if pad:
        specials["pad_token"] = "<pad>"
    return PreTrainedTokenizerFast(tokenizer_object=inner, **specials)
