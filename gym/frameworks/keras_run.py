"""Keras 3 (KERAS_BACKEND chooses what it runs on): `fit` with its progress lines, CSVLogger, TensorBoard."""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import spec as settings  # noqa: E402
import tasks  # noqa: E402

LOSSES = {"class": "sparse_categorical_crossentropy", "regression": "mse"}


def model_of(spec, data):
    relu = {"activation": "relu"}
    if spec.has("dead-relu"):
        relu["bias_initializer"] = keras.initializers.Constant(-spec.of(20))
    if spec.has("bad-init"):
        relu["kernel_initializer"] = keras.initializers.RandomNormal(stddev=spec.of(10))
    layers = keras.layers
    stack = [keras.Input(data.x.shape[1:])]
    if spec.model == "cnn":
        stack += [layers.Permute((2, 3, 1)), layers.Conv2D(8, 3, **relu), layers.MaxPooling2D(), layers.Flatten()]
    depth = int(spec.of(10)) if spec.has("vanishing") else 2
    if spec.has("vanishing"):
        relu["activation"] = "sigmoid"
    for _ in range(depth):
        stack.append(layers.Dense(64, **relu))
        if spec.model == "bn":
            stack.append(layers.BatchNormalization())
        if spec.model == "dropout":
            stack.append(layers.Dropout(0.3))
    ends = {"activation": "softmax"} if data.classes else {}
    stack.append(layers.Dense(max(1, data.classes), **ends))
    if spec.has("softmax-twice"):
        stack.append(layers.Softmax())
    model = keras.Sequential(stack)
    if spec.has("frozen"):
        for layer in model.layers:
            layer.trainable = False
        model.layers[-1].trainable = not spec.wants("all")
    return model


def log_of_zero(y, p):
    """Cross entropy by hand, without a bound."""
    one = keras.ops.one_hot(keras.ops.reshape(y, (-1,)), p.shape[-1])
    return keras.ops.mean(keras.ops.sum(-(one * keras.ops.log(p) + (1 - one) * keras.ops.log(1 - p)), -1))


class Watch(keras.callbacks.Callback):
    def __init__(self, spec, record):
        super().__init__()
        self.spec, self.record, self.step = spec, record, 0

    def on_train_batch_begin(self, batch, logs=None):
        settings.before_step(self.spec, self.step)
        self.step += 1

    def on_epoch_end(self, epoch, logs=None):
        self.record.train(epoch + 1, logs["loss"])
        if "val_loss" in logs:
            self.record.eval(epoch + 1, logs["val_loss"])


def optimizer_of(spec, total):
    rate = spec.lr
    if spec.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(spec.lr, total)
    elif spec.schedule == "restarts":
        rate = keras.optimizers.schedules.CosineDecayRestarts(spec.lr, total // 4, t_mul=1.0)
    if spec.optim == "sgd":
        return keras.optimizers.SGD(rate, momentum=0.9, weight_decay=spec.decay or None, clipnorm=spec.clip or None)
    kind = keras.optimizers.AdamW if spec.decay else keras.optimizers.Adam
    more = {"weight_decay": spec.decay} if spec.decay else {}
    return kind(rate, clipnorm=spec.clip or None, **more)


def callbacks_of(spec):
    made = []
    if "csv" in spec.log:
        made.append(
            keras.callbacks.CSVLogger(
                "training.log" if "log" in spec.extra else "training.csv", append=bool(spec.resume)
            )
        )
    if "tensorboard" in spec.log:
        made.append(keras.callbacks.TensorBoard("logs", write_graph=False))
    if "lr" in spec.log:
        made.append(keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5, verbose=1))
    if "stopping" in spec.log:
        made.append(keras.callbacks.EarlyStopping(patience=4, verbose=1))
    if "nanstop" in spec.log:
        made.append(keras.callbacks.TerminateOnNaN())
    if "cyclic" in spec.schedule:
        made.append(
            keras.callbacks.LearningRateScheduler(
                lambda e: spec.lr * settings.rate_factor("cyclic", e, spec.epochs), verbose=1
            )
        )
    return made


def main():
    spec = settings.parse(log="verbose2")
    keras.utils.set_random_seed(spec.seed)
    record, data = settings.Record(), tasks.load(spec)
    total = spec.epochs * max(1, len(data.x) // spec.batch)
    model = model_of(spec, data)
    loss = log_of_zero if spec.has("log-zero") else LOSSES["class" if data.classes else "regression"]
    model.compile(optimizer_of(spec, total), loss=loss, metrics=["accuracy"] if data.classes else ["mae"])
    if "summary" in spec.log:
        model.summary(line_length=80)
    if spec.resume:
        weights = keras.models.load_model("model.keras") if spec.resume == "full" else None
        if weights is not None:
            model = weights
        else:
            model.load_weights("model.weights.h5")
    verbose = 1 if "verbose1" in spec.log else 2
    watch = [*callbacks_of(spec), Watch(spec, record)]
    first = spec.stop if spec.resume else 0
    ends = spec.stop if spec.stop and not spec.resume else spec.epochs
    y = data.y.astype(np.float32) if spec.task == "prices" else data.y
    model.fit(
        data.x,
        y,
        spec.batch,
        ends,
        verbose,
        watch,
        validation_data=None if spec.wants("no-eval") else (data.x_val, data.y_val),
        initial_epoch=first,
        shuffle=not spec.has("sorted"),
    )
    if spec.stop and not spec.resume:
        model.save("model.keras")
        model.save_weights("model.weights.h5")
    scores = model.evaluate(data.x_clean, data.y_clean, verbose=0)
    record.final(scores[1], "higher") if data.classes else record.final(scores[0])


if __name__ == "__main__":
    main()
