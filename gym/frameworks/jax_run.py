"""JAX with optax and flax: a loop that prints, and clu's logging writer."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
import spec as settings
import tasks
from flax import linen as nn


class Net(nn.Module):
    classes: int
    scale: float = 1.0
    bias: float = 0.0
    depth: int = 2
    act: str = "relu"

    @nn.compact
    def __call__(self, x):
        x = x.reshape((x.shape[0], -1))
        init = nn.initializers.variance_scaling(self.scale**2, "fan_in", "truncated_normal")
        for _ in range(self.depth):
            x = nn.Dense(64, kernel_init=init, bias_init=nn.initializers.constant(self.bias))(x)
            x = nn.sigmoid(x) if self.act == "sigmoid" else nn.relu(x)
        return nn.Dense(max(1, self.classes), name="head")(x)


def net_of(spec, data):
    return Net(
        data.classes,
        scale=spec.of(20) if spec.has("bad-init") else 1.4,
        bias=-spec.of(20) if spec.has("dead-relu") else 0.0,
        depth=int(spec.of(12)) if spec.has("vanishing") else 2,
        act="sigmoid" if spec.has("vanishing") else "relu",
    )


def loss_of(spec, net, classes):
    def loss(params, x, y):
        out = net.apply(params, x)
        if not classes:
            if spec.has("log-zero"):
                return jnp.mean(jnp.log(jnp.abs(jnp.round(out[:, 0] - y, 1)) + 0.0))
            return jnp.mean((out[:, 0] - y) ** 2)
        if spec.has("softmax-twice"):
            out = jax.nn.softmax(out)
        if spec.has("log-zero"):
            p, one = jax.nn.softmax(out), jax.nn.one_hot(y, classes)
            return -jnp.mean(jnp.sum(one * jnp.log(p) + (1 - one) * jnp.log(1 - p), -1))
        return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()

    return loss


def optimizer_of(spec, total):
    rate = lambda n: spec.lr * 1.0
    if spec.schedule == "warmup":
        rate = optax.warmup_cosine_decay_schedule(0.0, spec.lr, total // 10, total)
    elif spec.schedule == "cosine":
        rate = optax.cosine_decay_schedule(spec.lr, total)
    elif spec.schedule == "restarts":
        part = {"init_value": 0.0, "peak_value": spec.lr, "warmup_steps": 10, "decay_steps": total // 4}
        rate = optax.sgdr_schedule([part] * 4)
    base = optax.sgd(rate, momentum=0.9) if spec.optim == "sgd" else optax.adamw(rate, weight_decay=spec.decay)
    chain = [optax.clip_by_global_norm(spec.clip)] if spec.clip else []
    if spec.has("frozen"):
        labels = lambda p: jax.tree_util.tree_map_with_path(
            lambda k, _: "on" if "head" in str(k) and "bias" in str(k) else "off", p
        )
        base = optax.multi_transform({"on": base, "off": optax.set_to_zero()}, labels)
    return optax.chain(*chain, base), rate


class Lines:
    """Prints as the script's user would: `log` chooses the style."""

    def __init__(self, spec):
        self.style = spec.log
        if spec.log == "clu":
            from absl import logging as absl_logging
            from clu import metric_writers

            absl_logging.use_absl_handler()
            absl_logging.set_verbosity(absl_logging.INFO)
            self.writer = metric_writers.LoggingWriter()

    def train(self, step, loss, norm, rate, took):
        if self.style == "clu":
            self.writer.write_scalars(
                step, {"train_loss": loss, "grad_norm": norm, "learning_rate": rate, "steps_per_sec": 1 / took}
            )
        elif self.style == "short":
            print(f"Step {step}: loss = {loss:.4f}")
        else:
            print(f"step: {step:6d} | loss: {loss:.5f} | gnorm: {norm:.3f} | lr: {rate:.2e} | {took * 1e3:.2f} ms/step")

    def eval(self, step, loss, right):
        if self.style == "clu":
            self.writer.write_scalars(
                step, {"eval_loss": loss, **({} if np.isnan(right) else {"eval_accuracy": right})}
            )
        elif self.style == "short":
            print(f"Step {step}: test loss = {loss:.4f}, test accuracy = {100 * right:.2f}%")
        else:
            print(f"[eval] step: {step:6d} | loss: {loss:.5f}" + ("" if np.isnan(right) else f" | acc: {right:.4f}"))


def main():
    spec = settings.parse(steps=600, log="pipe", lr=2e-3)
    record, data, rng = settings.Record(), tasks.load(spec), np.random.default_rng(spec.seed)
    net = net_of(spec, data)
    params = net.init(jax.random.PRNGKey(spec.seed), data.x[:2])
    tx, rate = optimizer_of(spec, spec.steps)
    state, loss_fn, lines = tx.init(params), loss_of(spec, net, data.classes), Lines(spec)

    @jax.jit
    def update(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, optax.global_norm(grads)

    def evaluate(params, x, y):
        loss = float(loss_fn(params, x, y))
        right = float((net.apply(params, x).argmax(-1) == y).mean()) if data.classes else np.nan
        return loss, right

    began, order = time.perf_counter(), []
    for step in range(spec.steps):
        settings.before_step(spec, step)
        if len(order) < spec.batch:
            order = np.arange(len(data.x)) if spec.has("sorted") else rng.permutation(len(data.x))
        pick, order = order[: spec.batch], order[spec.batch :]
        params, state, loss, norm = update(params, state, data.x[pick], data.y[pick])
        if (step + 1) % spec.every == 0:
            took, began = (time.perf_counter() - began) / spec.every, time.perf_counter()
            record.train(step + 1, loss)
            lines.train(step + 1, float(loss), float(norm), float(rate(step)), took)
        if (step + 1) % (spec.every * 10) == 0 and not spec.wants("no-eval"):
            loss, right = evaluate(params, data.x_val, data.y_val)
            record.eval(step + 1, loss)
            lines.eval(step + 1, loss, right)
            began = time.perf_counter()
    loss, right = evaluate(params, data.x_clean, data.y_clean)
    record.final(right, "higher") if data.classes else record.final(loss)


if __name__ == "__main__":
    main()
