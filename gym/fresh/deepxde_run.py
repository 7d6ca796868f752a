"""DeepXDE: a network that solves a Poisson equation; the table of losses is the library's."""

import deepxde as dde
import firstset  # noqa: F401
import numpy as np
import spec as settings
import torch


def main():
    spec = settings.parse(lr=1e-3, steps=3000, every=100)
    dde.config.set_random_seed(spec.seed)
    torch.set_num_threads(1)
    record = settings.Record()
    sign = -1.0 if spec.has("wrong-sign") else 1.0

    def equation(x, y):
        return dde.grad.hessian(y, x) + sign * np.pi**2 * torch.sin(np.pi * x)

    line = dde.geometry.Interval(-1, 1)
    edge = dde.icbc.DirichletBC(line, lambda x: 0.0, lambda _, on: on)
    exact = lambda x: np.sin(np.pi * x)
    data = dde.data.PDE(line, equation, edge, 24, 2, solution=exact, num_test=60)
    wide = 2 + 40 * (not spec.has("vanishing"))
    net = dde.nn.FNN([1] + [wide] * (14 if spec.has("vanishing") else 3) + [1], "tanh", "Glorot uniform")
    model = dde.Model(data, net)
    model.compile(
        "adam", lr=spec.lr, metrics=["l2 relative error"], decay=("step", 10, 0.2) if spec.has("decay") else None
    )
    history, _ = model.train(iterations=spec.steps, display_every=spec.every, disregard_previous_best=True)
    dde.saveplot(history, model.train_state, issave=True, isplot=False)
    for step, losses in zip(history.steps, history.loss_train, strict=True):
        record.train(int(step), float(np.sum(losses)))
    at = np.linspace(-1, 1, 200)[:, None]
    record.final(float(np.mean((model.predict(at) - exact(at)) ** 2) ** 0.5))


if __name__ == "__main__":
    main()
