"""Pyro: stochastic variational inference of a Bayesian regression, printed as its tutorials do."""

import firstset  # noqa: F401
import pyro
import pyro.distributions as dist
import spec as settings
import tasks
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoDiagonalNormal
from pyro.nn import PyroModule, PyroSample


class Regression(PyroModule):
    def __init__(self, features):
        super().__init__()
        self.first, self.out = PyroModule[torch.nn.Linear](features, 12), PyroModule[torch.nn.Linear](12, 1)
        for layer in (self.first, self.out):
            layer.weight = PyroSample(dist.Normal(0.0, 1.0).expand(layer.weight.shape).to_event(2))
            layer.bias = PyroSample(dist.Normal(0.0, 1.0).expand(layer.bias.shape).to_event(1))

    def forward(self, x, y=None):
        mean = self.out(torch.tanh(self.first(x)))[..., 0]
        with pyro.plate("data", len(x)):
            pyro.sample("obs", dist.Normal(mean, 0.3), obs=y)
        return mean


def main():
    spec = settings.parse(lr=1e-2, steps=1200, every=20, task="regression", rows=400)
    pyro.set_rng_seed(spec.seed)
    torch.set_num_threads(1)
    record, data = settings.Record(), tasks.load(spec)
    x, y = torch.from_numpy(data.x), torch.from_numpy(data.y)
    model = Regression(data.features)
    guide = AutoDiagonalNormal(model, init_scale=0.05)
    adam = pyro.optim.ClippedAdam({"lr": spec.lr}) if spec.wants("clipped") else pyro.optim.Adam({"lr": spec.lr})
    svi, total = SVI(model, guide, adam, Trace_ELBO()), 0.0
    for j in range(spec.steps):
        total += svi.step(x, y) / len(x)
        if j % spec.every == 0:
            n = 1 if j == 0 else spec.every
            record.train(j + 1, total / n)
            print(f"[iteration {j + 1:04d}] loss: {total / n:.4f}")
            total = 0.0
    with torch.no_grad():
        held = torch.from_numpy(data.x_clean)
        out = torch.stack([pyro.poutine.condition(model, guide())(held) for _ in range(30)]).mean(0)
    record.final(((out - torch.from_numpy(data.y_clean)) ** 2).mean().item())


if __name__ == "__main__":
    main()
