"""PaddlePaddle: `Model.fit` with its progress lines, or a loop with prints."""

import numpy as np
import paddle
import spec as settings
import tasks
from paddle import nn


class Rows(paddle.io.Dataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x.reshape(len(x), -1), y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i : i + 1]


def net_of(spec, data):
    attr = paddle.ParamAttr(initializer=nn.initializer.Normal(0.0, spec.of(10))) if spec.has("bad-init") else None
    bias = paddle.ParamAttr(initializer=nn.initializer.Constant(-spec.of(20))) if spec.has("dead-relu") else None
    act = nn.Sigmoid if spec.has("vanishing") else nn.ReLU
    layers, width = [], data.features
    for _ in range(int(spec.of(12)) if spec.has("vanishing") else 2):
        layers += [nn.Linear(width, 64, weight_attr=attr, bias_attr=bias), act()]
        width = 64
    layers.append(nn.Linear(64, max(1, data.classes)))
    if spec.has("softmax-twice"):
        layers.append(nn.Softmax())
    net = nn.Sequential(*layers)
    if spec.has("frozen"):
        for p in list(net.parameters())[:-1]:
            p.stop_gradient = True
    return net


class ByHand(nn.Layer):
    """Cross entropy without a bound."""

    def forward(self, out, y):
        p = nn.functional.softmax(out)
        one = nn.functional.one_hot(y.flatten(), out.shape[-1])
        return -(one * paddle.log(p) + (1 - one) * paddle.log(1 - p)).sum(-1).mean()


class Watch(paddle.callbacks.Callback):
    def __init__(self, spec, record):
        super().__init__()
        self.spec, self.record, self.step, self.epoch = spec, record, 0, 0

    def on_train_batch_begin(self, step, logs=None):
        settings.before_step(self.spec, self.step)
        self.step += 1

    def on_train_batch_end(self, step, logs=None):
        if step % self.spec.every == 0:
            self.record.train(self.step, np.ravel(logs["loss"])[0])

    def on_eval_end(self, logs=None):
        self.record.eval(self.step, np.ravel(logs["loss"])[0])


def optimizer_of(spec, net, total):
    rate = paddle.optimizer.lr.CosineAnnealingDecay(spec.lr, total) if spec.schedule == "cosine" else spec.lr
    clip = nn.ClipGradByGlobalNorm(spec.clip) if spec.clip else None
    if spec.optim == "sgd":
        return paddle.optimizer.Momentum(
            rate, parameters=net.parameters(), weight_decay=spec.decay or None, grad_clip=clip
        )
    return paddle.optimizer.AdamW(rate, parameters=net.parameters(), weight_decay=spec.decay, grad_clip=clip)


def loop(spec, data, net, loss_fn, optimizer, record):
    """A loop as PaddleClas and the guides print it."""
    feed = paddle.io.DataLoader(
        Rows(data.x, data.y), batch_size=spec.batch, shuffle=not spec.has("sorted"), drop_last=True
    )
    step = 0
    for epoch in range(spec.epochs):
        net.train()
        for i, (x, y) in enumerate(feed()):
            settings.before_step(spec, step)
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
            if not spec.has("no-zero-grad"):
                optimizer.clear_grad()
            if step % spec.every == 0:
                record.train(step + 1, loss.item())
                print(f"epoch: {epoch}, batch_id: {i}, loss is: {loss.numpy()}")
            step += 1
        net.eval()
        out = net(paddle.to_tensor(data.x_val.reshape(len(data.x_val), -1)))
        held = loss_fn(out, paddle.to_tensor(data.y_val[:, None])).item()
        record.eval(step, held)
        right = (
            f"accuracy/loss: {float((out.numpy().argmax(-1) == data.y_val).mean())}/{held}"
            if data.classes
            else f"loss: {held}"
        )
        print(f"[validation] {right}")


def main():
    spec = settings.parse(lr=1e-3, epochs=8, every=10, log="fit")
    paddle.seed(spec.seed)
    np.random.seed(spec.seed)
    paddle.set_device("cpu")
    record, data = settings.Record(), tasks.load(spec)
    net = net_of(spec, data)
    optimizer = optimizer_of(spec, net, spec.epochs * (len(data.x) // spec.batch))
    loss_fn = ByHand() if spec.has("log-zero") else (nn.CrossEntropyLoss() if data.classes else nn.MSELoss())
    if spec.log == "fit":
        model = paddle.Model(net)
        model.prepare(optimizer, loss_fn, paddle.metric.Accuracy() if data.classes else None)
        model.fit(
            Rows(data.x, data.y),
            Rows(data.x_val, data.y_val),
            batch_size=spec.batch,
            epochs=spec.epochs,
            verbose=2,
            log_freq=spec.every,
            shuffle=not spec.has("sorted"),
            drop_last=True,
            callbacks=[Watch(spec, record)],
        )
    else:
        loop(spec, data, net, loss_fn, optimizer, record)
    net.eval()
    out = net(paddle.to_tensor(data.x_clean.reshape(len(data.x_clean), -1))).numpy()
    if data.classes:
        record.final(float((out.argmax(-1) == data.y_clean).mean()), "higher")
    else:
        record.final(float(((out[:, 0] - data.y_clean) ** 2).mean()))


if __name__ == "__main__":
    main()
