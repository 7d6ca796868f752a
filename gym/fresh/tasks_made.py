"""Generative, contrastive and language tasks: VAE, GAN, diffusion, SimSiam, InfoNCE, triplets, translation, text."""

import math

import numpy as np
import torch
from tasks_plain import floats
from torch import nn
from torch.nn import functional as F

from base import Task, accuracy


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Vae(Task):
    """Pictures of 8 x 8 dots, of bars that cross; the loss is the sum over dots, as in the example everybody copies."""

    def make(self, n):
        x = np.zeros((n, 8, 8))
        for i in range(n):
            x[i, self.rng.integers(0, 8)] = 1
            x[i, :, self.rng.integers(0, 8)] = 1
        return (floats(np.abs(x - (self.rng.random(x.shape) < 0.03))).view(n, 64),)

    def build(self):
        model = nn.Module()
        model.encoder, model.decoder = mlp(64, 96, 16), mlp(8, 96, 64)
        return model

    def loss(self, batch):
        x = batch[0]
        mean, spread = self.model.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        bce = F.binary_cross_entropy_with_logits(self.model.decoder(z), x, reduction="sum") / len(x)
        kld = -0.5 * (1 + spread - mean**2 - spread.exp()).sum() / len(x)
        beta = self.spec.of(30) if self.spec.has("posterior-collapse") else 1.0
        return bce + beta * kld, {"BCE": bce.item(), "KLD": kld.item()}

    def finish(self, record):
        found = self.evaluate(self.clean)
        record.final(found["BCE"] + found["KLD"])


class Gan(Task):
    """Eight spots on a ring; the true measure is the number of spots that the samples reach."""

    better = "higher"

    def make(self, n):
        at = self.rng.integers(0, 8, n) * math.pi / 4
        return (floats(np.stack([np.cos(at), np.sin(at)], 1) * 2 + 0.15 * self.rng.normal(size=(n, 2))),)

    def build(self):
        self.g, self.d = mlp(self.z, 128, 128, 2), mlp(2, 128, 128, 1)
        lr = self.spec.lr
        if self.spec.has("discriminator-too-strong"):
            lr = lr / self.spec.of(300)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.d.parameters(), self.spec.lr, betas=(0.5, 0.999))
        return nn.ModuleList([self.g, self.d])

    @property
    def z(self):
        return 8

    def update(self, batch):
        real, bce = batch[0], F.binary_cross_entropy_with_logits
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = self.g(torch.randn(len(real), self.z))
        if not self.spec.has("mode-collapse") or self.count % 25 == 0:
            dx, dz = self.d(real), self.d(fake.detach())
            loss_d = bce(dx, ones) + bce(dz, zeros)
            self.opt_d.zero_grad()
            loss_d.backward()
            self.opt_d.step()
            self.seen = loss_d.item(), dx.sigmoid().mean().item(), dz.sigmoid().mean().item()
        self.count += 1
        again = self.d(fake)
        loss_g = bce(again, ones)
        self.opt_g.zero_grad()
        loss_g.backward()
        self.opt_g.step()
        loss_d, dx, dz = self.seen
        measures = {"D": loss_d, "G": loss_g.item(), "Dx": dx, "DGz1": dz, "DGz2": again.sigmoid().mean().item()}
        return loss_g.item(), measures

    count = 0

    @torch.no_grad()
    def evaluate(self, part):
        fake = self.g(torch.randn(600, self.z))
        spots = torch.tensor([[2 * math.cos(k * math.pi / 4), 2 * math.sin(k * math.pi / 4)] for k in range(8)])
        near = torch.cdist(fake, spots) < 0.5
        return {"loss": -near.any(1).float().mean().item(), "modes": int((near.float().mean(0) > 0.02).sum())}

    key = "modes"


class Diffusion(Task):
    """DDPM over points of a spiral, 40 noise levels."""

    def make(self, n):
        t = self.rng.uniform(1.5, 4.5, n) * math.pi
        x = np.stack([t * np.cos(t), t * np.sin(t)], 1) / 8 + 0.03 * self.rng.normal(size=(n, 2))
        self.kept = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 40), 0)
        return (floats(x),)

    def build(self):
        return mlp(3, 96, 96, 2)

    def loss(self, batch):
        x = batch[0]
        t, noise = torch.randint(0, 40, (len(x),)), torch.randn_like(x)
        share = self.kept[t][:, None]
        seen = share.sqrt() * x + (1 - share).sqrt() * noise
        out = self.model(torch.cat([seen, t[:, None] / 20 - 1], 1))
        if self.spec.has("wrong-noise"):  # compared with noise drawn again
            noise = torch.randn_like(x)
        return F.mse_loss(out, noise), {}

    def finish(self, record):
        self.spec.fault, was = "healthy", self.spec.fault
        many = [self.clean[0].repeat(8, 1)]
        record.final(self.evaluate(many)["loss"])
        self.spec.fault = was


