"""Contrastive, VAE, GAN, diffusion, density, fine-tuning and preference tasks."""

import copy
import math

import numpy as np
import torch
from models import Mlp, Recurrent, Transformer
from task_base import Loader, Task
from tasks_supervised import ADAPTIVE, Language, markov, split, tensor
from torch import nn
from torch.nn import functional


class Contrastive(Task):
    words = "contrastive learning (InfoNCE)"
    models = ("mlp", "mlp-bn")
    optimizers = ADAPTIVE
    tags = frozenset({"float-input", "relu", "contrastive"})
    steps, batches = (150, 500), (16, 32, 64, 128)
    measure_name = "retrieval accuracy"

    def make_data(self):
        rng, rows = self.rng, self.s.rows + 128
        hidden = rng.normal(0, 1, (rows, 6))
        mix_a, mix_b = rng.normal(0, 1, (6, 20)), rng.normal(0, 1, (6, 20))
        a = np.tanh(hidden @ mix_a) + 0.2 * rng.normal(0, 1, (rows, 20))
        b = np.tanh(hidden @ mix_b) + 0.2 * rng.normal(0, 1, (rows, 20))
        self.train, self.held = split({"x": tensor(a), "y": tensor(b)}, 128)
        self.chance, self.best = 1 / 128, 0.9

    def make_model(self):
        s = self.s
        make = lambda: Mlp(20, 64, s.depth, 16, "bn" in s.model, s.activation, s.dropout)
        self.model = nn.ModuleDict({"left": make(), "right": make()})

    def similarities(self, batch):
        left = functional.normalize(self.model["left"](batch["x"]), dim=1)
        right = functional.normalize(self.model["right"](batch["y"]), dim=1)
        return left @ right.T / 0.1

    def loss(self, batch):
        logits = self.similarities(batch)
        target = torch.arange(len(logits))
        return self.cross_entropy(logits, target), {"accuracy": (logits.argmax(1) == target).float().mean().item()}

    def clean_measure(self):
        logits = self.similarities(self.held)
        return (logits.argmax(1) == torch.arange(len(logits))).float().mean().item()

    def config(self):
        return {"temperature": 0.1 * self.s.temperature, "embedding_dim": 16}


class Vae(Task):
    """8x8 patterns. A Gaussian likelihood of small variance makes the loss negative."""

    words = "variational autoencoder"
    models = ("mlp",)
    optimizers = ADAPTIVE
    tags = frozenset({"float-input", "relu", "vae"})
    steps, batches = (200, 600), (16, 32, 64)
    measure_name = "reconstruction mse"

    def make_data(self):
        rng, rows = self.rng, self.s.rows + 200
        basis = rng.normal(0, 1, (4, 64))
        x = np.tanh(rng.normal(0, 1, (rows, 4)) @ basis) + 0.1 * rng.normal(0, 1, (rows, 64))
        self.train, self.held = split({"x": tensor(x)}, 200)
        self.chance = float(self.held["x"].var(0).mean())
        self.best = 0.05 * self.chance
        self.sigma = float(rng.choice([0.3, 1.0]))

    def make_model(self):
        s = self.s
        self.model = nn.ModuleDict(
            {
                "encoder": Mlp(64, 64, 1, 16, activation=s.activation),
                "decoder": Mlp(8, 64, 1, 64, activation=s.activation),
            }
        )

    def parts(self, x, sample):
        mean, logvar = self.model["encoder"](x).chunk(2, 1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean) if sample else mean
        again = self.model["decoder"](z)
        kl = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum(1).mean()
        return again, kl

    def loss(self, batch):
        again, kl = self.parts(batch["x"], self.model.training)
        square = ((again - batch["x"]) ** 2).sum(1).mean()
        recon = 0.5 * square / self.sigma**2 + 64 * math.log(self.sigma)
        return recon + self.s.kl_weight * kl, {"recon_loss": recon.item(), "kl_loss": kl.item()}

    def clean_measure(self):
        again, _ = self.parts(self.held["x"], False)
        return functional.mse_loss(again, self.held["x"]).item()

    def config(self):
        return {"latent_dim": 8, "kl_weight": self.s.kl_weight}


