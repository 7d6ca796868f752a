#!/usr/bin/env python3
"""Checks that every remedy is a setting that its framework accepts, by the framework's own config class.

usage: check_remedies.py [ROWS_DIR]

Settings of frameworks that cannot be imported here are counted as "not run". Exit code 1 when a setting is unknown or a
value is refused.
"""

import importlib
import inspect
import sys
import tempfile
import tomllib
from pathlib import Path

# What each proposal computes, as a value of the kind that the setting takes. A new proposal needs a line here.
SAMPLES = {
    "lower-lr": [6.7e-05],
    "raise-lr": [1e-05],
    "warmup-steps": [60],
    "clip-one": [1.0],
    "use-bf16": [True],
    "show-non-finite": [False],
    "log-every-step": [1],
    "epochs-to-best": [3.3],
    "switch-on": [True],
    "switch-off": [False],
    "moderate-decay": [0.01],
    "more-generations": [16],
    "full-temperature": [1.0],
    "add-kl-penalty": [0.04],
    "longer-completions": [1024],
    "cosine-schedule": ["cosine"],
    "half-batch": [8],
    "double-accumulation": [2],
    "no-workers": [0],
}
# What a value needs beside it to be taken.
WITH = {
    "load_best_model_at_end": {"eval_strategy": "steps", "eval_steps": 10, "save_steps": 10},
    "num_generations": {"per_device_train_batch_size": 16},
}
# Config classes of TRL take the settings of TrainingArguments: the diagnosis relies on it.
INHERITING = ["SFTConfig", "GRPOConfig", "DPOConfig"]


class Unavailable(Exception):
    pass


def config_class(module, name):
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as problem:
        raise Unavailable(f"{module}: {problem}") from problem


def refusal(cls, setting, value, folder):
    """Why the class refuses the value, or None."""
    if setting not in inspect.signature(cls).parameters:
        return f"{cls.__name__} has no setting '{setting}'"
    common = {} if cls.__name__ == "Trainer" else {"output_dir": folder, "use_cpu": True}
    if "bf16" in inspect.signature(cls).parameters and setting != "bf16":
        common["bf16"] = False
    try:
        cls(**common, **WITH.get(setting, {}), **{setting: value})
    except (TypeError, ValueError) as problem:
        return f"{cls.__name__}({setting}={value!r}): {problem}"
    return None


def targets(framework, file):
    """The classes that must take a setting of this framework."""
    if framework == "hf-trainer":
        yield "transformers", "TrainingArguments"
        for name in INHERITING:
            yield "trl", name
    elif framework == "trl":
        yield "trl", file
    elif framework == "lightning" and file == "Trainer":
        yield "lightning", "Trainer"


def check(rows, folder):
    problems, done, missing = [], 0, {}
    for row in rows:
        proposal = row.get("proposal", "")
        if proposal and proposal not in SAMPLES:
            problems.append(f"{row['id']}: no sample value for proposal '{proposal}' in {Path(__file__).name}")
            continue
        for setting in row.get("settings", []):
            for module, name in targets(setting["framework"], setting.get("file", "")):
                for value in SAMPLES.get(proposal, []):
                    if module == "lightning" and setting["setting"] == "precision":
                        value = "bf16-mixed"
                    if module == "lightning" and setting["setting"] == "max_epochs":
                        value = 3
                    try:
                        why = refusal(config_class(module, name), setting["setting"], value, folder)
                    except Unavailable as problem:
                        missing[module] = str(problem)
                        continue
                    done += 1
                    if why:
                        problems.append(f"{row['id']}: {why}")
    return problems, done, missing


def main():
    default = Path(__file__).resolve().parents[2] / "src" / "catalogue" / "rows"
    rows_dir = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    with open(rows_dir / "remedies.toml", "rb") as handle:
        rows = tomllib.load(handle)["remedy"]
    with tempfile.TemporaryDirectory() as folder:
        problems, done, missing = check(rows, folder)
    for module, why in missing.items():
        print(f"not run: settings of {module} ({why})")
    for problem in problems:
        print(f"refused: {problem}")
    print(f"{done} settings checked, {len(problems)} refused")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
