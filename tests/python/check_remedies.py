#!/usr/bin/env python3
"""Checks that every remedy is a setting that its framework accepts, by the framework's own config class.

usage: check_remedies.py [ROWS_DIR]

Lines of code are run on a model of one layer. KempnerForge is no package: KEMPNERFORGE names a checkout of it, and
TORCHTITAN_PYTHON an interpreter with a torchtitan that reads TOML (before 0.3). Settings of frameworks that are not here are
named and counted as "not run". Exit code 1 when a setting is unknown or a value is refused, 77 when no framework is here.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

# What each proposal computes, as values of the kind that the setting takes. A new proposal needs a line here.
SAMPLES = {
    "lower-lr": [6.7e-05],
    "raise-lr": [1e-05],
    "set-lr": [1e-3],
    "warmup-steps": [60],
    "clip-usual": [1.0, 38.0],
    "raise-clip": [0.5],
    "use-bf16": [True],
    "show-non-finite": [False],
    "log-every-step": [1],
    "epochs-to-best": [3],
    "steps-to-best": [200],
    "switch-on": [True],
    "switch-off": [False],
    "moderate-decay": [0.01],
    "default-epsilon": [1e-08],
    "default-betas": [0.9],
    "default-momentum": [0.9],
    "less-dropout": [0.1],
    "less-smoothing": [0.1],
    "plain-temperature": [1.0],
    "smaller-rank": [16],
    "more-generations": [16],
    "full-temperature": [1.0],
    "add-kl-penalty": [0.04],
    "usual-entropy": [0.01],
    "lower-entropy": [0.01],
    "usual-discount": [0.99],
    "longer-completions": [1024],
    "cosine-schedule": ["cosine"],
    "half-batch": [8],
    "more-updates": [4],
    "more-accumulation": [32],
    "half-sequence": [1024],
    "eight-bit": ["adamw_bnb_8bit"],
    "fewer-workers": [2],
    "more-workers": [4],
}
# What a value needs beside it to be taken.
WITH = {
    "load_best_model_at_end": {"eval_strategy": "steps", "eval_steps": 10, "save_steps": 10},
    "num_generations": {"per_device_train_batch_size": 16},
    "per_device_train_batch_size": {"gradient_accumulation_steps": 8},  # as the remedy sets it beside the batch
}
# Config classes of TRL take the settings of TrainingArguments: the diagnosis relies on it.
INHERITING = ["SFTConfig", "GRPOConfig", "DPOConfig"]


class Unavailable(Exception):
    pass


def config_class(module, name):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return getattr(importlib.import_module(module), name)
    except ImportError as problem:
        raise Unavailable(f"{module}: {problem}") from problem


def typed(text):
    """The value that a row writes: a switch, a number or a name."""
    words = {"True": True, "true": True, "False": False, "false": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def plain(value):
    """As it stands in a line of code."""
    return repr(value) if not isinstance(value, str) else value


# --- classes that take keyword arguments -----------------------------------------------------------------------------


def refusal(cls, setting, value, folder):
    """Why the class refuses the value, or None."""
    parameters = inspect.signature(cls).parameters
    if setting not in parameters and "kwargs" not in parameters:
        return f"{cls.__name__} has no setting '{setting}'"
    common = {"output_dir": folder, "use_cpu": True} if "output_dir" in parameters else {}
    if "bf16" in parameters and setting != "bf16":
        common["bf16"] = False
    try:
        cls(**{**common, **WITH.get(setting, {}), setting: value})
    except (TypeError, ValueError) as problem:
        return f"{cls.__name__}({setting}={value!r}): {problem}"
    return None


def hf(setting, value, folder, file):
    for module, name in [("transformers", "TrainingArguments"), *(("trl", name) for name in INHERITING)]:
        yield module, lambda module=module, name=name: refusal(config_class(module, name), setting, value, folder)


def by_class(module):
    def check(setting, value, folder, file):
        yield module, lambda: refusal(config_class(module, file), setting, value, folder)

    return check


# --- frameworks that read files --------------------------------------------------------------------------------------


def nested(path, value):
    keys = path.split(".")
    tree = value
    for key in reversed(keys):
        tree = {key: tree}
    return tree


def deepspeed(setting, value, folder, file):
    def check():
        cls = config_class("deepspeed.runtime.config", "DeepSpeedConfig")
        sections = {
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
            "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 1, "total_num_steps": 10}},
        }
        section = setting.split(".")[0]
        config = {"train_micro_batch_size_per_gpu": 4, **({section: sections[section]} if section in sections else {})}
        node, keys = config, setting.split(".")
        for key in keys[:-1]:
            node = node.setdefault(key, {})
        node[keys[-1]] = value
        try:
            read = cls(config)
        except Exception as problem:
            return f"DeepSpeedConfig({setting}={value!r}): {problem}"
        return None if seen_in(read, setting, value) else f"DeepSpeedConfig takes no notice of '{setting}'"

    yield "deepspeed", check


def seen_in(config, setting, value):
    """Unknown keys are taken without a word: what was read must show the value."""
    places = {
        "gradient_clipping": lambda c: c.gradient_clipping,
        "bf16.enabled": lambda c: c.bfloat16_config.enabled,
        "fp16.enabled": lambda c: c.float16_config.enabled,
        "steps_per_print": lambda c: c.steps_per_print,
        "train_micro_batch_size_per_gpu": lambda c: c.train_micro_batch_size_per_gpu,
        "gradient_accumulation_steps": lambda c: c.gradient_accumulation_steps,
    }
    if setting in places:
        return places[setting](config) == value
    section, _, key = setting.partition(".params.")
    read = {"optimizer": config.optimizer_params, "scheduler": config.scheduler_params}[section]
    return read[key] == value and key_is_taken(section, key)


def key_is_taken(section, key):
    """The class that the section makes has an argument of that name."""
    classes = {
        "optimizer": [("torch.optim", "AdamW"), ("torch.optim", "SGD")],
        "scheduler": [("deepspeed.runtime.lr_schedules", "WarmupDecayLR")],
    }
    return any(key in inspect.signature(config_class(*each)).parameters for each in classes[section])


TITAN_SCRIPT = """
import sys
from torchtitan.config import ConfigManager
config = ConfigManager().parse_args(["--job.config_file", sys.argv[1]])
value = config
for key in sys.argv[2].split("."):
    value = getattr(value, key)