class Gan(Task):
    """Four wide Gaussians on a circle; both sides step together."""

    words = "GAN (2-D mixture)"
    models = ("mlp",)
    optimizers = ("adam", "adamw", "rmsprop")
    lr_scale = 0.5
    tags = frozenset({"gan", "relu", "float-input"})
    steps, batches = (600, 900), (128,)
    measure_name = "sliced distance"

    def make_data(self):
        rng, rows = self.rng, self.s.rows + 400
        angle = rng.integers(0, 4, rows) * math.pi / 2
        x = np.stack([np.cos(angle), np.sin(angle)], 1) * 1.5 + rng.normal(0, 0.35, (rows, 2))
        self.train, self.held = split({"x": tensor(x)}, 400)
        self.angles = torch.linspace(0, math.pi, 16)
        self.chance = self.distance(torch.zeros(400, 2))
        self.best = 0.1 * self.chance

    def make_model(self):
        self.model = nn.ModuleDict({"generator": Mlp(8, 64, 2, 2), "discriminator": Mlp(2, 64, 2, 1)})

    def groups(self):
        return [
            (list(self.model["generator"].parameters()), 1.0),
            (list(self.model["discriminator"].parameters()), self.s.disc_lr_ratio),
        ]

    def loss(self, batch):
        judge = self.model["discriminator"]
        fake = self.model["generator"](torch.randn(len(batch["x"]), 8))
        blur = lambda x: x + 0.5 * torch.randn_like(x)  # noise on what is judged keeps both sides in reach
        real_out, fake_out = judge(blur(batch["x"])), judge(blur(fake.detach()))
        ones, zeros = torch.ones_like(real_out), torch.zeros_like(fake_out)
        bce = functional.binary_cross_entropy_with_logits
        loss_d = 0.5 * (bce(real_out, 0.9 * ones) + bce(fake_out, zeros))
        fixed = {k: v.detach() for k, v in judge.named_parameters()}
        loss_g = bce(torch.func.functional_call(judge, fixed, (blur(fake),)), ones)
        return loss_d + loss_g, {
            "loss_d": loss_d.item(),
            "loss_g": loss_g.item(),
            "d_real": torch.sigmoid(real_out).mean().item(),
            "d_fake": torch.sigmoid(fake_out).mean().item(),
        }

    def distance(self, fake):
        away = 0.0
        for angle in self.angles:
            line = torch.tensor([math.cos(angle), math.sin(angle)])
            away += ((self.held["x"] @ line).sort()[0] - (fake @ line).sort()[0]).abs().mean().item()
        return away / len(self.angles)

    def clean_measure(self):
        return self.distance(self.model["generator"](torch.randn(400, 8)))

    def evaluate(self):
        return {"eval_distance": self.measure()}

    def config(self):
        return {"latent_dim": 8, "disc_lr": self.s.lr * self.s.disc_lr_ratio}


class Diffusion(Task):
    """Predicts the noise; the loss is nearly flat while the samples get better."""

    words = "diffusion (eps prediction)"
    models = ("mlp",)
    optimizers = ADAPTIVE
    tags = frozenset({"float-input", "relu", "diffusion"})
    steps, batches = (300, 1500), (16, 64, 128)
    measure_name = "eps mse"

    def make_data(self):
        rng, rows = self.rng, self.s.rows + 400
        t = rng.random(rows) * 3 * math.pi
        x = np.stack([t * np.cos(t), t * np.sin(t)], 1) / 5 + 0.05 * rng.normal(0, 1, (rows, 2))
        self.train, self.held = split({"x": tensor(x)}, 400)
        self.chance, self.best = 1.0, 0.45

    def make_model(self):
        self.model = Mlp(2 + 8, 64, self.s.depth, 2, activation=self.s.activation)

    def loss(self, batch):
        x = batch["x"]
        t, noise = torch.rand(len(x), 1), torch.randn_like(x)
        if not self.model.training:
            gen = torch.Generator().manual_seed(5)
            t, noise = torch.rand(len(x), 1, generator=gen), torch.randn(x.shape, generator=gen)
        keep = torch.cos(0.5 * math.pi * t)
        noisy = keep * x + torch.sqrt(1 - keep**2 + 1e-6) * noise
        clock = torch.cat([torch.sin(t * f) for f in (1, 3, 9, 27)] + [torch.cos(t * f) for f in (1, 3, 9, 27)], 1)
        guess = self.model(torch.cat([noisy, clock], 1))
        return functional.mse_loss(guess, noise), {}

    def clean_measure(self):
        return self.loss(self.held)[0].item()

    def config(self):
        return {"prediction_type": "epsilon", "beta_schedule": "cosine"}