class Views(Task):
    """Two noisy views of a point from one of twelve groups. `extra=infonce`: SimCLR, else SimSiam (loss below zero)."""

    key, better, noise = "knn", "higher", 0.6

    def make(self, n):
        groups = np.random.default_rng(2).normal(size=(12, 24))
        y = self.rng.integers(0, 12, n)
        return floats(groups[y] + self.noise * self.rng.normal(size=(n, 24))), torch.from_numpy(y)

    def build(self):
        model = nn.Module()
        model.body = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
        model.head = mlp(16, 16, 16)
        return model

    def finish(self, record):
        found = self.evaluate(self.clean)
        record.final(found["std" if self.key == "knn" and "std" in found and not self.spec.extra else "knn"], "higher")

    def pair(self, x):
        return [self.model.body(x + 0.5 * torch.randn_like(x)) for _ in range(2)]

    def loss(self, batch):
        x, y = batch
        a, b = self.pair(x)
        spread = F.normalize(a, dim=-1).std(0).mean().item()
        if self.spec.wants("infonce"):
            sharp = self.spec.of(2e-4) if self.spec.has("temperature") else 0.2
            logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / sharp
            target = torch.arange(len(x))
            if self.spec.has("misaligned-views"):
                target = target.roll(int(torch.randint(1, len(x), ())))
            return F.cross_entropy(logits, target), {"top1": accuracy(logits, target), "std": spread}
        stop = (lambda t: t) if self.spec.has("collapse") else torch.Tensor.detach
        head = (lambda t: t) if self.spec.has("collapse") else self.model.head
        loss = -(F.cosine_similarity(head(a), stop(b)).mean() + F.cosine_similarity(head(b), stop(a)).mean()) / 2
        return loss, {"std": spread}

    @torch.no_grad()
    def evaluate(self, part):
        found = super().evaluate([p[: self.spec.batch] for p in part])
        self.model.eval()
        bank, rows = (F.normalize(self.model.body(p[0]), dim=-1) for p in (self.train, part))
        found["knn"] = (self.train[1][torch.cdist(rows, bank).argmin(1)] == part[1]).float().mean().item()
        self.model.train()
        return found


class Triplets(Views):
    """Triplet loss with a margin over all triplets; the fault takes the hardest only: all points meet."""

    noise = 1.4

    def loss(self, batch):
        x, y = batch
        e = F.normalize(self.model.body(x), dim=-1)
        apart = torch.cdist(e, e) ** 2
        same = y[:, None] == y[None]
        value = F.relu(apart[:, :, None] - apart[:, None, :] + 0.3)
        counted = same[:, :, None] & ~same[:, None, :]
        measures = {"active": (value[counted] > 0).float().mean().item(), "emb_std": e.std(0).mean().item()}
        if self.spec.has("collapse"):
            hard = (apart - 10.0 * ~same).max(1).values - (apart + 10.0 * same).min(1).values
            return F.relu(hard + 0.3).mean(), measures
        return value[counted].mean(), measures

    def finish(self, record):
        record.final(1 - self.evaluate(self.clean)["active"], "higher")


class Pairs(nn.Module):
    """Encoder and decoder of GRUs with attention."""

    def __init__(self, words):
        super().__init__()
        self.embed = nn.Embedding(words, 32)
        self.encoder, self.decoder = nn.GRU(32, 48, batch_first=True), nn.GRU(32, 48, batch_first=True)
        self.out = nn.Linear(96, words)

    def forward(self, source, target):
        memory, state = self.encoder(self.embed(source))
        states, _ = self.decoder(self.embed(target), state)
        seen = (states @ memory.transpose(1, 2)).softmax(-1) @ memory
        return self.out(torch.cat([states, seen], -1))


class Translate(Task):
    """The words of a sentence, replaced and in reverse."""

    words, chance, key, better = 24, math.log(23), "acc", "higher"

    def make(self, n):
        rule = np.random.default_rng(1).permutation(23) + 1
        x = self.rng.integers(1, 24, (n, 6))
        y = rule[x[:, ::-1] - 1]
        return torch.from_numpy(x), torch.from_numpy(y.copy())

    def build(self):
        return Pairs(self.words)

    def loss(self, batch):
        x, y = batch
        before = F.pad(y[:, :-1], (1, 0))
        if self.spec.has("leak"):
            before = y
        out = self.model(x, before)
        return F.cross_entropy(out.flatten(0, 1), y.flatten()), {"acc": accuracy(out.flatten(0, 1), y.flatten())}

    def finish(self, record):
        self.spec.fault, was = "healthy", self.spec.fault
        super().finish(record)
        self.spec.fault = was


class Text(Task):
    """A language of 40 words; an LSTM, or a small transformer with `model=transformer`."""

    words, chance = 40, math.log(40)

    def make(self, n):
        from tasks import Language

        rows = torch.from_numpy(Language(40).sample(self.rng, n, 21))
        return rows[:, :-1], rows[:, 1:]

    def build(self):
        model = nn.Module()
        wide = 64
        model.embed, model.out = nn.Embedding(self.words, wide), nn.Linear(wide, self.words)
        if self.spec.model == "transformer":
            model.at = nn.Parameter(0.02 * torch.randn(20, wide))
            layer = nn.TransformerEncoderLayer(wide, 4, 128, 0.0, batch_first=True, norm_first=self.spec.wants("pre"))
            model.body = nn.TransformerEncoder(layer, 3 if self.spec.wants("pre") else 4, enable_nested_tensor=False)
        else:
            model.body = nn.LSTM(wide, wide, batch_first=True)
        return model

    def loss(self, batch):
        x, y = batch
        e = self.model.embed(x)
        if self.spec.model == "transformer":
            mask = torch.full((20, 20), -math.inf).triu(1)
            if self.spec.has("no-causal-mask"):
                mask = torch.zeros(20, 20)
            e = self.model.body(e + self.model.at, mask)
        else:
            e = self.model.body(e)[0]
        if self.spec.has("labels-unshifted"):
            y = x
        loss = F.cross_entropy(self.model.out(e).flatten(0, 1), y.flatten())
        return loss, {"ppl": math.exp(min(50.0, loss.item())) if math.isfinite(loss.item()) else math.nan}

    def finish(self, record):
        self.spec.fault, was = "healthy", self.spec.fault
        super().finish(record)
        self.spec.fault = was