print(repr(value))
"""


def toml_value(value):
    return json.dumps(value)


def torchtitan(setting, value, folder, file):
    def check():
        python = os.environ.get("TORCHTITAN_PYTHON")
        if not python:
            raise Unavailable("torchtitan: TORCHTITAN_PYTHON names no interpreter with a version that reads TOML")
        section, key = setting.rsplit(".", 1)
        path = Path(folder) / "titan.toml"
        path.write_text(f"[{section}]\n{key} = {toml_value(value)}\n")
        done = subprocess.run([python, "-c", TITAN_SCRIPT, str(path), setting], capture_output=True, text=True, check=False)
        if "ModuleNotFoundError" in done.stderr:
            raise Unavailable(f"torchtitan: {done.stderr.strip().splitlines()[-1]}")
        if done.returncode:
            return f"torchtitan refuses {setting} = {value!r}: {done.stderr.strip().splitlines()[-1:]}"
        return None if typed(done.stdout.strip().strip("'")) == value else f"torchtitan reads {setting} as {done.stdout}"

    yield "torchtitan", check


def kempnerforge(setting, value, folder, file):
    def check():
        checkout = os.environ.get("KEMPNERFORGE")
        if not checkout:
            raise Unavailable("kempnerforge: KEMPNERFORGE names no checkout")
        if checkout not in sys.path:
            sys.path.insert(0, checkout)
        load = config_class("kempnerforge.config", "load_config")
        section, key = setting.rsplit(".", 1)
        path = Path(folder) / "kf.toml"
        path.write_text(f"[{section}]\n{key} = {toml_value(value)}\n")
        try:
            read = getattr(getattr(load(str(path)), section), key)
        except Exception as problem:
            return f"kempnerforge refuses {setting} = {value!r}: {problem}"
        return None if read == value else f"kempnerforge reads {setting} as {read!r}"

    yield "kempnerforge", check


def axolotl(setting, value, folder, file):
    def check():
        cls = config_class("axolotl.utils.schemas.config", "AxolotlInputConfig")
        fields = cls.model_fields
        first, _, rest = setting.partition(".")
        if first not in fields:
            return f"axolotl has no setting '{setting}'"
        if rest and rest not in config_class("axolotl.utils.schemas.trl", "TRLConfig").model_fields:
            return f"axolotl has no setting '{setting}'"
        base = {"base_model": "m", "learning_rate": 1e-4, "micro_batch_size": 1, "gradient_accumulation_steps": 1}
        base |= {"datasets": [{"path": "d", "type": "alpaca"}]}
        try:
            cls.model_validate({**base, **nested(setting, value)})
        except ValueError as problem:
            if setting in str(problem):
                return f"axolotl({setting}={value!r}): {problem}"
        return None

    yield "axolotl", check


# --- lines of code ---------------------------------------------------------------------------------------------------


def torch_names():
    import torch

    model = torch.nn.Linear(4, 2)
    model.forward_ = model.forward
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    logits, labels = model(torch.randn(8, 4)), torch.randint(0, 2, (8,))
    loss = torch.nn.functional.cross_entropy(logits, labels)
    dataset = torch.utils.data.TensorDataset(torch.randn(8, 4))
    names = {"torch": torch, "model": model, "optimizer": optimizer, "scheduler": scheduler, "logits": logits}
    names |= {"labels": labels, "loss": loss, "losses": [], "total": 0.0, "accumulation_steps": 2, "steps": 10, "lr": 0.1}
    names |= {"counts": torch.tensor([3.0, 5.0]), "x": torch.randn(4), "mean": 0.0, "std": 1.0, "dataset": dataset}
    names |= {"batch_size": 2, "DataLoader": torch.utils.data.DataLoader, "block": model, "step": 3, "path": io.BytesIO()}
    names |= {"checkpoint": {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}}
    names |= {"state": model.state_dict(), "sampler": torch.utils.data.SequentialSampler(dataset)}
    return names


def run_line(line, names):
    body = f"{line} pass" if line.startswith("with ") and line.endswith(":") else line
    try:
        exec(compile(body, "<remedy>", "exec"), names)
    except Exception as problem:
        return f"{line}: {type(problem).__name__}: {problem}"
    return None


def torch_line(line):
    try:
        names = torch_names()
    except ImportError as problem:
        raise Unavailable(f"torch: {problem}") from problem
    if "block, x" in line:
        names["x"] = names["torch"].randn(8, 4, requires_grad=True)
    return run_line(line, names)


def keras_line(line):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    try:
        import keras
    except ImportError as problem:
        raise Unavailable(f"keras: {problem}") from problem
    if "model.fit(..." in line:
        name = line.split("(..., ")[1].split("=")[0]
        return None if name in inspect.signature(keras.Model.fit).parameters else f"{line}: fit has no '{name}'"
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return run_line(line, {"keras": keras, "model": model, "lr": 0.1, "steps": 10, "units": 2})


def accelerate_line(line):
    try:
        from accelerate import Accelerator
    except ImportError as problem:
        raise Unavailable(f"accelerate: {problem}") from problem
    names = torch_names()
    accelerator = Accelerator(cpu=True)
    names["model"], names["optimizer"] = accelerator.prepare(names["model"], names["optimizer"])
    return run_line(line, {**names, "accelerator": accelerator})


LINES = {"torch": torch_line, "keras": keras_line, "accelerate": accelerate_line, "*": torch_line}
CHECKS = {
    "hf-trainer": {"TrainingArguments": hf, "LoraConfig": by_class("peft")},
    "trl": {"": by_class("trl"), "LoraConfig": by_class("peft")},
    "lightning": {"Trainer": by_class("lightning")},
    "accelerate": {"Accelerator": by_class("accelerate")},
    "deepspeed": {"": deepspeed},
    "torchtitan": {"": torchtitan},
    "kempnerforge": {"": kempnerforge},
    "axolotl": {"": axolotl},
}


# --- all of them -----------------------------------------------------------------------------------------------------


def checks_of(row, setting, folder):
    """(framework, function that gives the refusal or None) for each thing that must be taken."""
    framework, file = setting["framework"], setting.get("file", "")
    values = [typed(setting["value"])] if setting.get("value") else SAMPLES.get(row.get("proposal", ""), [])
    for value in values or [None]:
        if setting.get("code") and framework in LINES:
            line = setting["code"].replace("{value}", plain(value) if value is not None else "1")
            yield framework, lambda line=line: LINES[framework](line)
        elif value is not None and framework in CHECKS and " " not in setting["setting"]:
            by_file = CHECKS[framework]
            check = by_file.get(file) or by_file.get("")
            if check:
                yield from check(setting["setting"], value, folder, file)


def check(rows, folder):
    problems, done, missing = [], {}, {}
    settings = {row["id"]: row.get("settings", []) for row in rows}
    for row in rows:
        proposal = row.get("proposal", "")
        if proposal and proposal not in SAMPLES:
            problems.append(f"{row['id']}: no sample value for proposal '{proposal}' in {Path(__file__).name}")
            continue
        for setting in settings[row.get("settings_of", row["id"])]:
            for framework, why in checks_of(row, setting, folder):
                try:
                    refused = why()
                except Unavailable as problem:
                    missing[str(problem).split(":")[0]] = str(problem)
                    continue
                done[framework] = done.get(framework, 0) + 1
                if refused:
                    problems.append(f"{row['id']}: {refused}")
    return problems, done, missing


def main():
    default = Path(__file__).resolve().parents[2] / "src" / "catalogue" / "rows"
    rows_dir = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    with open(rows_dir / "remedies.toml", "rb") as handle:
        rows = tomllib.load(handle)["remedy"]
    with tempfile.TemporaryDirectory() as folder:
        problems, done, missing = check(rows, folder)
    for why in missing.values():
        print(f"not run: settings of {why}")
    for problem in problems:
        print(f"refused: {problem}")
    print(f"{sum(done.values())} settings checked ({', '.join(f'{k} {v}' for k, v in sorted(done.items()))}), {len(problems)} refused")
    sys.exit(1 if problems else 0 if done else 77)


if __name__ == "__main__":
    main()