class Density(Task):
    """Affine coupling layers on tight data: the negative log-likelihood is negative."""

    words = "density estimation (normalizing flow)"
    models = ("flow",)
    optimizers = ADAPTIVE
    tags = frozenset({"float-input", "density"})
    steps, batches = (200, 600), (32, 64, 128)
    measure_name = "nll"

    def make_data(self):
        rng, rows = self.rng, self.s.rows + 300
        z = rng.normal(0, 1, (rows, 3))
        x = np.concatenate([z, z @ rng.normal(0, 1, (3, 3)) + 0.05 * rng.normal(0, 1, (rows, 3))], 1) * 0.2
        self.train, self.held = split({"x": tensor(x)}, 300)
        flat = self.held["x"]
        self.chance = float((0.5 * math.log(2 * math.pi) + flat.std(0).log() + 0.5).sum())
        self.best = self.chance - 9.0

    def make_model(self):
        self.model = nn.ModuleList(Mlp(3, 32, 1, 6, activation="tanh") for _ in range(4))
        with torch.no_grad():
            for layer in self.model:
                layer.head.weight *= 0.1

    def loss(self, batch):
        a, b = (batch["x"] * 5).chunk(2, 1)
        logdet = 6 * math.log(5.0)
        for i, layer in enumerate(self.model):
            scale, shift = layer(a).chunk(2, 1)
            scale = 3 * torch.tanh(scale / 3)
            b = b * scale.exp() + shift
            logdet = logdet + scale.sum(1)
            a, b = (b, a) if i % 2 == 0 else (b, a)
        nll = 0.5 * (a**2 + b**2).sum(1) + 3 * math.log(2 * math.pi) - logdet
        return nll.mean(), {}

    def clean_measure(self):
        return self.loss(self.held)[0].item()


PRETRAINED = {}


