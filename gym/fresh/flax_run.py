"""Flax and optax with the metric writers of clu: lines of absl and TensorBoard events; `log=tf`: tf.summary."""

import clock
import firstset  # noqa: F401
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import spec as settings
import tasks
from absl import logging
from clu import metric_writers


class Net(nn.Module):
    classes: int
    drop: float = 0.0

    @nn.compact
    def __call__(self, x, key=None):
        for _ in range(2):
            x = nn.relu(nn.Dense(64)(x))
            if self.drop:
                x = nn.Dropout(self.drop, deterministic=key is None)(x, rng=key)
        return nn.Dense(self.classes)(x)


def writer_of(spec):
    if spec.log != "tf":
        logging.set_verbosity(logging.INFO)
        logging.set_stderrthreshold("info")
        return metric_writers.create_default_writer("logs", asynchronous=False)
    import tensorflow as tf

    train = tf.summary.create_file_writer("logs/train")

    class Writer:
        def write_scalars(self, step, row):
            with train.as_default(step):
                for name, value in row.items():
                    tf.summary.scalar(name, value)
            train.flush()
            print(f"Step {step}: " + ", ".join(f"{k} = {float(v):.4f}" for k, v in row.items()), flush=True)

    return Writer()


def main():
    spec = settings.parse(lr=2e-3, steps=400, every=10, batch=64)
    record, data = settings.Record(), tasks.load(spec)
    net = Net(data.classes, spec.of(0.97) if spec.has("dropout-high") else 0.0)
    params = net.init(jax.random.key(spec.seed), jnp.zeros((1, data.features)))
    if spec.has("bad-init"):
        params = jax.tree.map(lambda p: p * spec.of(20), params)
    late = spec.onset if spec.has("bad-schedule") else spec.steps + 1
    rate = lambda n: jnp.where(n >= late, spec.lr * spec.of(100), spec.lr)
    chain = optax.adamw(rate, weight_decay=spec.decay)
    if spec.optim == "sgd":
        chain = optax.sgd(spec.lr, 0.9)
    state = chain.init(params)

    def loss_of(params, x, y, key=None):
        out = net.apply(params, x, key)
        return optax.softmax_cross_entropy_with_integer_labels(out, y).mean(), out

    @jax.jit
    def step(params, state, x, y, key):
        (loss, _), grads = jax.value_and_grad(loss_of, has_aux=True)(params, x, y, key)
        if spec.has("sign-flip"):
            grads = jax.tree.map(jnp.negative, grads)
        moves, state = chain.update(grads, state, params)
        return optax.apply_updates(params, moves), state, loss, optax.global_norm(grads)

    rng, writer, losses, began = np.random.default_rng(spec.seed), writer_of(spec), [], clock.seconds()
    for n in range(1, spec.steps + 1):
        if spec.has("slow-loader") and n >= spec.onset:
            clock.sleep(spec.of(0.05))
        rows = rng.integers(0, len(data.x), spec.batch)
        params, state, loss, norm = step(params, state, data.x[rows], data.y[rows], jax.random.key(n))
        losses.append(float(loss))
        if n % spec.every == 0:
            mean, took = float(np.mean(losses)), (clock.seconds() - began) / spec.every
            record.train(n, mean)
            row = {
                "train_loss": mean,
                "grad_norm": float(norm),
                "learning_rate": float(rate(n)),
                "steps_per_sec": 1 / took,
            }
            if n % 50 == 0:
                val, out = loss_of(params, data.x_val, data.y_val)
                row |= {"eval_loss": float(val), "eval_accuracy": float((out.argmax(-1) == data.y_val).mean())}
                record.eval(n, val)
            writer.write_scalars(n, row)
            losses, began = [], clock.seconds()
    _, out = loss_of(params, data.x_clean, data.y_clean)
    record.final(float((out.argmax(-1) == data.y_clean).mean()), "higher")


if __name__ == "__main__":
    main()
