"""What the writers of styles share: a run as rows, names, numbers, configs."""

import datetime
import json
import math
from dataclasses import dataclass, field

import runs_file

START = datetime.datetime(2025, 3, 14, 9, 26, 53)
NOTE_SERIES = ("lr", "grad_norm", "step_time", "data_time", "rss_mb", "loss_scale")


@dataclass(frozen=True)
class Style:
    name: str
    write: object  # (View) -> {file name: text}
    config: str = ""  # yaml, json, args, toml, python, cli, or none
    lossy: bool = False  # drops columns or points, or rounds: a verdict may fairly differ
    options: dict = field(default_factory=dict)


class View:
    """One run, ready to be written."""

    def __init__(self, record, style):
        self.record, self.style, self.options = record, style, style.options
        self.settings = record["settings"]
        self.rows = runs_file.rows(record)
        self.per_epoch = max(1, self.settings["steps_per_epoch"])
        self.total = self.settings["max_steps"]
        every = self.options.get("thin", 1)
        if every > 1 and len(self.rows) >= 20 * every:
            self.rows = [row for i, row in enumerate(self.rows) if i % every == every - 1]
        keep = self.options.get("only")
        if keep:
            self.rows = [(s, {k: v for k, v in row.items() if k in keep}) for s, row in self.rows]
        self.rows = [(s, row) for s, row in self.rows if row]

    def epoch(self, step):
        return step / self.per_epoch

    def time(self, step):
        return START + datetime.timedelta(seconds=0.35 * step)

    def split(self, row):
        """(train values, eval values)"""
        held = {k: v for k, v in row.items() if k.startswith("eval_")}
        return {k: v for k, v in row.items() if k not in held}, held

    def events(self, before, step):
        """Texts of events after step `before` up to `step`."""
        return [e["text"].rstrip() for e in self.record["events"] if before < e["step"] <= step]

    def lines(self, train_line, eval_line=None, first=()):
        """Rows through two formatters, events between them."""
        out, last = list(first), -1
        for step, row in self.rows:
            out += self.events(last, step)
            last = max(last, step)
            train, held = self.split(row)
            if train:
                out.append(train_line(step, train))
            if held:
                out.append((eval_line or train_line)(step, held))
        out += self.events(last, 10**9)
        return "\n".join(out) + "\n"

    def errors(self):
        """Events alone, for styles whose metrics stand in a table."""
        texts = [e["text"].rstrip() for e in self.record["events"]]
        return {"stderr.log": "\n".join(texts) + "\n"} if texts else {}


# --- numbers --------------------------------------------------------------------------------------------------------


def plain(value):
    return f"{value:.6g}"


def fixed(value):
    """Four decimals where they say enough, else an exponent: as careful people print."""
    if not math.isfinite(value):
        return f"{value}"
    return f"{value:.4f}" if value == 0 or 0.1 <= abs(value) < 1e5 else f"{value:.4e}"


def four(value):
    return f"{value:.4f}"


def exponent(value):
    return f"{value:.3e}"


def capital(value):
    """As .NET, Java and C++ write."""
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else f"{value:.5E}"


# --- names ----------------------------------------------------------------------------------------------------------

HF_NAMES = {"lr": "learning_rate"}
SLASH = {
    "loss": "train/loss",
    "lr": "train/lr",
    "grad_norm": "train/grad_norm",
    "accuracy": "train/accuracy",
    "step_time": "perf/step_time",
    "data_time": "timers/data",
    "rss_mb": "perf/rss_mb",
}


def renamed(row, names, slash_eval=False):
    out = {}
    for key, value in row.items():
        key = names.get(key, key)
        out["eval/" + key[5:] if slash_eval and key.startswith("eval_") else key] = value
    return out


def json_values(row):
    """Python's json writes NaN and Infinity bare; so do most loggers."""
    return {k: (v if not math.isfinite(v) else float(plain(v))) for k, v in row.items()}


# --- configs --------------------------------------------------------------------------------------------------------


def yaml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


def config_files(kind, s):
    if kind == "yaml":
        return {"config.yaml": "".join(f"{k}: {yaml_value(v)}\n" for k, v in s.items())}
    if kind == "nested-yaml":
        parts = {
            "model": ("model", "dropout", "parameters"),
            "optim": ("optimizer", "lr", "weight_decay", "betas", "eps"),
        }
        used, out = set(), ""
        for part, keys in parts.items():
            out += part + ":\n" + "".join(f"  {k}: {yaml_value(s[k])}\n" for k in keys if k in s)
            used |= set(keys)
        return {
            "config.yaml": out
            + "trainer:\n"
            + "".join(f"  {k}: {yaml_value(v)}\n" for k, v in s.items() if k not in used)
        }
    if kind == "json":
        return {"config.json": json.dumps(s, indent=2) + "\n"}
    if kind == "toml":
        return {"config.toml": "[training]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in s.items())}
    if kind == "python":
        return {"config.py": "".join(f"{k} = {v!r}\n" for k, v in s.items())}
    return {}


def config_lines(kind, s):
    """Settings printed at the top of the log."""
    if kind == "args":
        return ["Namespace(" + ", ".join(f"{k}={v!r}" for k, v in s.items()) + ")"]
    if kind == "cli":
        return ["+ python train.py " + " ".join(f"--{k} {v}" for k, v in s.items() if not isinstance(v, (str, list)))]
    if kind == "list":
        return (
            ["------ arguments ------"]
            + [f"  {k} {'.' * (34 - len(k))} {v}" for k, v in s.items()]
            + ["------ end ------"]
        )
    return []
