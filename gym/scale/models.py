"""Models small enough to learn on one core in a second or two."""

import torch
from torch import nn
from torch.nn import functional

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}


class Mlp(nn.Module):
    def __init__(self, inputs, width, depth, outputs, norm=False, activation="relu", dropout=0.0):
        super().__init__()
        layers = []
        for i in range(depth):
            layers.append(nn.Linear(inputs if i == 0 else width, width))
            if norm:
                layers.append(nn.BatchNorm1d(width))
            layers.append(ACTIVATIONS[activation]())
            if dropout:
                layers.append(nn.Dropout(dropout))
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.body(x.flatten(1)))


class Cnn(nn.Module):
    def __init__(self, side, width, outputs, norm=False, dropout=0.0):
        super().__init__()
        make_norm = nn.BatchNorm2d if norm else lambda _: nn.Identity()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            make_norm(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            make_norm(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
        )
        self.head = nn.Linear(2 * width * (side // 4) ** 2, outputs)

    def forward(self, x):
        return self.head(self.body(x))


class Block(nn.Module):
    def __init__(self, width, heads, post_norm, dropout):
        super().__init__()
        self.heads, self.post_norm = heads, post_norm
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)

    def attend(self, x, causal):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(b, t, w))

    def feed(self, x):
        return self.drop(self.down(functional.relu(self.up(x))))

    def forward(self, x, causal):
        if self.post_norm:
            x = self.norm1(x + self.attend(x, causal))
            return self.norm2(x + self.feed(x))
        x = x + self.attend(self.norm1(x), causal)
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    """Logits for every position. `causal` is an attribute so that a run without the mask can be scored with it."""

    def __init__(
        self, vocab, outputs, width=32, layers=2, heads=2, length=32, post_norm=False, causal=True, dropout=0.0
    ):
        super().__init__()
        self.causal = causal
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, post_norm, dropout) for _ in range(layers))
        self.norm = nn.Identity() if post_norm else nn.LayerNorm(width)
        self.head = nn.Linear(width, outputs)
        nn.init.normal_(self.tok.weight, std=0.3)
        nn.init.normal_(self.pos.weight, std=0.1)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.causal)
        return self.head(self.norm(x))


CELLS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class Recurrent(nn.Module):
    """Logits for every position, over token ids (vocab > 0) or over float features (vocab 0)."""

    def __init__(self, kind, vocab, inputs, outputs, width=32, dropout=0.0):
        super().__init__()
        self.tok = nn.Embedding(vocab, inputs) if vocab else nn.Identity()
        self.body = CELLS[kind](inputs, width, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.drop(self.body(self.tok(x))[0]))


class BagOfWords(nn.Module):
    def __init__(self, vocab, width, outputs, dropout=0.0):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout))
        self.head = nn.Linear(width, outputs)

    def forward(self, tokens):
        return self.head(self.body(self.tok(tokens).mean(1)))


class LastOf(nn.Module):
    """The output at the last position (recurrent), or the mean over positions (attention)."""

    def __init__(self, inner, mean):
        super().__init__()
        self.inner, self.mean = inner, mean

    def forward(self, x):
        out = self.inner(x)
        return out.mean(1) if self.mean else out[:, -1]


class Gcn(nn.Module):
    def __init__(self, adjacency, inputs, width, outputs, dropout=0.0):
        super().__init__()
        self.register_buffer("adjacency", adjacency)
        self.first, self.head = nn.Linear(inputs, width), nn.Linear(width, outputs)
        self.drop = nn.Dropout(dropout)

    def forward(self, features):
        hidden = functional.relu(self.adjacency @ self.first(features))
        return self.adjacency @ self.head(self.drop(hidden))


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = (b1 * m + (1 - b1) * p.grad).sign_()
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)
