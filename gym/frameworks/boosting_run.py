"""Gradient boosting: the evaluation lines of XGBoost, LightGBM and CatBoost."""

import numpy as np
import spec as settings
import tasks


def xgboost_run(spec, data, record):
    import xgboost

    params = {
        "eta": spec.lr,
        "max_depth": 4,
        "nthread": 1,
        "seed": spec.seed,
        "objective": "multi:softprob" if data.classes else "reg:squarederror",
    }
    params["eval_metric"] = ["mlogloss", "merror"] if data.classes else "rmse"
    if data.classes:
        params["num_class"] = data.classes
    if spec.has("too-much-regularisation"):
        params["reg_lambda"] = spec.of(1e5)
    train = xgboost.DMatrix(data.x.reshape(len(data.x), -1), data.y)
    valid = xgboost.DMatrix(data.x_val.reshape(len(data.x_val), -1), data.y_val)
    seen = {}
    model = xgboost.train(
        params, train, spec.steps, [(train, "train"), (valid, "eval")], evals_result=seen, verbose_eval=spec.every
    )
    metric = "mlogloss" if data.classes else "rmse"
    return (
        seen["train"][metric],
        seen["eval"][metric],
        model.predict(xgboost.DMatrix(data.x_clean.reshape(len(data.x_clean), -1))),
    )


def lightgbm_run(spec, data, record):
    import lightgbm

    params = {
        "learning_rate": spec.lr,
        "num_leaves": 15,
        "num_threads": 1,
        "seed": spec.seed,
        "objective": "multiclass" if data.classes else "regression",
    }
    if data.classes:
        params["num_class"] = data.classes
    if spec.has("too-much-regularisation"):
        params["min_data_in_leaf"] = int(spec.of(len(data.x)))
    train = lightgbm.Dataset(data.x.reshape(len(data.x), -1), data.y)
    valid = lightgbm.Dataset(data.x_val.reshape(len(data.x_val), -1), data.y_val, reference=train)
    seen = {}
    watch = [lightgbm.log_evaluation(spec.every), lightgbm.record_evaluation(seen)]
    if spec.wants("stopping"):
        watch.append(lightgbm.early_stopping(20))
    model = lightgbm.train(params, train, spec.steps, [train, valid], ["training", "valid_1"], callbacks=watch)
    metric = "multi_logloss" if data.classes else "l2"
    return seen["training"][metric], seen["valid_1"][metric], model.predict(data.x_clean.reshape(len(data.x_clean), -1))


def catboost_run(spec, data, record):
    import catboost

    kind = catboost.CatBoostClassifier if data.classes else catboost.CatBoostRegressor
    more = {"l2_leaf_reg": spec.of(1e6)} if spec.has("too-much-regularisation") else {}
    model = kind(
        iterations=spec.steps,
        learning_rate=spec.lr,
        depth=4,
        thread_count=1,
        random_seed=spec.seed,
        verbose=spec.every,
        train_dir="catboost_info",
        **more,
    )
    model.fit(
        data.x.reshape(len(data.x), -1),
        data.y,
        eval_set=(data.x_val.reshape(len(data.x_val), -1), data.y_val),
        use_best_model=False,
    )
    seen = model.get_evals_result()
    metric = "MultiClass" if data.classes else "RMSE"
    flat = data.x_clean.reshape(len(data.x_clean), -1)
    return (
        seen["learn"][metric],
        seen["validation"][metric],
        model.predict_proba(flat) if data.classes else model.predict(flat),
    )


def main():
    spec = settings.parse(model="xgboost", steps=150, lr=0.1, every=1)
    record, data = settings.Record(), tasks.load(spec)
    train, valid, out = {"xgboost": xgboost_run, "lightgbm": lightgbm_run, "catboost": catboost_run}[spec.model](
        spec, data, record
    )
    for i, (a, b) in enumerate(zip(train, valid, strict=True), 1):
        record.train(i, a)
        record.eval(i, b)
    if data.classes:
        record.final(float((np.argmax(out, -1) == data.y_clean).mean()), "higher")
    else:
        record.final(float(np.mean((out - data.y_clean) ** 2)))


if __name__ == "__main__":
    main()
