"""scikit-learn: MLPClassifier and MLPRegressor with verbose=True."""

import firstset  # noqa: F401
import numpy as np
import spec as settings
import tasks
from sklearn.neural_network import MLPClassifier, MLPRegressor


def main():
    spec = settings.parse(lr=1e-3, epochs=40, batch=64)
    record, data = settings.Record(), tasks.load(spec)
    kind = MLPClassifier if data.classes else MLPRegressor
    model = kind(
        hidden_layer_sizes=(64, 32),
        solver="sgd" if spec.optim == "sgd" else "adam",
        learning_rate_init=spec.lr,
        alpha=spec.decay or 1e-4,
        batch_size=spec.batch,
        max_iter=spec.epochs,
        n_iter_no_change=spec.epochs,
        random_state=spec.seed,
        verbose=True,
    )
    model.fit(data.x, data.y)
    for step, value in enumerate(model.loss_curve_, 1):
        record.train(step, value)
    print(f"Test score: {model.score(data.x_val, data.y_val):.4f}")
    if data.classes:
        record.final(model.score(data.x_clean, data.y_clean), "higher")
    else:
        record.final(float(np.mean((model.predict(data.x_clean) - data.y_clean) ** 2)))


if __name__ == "__main__":
    main()
