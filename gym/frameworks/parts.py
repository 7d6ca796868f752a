"""Models, losses and optimizers of PyTorch, with the faults that live in them, for the frameworks on top of it."""

import math

import numpy as np
import spec as settings
import torch
from torch import nn
from torch.nn import functional as F

SATURATED = 18.0


def begin(spec):
    """Seeds, one thread."""
    np.random.seed(spec.seed)
    torch.manual_seed(spec.seed)
    torch.set_num_threads(1)


class Net(nn.Module):
    """MLP, CNN, deep sigmoid or batch-norm network over the arrays of a task."""

    def __init__(self, spec, data):
        super().__init__()
        self.fault = spec.fault
        self.mean, self.spread = (3000.0, 900.0) if spec.task == "prices" and not spec.has("unscaled") else (0.0, 1.0)
        outputs = max(1, data.classes) * (2 if spec.wants("density") else 1)
        self.body = self._body(spec, data)
        self.head = nn.Linear(64, outputs)
        self._break(spec)

    def _body(self, spec, data):
        if spec.model == "cnn":
            return nn.Sequential(
                nn.Conv2d(1, 8, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(8, 16, 3),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(144, 64),
                nn.ReLU(),
            )
        if spec.model == "deep" or spec.has("vanishing"):
            layers = [nn.Flatten(), nn.Linear(data.features, 64), nn.Sigmoid()]
            for _ in range(int(spec.of(9)) if spec.has("vanishing") else 2):
                layers += [nn.Linear(64, 64), nn.Sigmoid()]
            return nn.Sequential(*layers)
        norm = [nn.BatchNorm1d(64)] if spec.model == "bn" else []
        drop = [nn.Dropout(0.3)] if spec.model == "dropout" else []
        return nn.Sequential(
            nn.Flatten(), nn.Linear(data.features, 64), *norm, nn.ReLU(), *drop, nn.Linear(64, 64), nn.ReLU()
        )

    def _break(self, spec):
        """Faults of the weights."""
        with torch.no_grad():
            if spec.has("bad-init"):
                for p in self.parameters():
                    p.mul_(spec.of(20))
            if spec.has("dead-relu"):
                for m in self.body.modules():
                    if isinstance(m, (nn.Linear, nn.Conv2d)):
                        m.bias.fill_(-spec.of(20))
        if spec.has("frozen"):
            for p in self.parameters():
                p.requires_grad = False
            self.head.bias.requires_grad = True

    def forward(self, x):
        out = self.head(self.body(x))
        if self.fault == "softmax-twice":
            out = out.softmax(-1)
        if self.fault == "detached":
            out = out.detach() + 0 * self.head.bias
        return out


def loss_of(spec, data):
    """The loss function, as (outputs, targets) -> mean."""
    if spec.wants("density"):

        def density(out, y):
            mean, log_scale = out[:, 0], out[:, 1].clamp(-7, 7)
            return (log_scale + 0.5 * ((y.float() - mean) / log_scale.exp()) ** 2).mean()

        return density
    if not data.classes:
        if spec.has("log-zero"):
            return lambda out, y: torch.log((out[:, 0] - y.float()).abs().round(decimals=2)).mean()
        mean, spread = (3000.0, 900.0) if spec.task == "prices" else (0.0, 1.0)
        return lambda out, y: F.mse_loss(out[:, 0] * spread + mean, y.float())
    if spec.has("log-zero"):

        def by_hand(out, y):
            p, one = out.softmax(-1), F.one_hot(y, out.shape[-1]).float()
            return -(one * torch.log(p) + (1 - one) * torch.log(1 - p)).sum(-1).mean()

        return by_hand
    if spec.wants("by-hand"):
        return lambda out, y: -torch.log(out.softmax(-1).gather(1, y[:, None]) + 1e-9).mean()
    return F.cross_entropy


def trainable(spec, model):
    """What the optimizer is given: with the fault, the parameters of a copy that is not the one trained."""
    if spec.has("wrong-params"):
        import copy

        return list(copy.deepcopy(model).parameters())
    return [p for p in model.parameters() if p.requires_grad]


def optimizer_of(spec, params):
    if spec.optim == "sgd":
        return torch.optim.SGD(params, spec.lr, momentum=0.9, weight_decay=spec.decay)
    if spec.optim == "plain-sgd":
        return torch.optim.SGD(params, spec.lr, weight_decay=spec.decay)
    if spec.optim == "rmsprop":
        return torch.optim.RMSprop(params, spec.lr, weight_decay=spec.decay)
    kind = torch.optim.Adam if spec.optim == "adam" and not spec.decay else torch.optim.AdamW
    return kind(params, spec.lr, weight_decay=spec.decay)


def scheduler_of(spec, optimizer, total):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: settings.rate_factor(spec.schedule, n, total))


class Rows(torch.utils.data.Dataset):
    """The arrays as samples; faults of the process may act when a sample is taken."""

    def __init__(self, x, y):
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def loaders(spec, data):
    shuffle = not spec.has("sorted")
    made = torch.Generator().manual_seed(spec.seed)
    train = torch.utils.data.DataLoader(
        Rows(data.x, data.y), spec.batch, shuffle=shuffle, drop_last=len(data.x) >= spec.batch, generator=made
    )
    return train, torch.utils.data.DataLoader(Rows(data.x_val, data.y_val), 200)


@torch.no_grad()
def measure(model, spec, data, clean=False):
    """Loss (and accuracy) on held-out data, on its clean part for the label."""
    was = model.training
    model.eval()
    x, y = (data.x_clean, data.y_clean) if clean else (data.x_val, data.y_val)
    out = model(torch.from_numpy(x))
    y = torch.from_numpy(y)
    loss = loss_of(spec, data)(out, y).item()
    right = (out.argmax(-1) == y).float().mean().item() if data.classes else math.nan
    model.train(was)
    return loss, right


def finish(record, model, spec, data):
    """The true measure: accuracy for classes, else the loss."""
    loss, right = measure(model, spec, data, clean=True)
    if data.classes:
        record.final(right, "higher")
    else:
        record.final(loss)


def grad_norm(model):
    norms = [p.grad.norm() for p in model.parameters() if p.grad is not None]
    return torch.stack(norms).norm().item() if norms else 0.0