def pretrained(kind, make, rows, steps, lr=5e-3):
    """Weights of a model trained on `rows` for a while; made once a process and a kind."""
    if kind not in PRETRAINED:
        state = torch.get_rng_state()
        torch.manual_seed(3)
        model = make()
        optimizer = torch.optim.Adam(model.parameters(), lr)
        loader = Loader(len(rows), 32, 3)
        for _ in range(steps):
            x = rows[loader.next()]
            logits = model(x)[:, :-1].flatten(0, 1)
            loss = functional.cross_entropy(logits, x[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        PRETRAINED[kind] = copy.deepcopy(model.state_dict())
        torch.set_rng_state(state)
    model = make()
    model.load_state_dict(PRETRAINED[kind])
    return model


class FineTune(Language):
    """A language model that knows one chain learns a mixture of it with another: the loss starts low."""

    words = "fine-tuning a pretrained language model"
    models = ("transformer-pre", "gru")
    tags = frozenset({"supervised", "tokens", "token-input", "causal", "fine-tune", "lm"})
    optimizers = ("adamw", "adam")
    steps, batches = (100, 300), (8, 16, 32)
    lr_scale = 0.4

    def make_data(self):
        self.vocab = 32
        self.base_rows = tensor(markov(np.random.default_rng(77), 32, 2000, self.length)[0], torch.long)
        changed = np.random.default_rng(77)
        rows, floor = markov(changed, 32, self.s.rows + 100, self.length)
        swap = np.arange(32)
        swap[:4] = np.roll(swap[:4], 1)  # a few words trade places
        self.set_data(swap[rows], floor)
        self.width = 32

    def make_model(self):
        s = self.s
        s.width, s.depth = 32, 1
        kind = s.model
        if kind == "gru":
            make = lambda: Recurrent("gru", 32, 24, 32, 32)
        else:
            make = lambda: Transformer(32, 32, 32, 1, 2, self.length)
        self.model = pretrained("ft-" + kind, make, self.base_rows, 250)
        self.model.eval()
        with torch.no_grad():
            self.chance = self.logits_loss(self.model(self.held["x"]), self.held["y"]).item()
        self.model.train()

    def config(self):
        return {"vocab_size": 32, "block_size": self.length, "init_from": "checkpoints/base"}


class Preference(Task):
    """DPO: the chosen continuation follows the chain, the rejected one wanders."""

    words = "preference optimisation (DPO)"
    models = ("gru", "transformer-pre")
    optimizers = ("adamw", "adam", "rmsprop")
    lr_scale = 0.15
    tags = frozenset({"dpo"})
    steps, batches = (60, 200), (8, 16, 32)
    measure_name = "pair accuracy"

    def make_data(self):
        rng, vocab, rows = self.rng, 24, self.s.rows + 200
        self.base_rows = tensor(markov(np.random.default_rng(78), vocab, 1500, 12)[0], torch.long)
        chosen = markov(rng, vocab, rows, 12)[0]
        rejected = chosen.copy()
        for i in range(4, 12):
            swap = rng.random(rows) < 0.5
            rejected[swap, i] = rng.integers(0, vocab, swap.sum())
        data = {"x": tensor(chosen, torch.long), "r": tensor(rejected, torch.long)}
        self.train, self.held = split(data, 200)
        self.chance, self.best = 0.5, 1.0
        self.reference_is_policy = 0

    def make_model(self):
        kind = self.s.model
        if kind == "gru":
            make = lambda: Recurrent("gru", 24, 24, 24, 32)
        else:
            make = lambda: Transformer(24, 24, 32, 1, 2, 12)
        self.model = pretrained("dpo-" + kind, make, self.base_rows, 150)
        self.reference = copy.deepcopy(self.model).requires_grad_(False).eval()

    def logp(self, model, rows):
        logits = model(rows)[:, 3:-1].log_softmax(-1)
        return logits.gather(-1, rows[:, 4:, None])[..., 0].sum(1)

    def loss(self, batch):
        both = torch.cat([batch["x"], batch["r"]])
        mine = self.logp(self.model, both)
        if self.reference_is_policy:  # 1: without a gradient; 2: with one, and then both cancel
            ref = mine.detach() if self.reference_is_policy == 1 else mine
        else:
            with torch.no_grad():
                ref = self.logp(self.reference, both)
        n = len(batch["x"])
        chosen, rejected = (self.s.beta * (mine - ref)).split(n)
        margin = chosen - rejected
        loss = -functional.logsigmoid(margin).mean()
        return loss, {
            "rewards/chosen": chosen.mean().item(),
            "rewards/rejected": rejected.mean().item(),
            "rewards/margins": margin.mean().item(),
            "rewards/accuracies": (margin > 0).float().mean().item(),
            "logps/chosen": mine[:n].mean().item(),
            "logps/rejected": mine[n:].mean().item(),
        }

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            loss, metrics = self.loss(self.held)
        self.model.train()
        return {
            "eval_loss": loss.item(),
            "eval_rewards/margins": metrics["rewards/margins"],
            "eval_rewards/accuracies": metrics["rewards/accuracies"],
        }

    def clean_measure(self):
        """Share of pairs whose chosen side gained on the reference, held to the chosen side not being lost."""
        gain = self.logp(self.model, self.held["x"]) - self.logp(self.reference, self.held["x"])
        other = self.logp(self.model, self.held["r"]) - self.logp(self.reference, self.held["r"])
        lost = max(0.0, -gain.mean().item() / 40)  # 5 nats a token lost: the model has forgotten how to speak
        return (gain > other).float().mean().item() - min(0.5, lost)

    def config(self):
        return {"beta": self.s.beta, "loss_type": "sigmoid", "vocab_size": 24}
