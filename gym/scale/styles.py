"""Ways to write one and the same run: general ones first, then those of known trainers."""

import json
import math

from style_base import (
    HF_NAMES,
    SLASH,
    Style,
    capital,
    config_lines,
    exponent,
    fixed,
    four,
    json_values,
    plain,
    renamed,
)
from styles_trainers import TRAINERS

# --- JSON -----------------------------------------------------------------------------------------------------------


def write_json_lines(view):
    o = view.options
    names, slash = o.get("names", {}), o.get("slash", False)
    step_key, out = o.get("step", "step"), []
    for step, row in view.rows:
        parts = view.split(row) if o.get("apart") else (row,)
        for part in parts:
            if not part:
                continue
            record = {step_key: step}
            if o.get("epoch"):
                record["epoch"] = round(view.epoch(step), 4)
            if o.get("time"):
                record["time"] = view.time(step).timestamp()
            values = json_values(renamed(part, names, slash))
            if o.get("null"):
                values = {k: v if math.isfinite(v) else None for k, v in values.items()}
            if o.get("nested"):
                record["metrics"] = values
            else:
                record.update(values)
            out.append(json.dumps(record))
    return {o.get("file", "metrics.jsonl"): "\n".join(out) + "\n", **view.errors()}


def write_json_array(view):
    rows = [{"step": step, **json_values(row)} for step, row in view.rows]
    return {"history.json": json.dumps(rows, indent=1) + "\n", **view.errors()}


def write_json_columns(view):
    """Keras' History.history: a list a name."""
    columns = {}
    for _, row in view.rows:
        for name, value in json_values(renamed(row, {"accuracy": "accuracy", "eval_loss": "val_loss"})).items():
            columns.setdefault(name, []).append(value)
    return {"history.json": json.dumps(columns) + "\n", **view.errors()}


def write_trainer_state(view):
    history = []
    for step, row in view.rows:
        for part in view.split(row):
            if part:
                values = json_values(renamed(part, HF_NAMES))
                history.append({"epoch": round(view.epoch(step), 4), **values, "step": step})
    state = {"epoch": view.epoch(view.record["last_step"]), "global_step": view.record["last_step"]}
    state.update({"max_steps": view.total, "is_world_process_zero": True, "log_history": history})
    state["logging_steps"] = view.settings["logging_steps"]
    return {"trainer_state.json": json.dumps(state, indent=2) + "\n", **view.errors()}


# --- tables ---------------------------------------------------------------------------------------------------------


def write_table(view):
    o = view.options
    names, sep = o.get("names", {}), o.get("sep", ",")
    number = o.get("number", plain)
    columns = []
    for _, row in view.rows:
        columns += [k for k in row if k not in columns]
    head = [o.get("step", "step")] + (["epoch"] if o.get("epoch") else []) + [names.get(c, c) for c in columns]
    lines = [] if o.get("headerless") else [sep.join(head)]
    for step, row in view.rows:
        cells = [f"{view.epoch(step):g}" if o.get("step") == "epoch" else str(step)]
        if o.get("epoch"):
            cells.append(f"{int(view.epoch(step))}")
        cells += [number(row[c]) if c in row else o.get("blank", "") for c in columns]
        lines.append(sep.join(cells))
    return {o.get("file", "metrics.csv"): "\n".join(lines) + "\n", **view.errors()}


def write_markdown(view):
    columns = []
    for _, row in view.rows:
        columns += [k for k in row if k not in columns]
    lines = ["# Training", "", "| step | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for step, row in view.rows:
        lines.append(f"| {step} | " + " | ".join(fixed(row[c]) if c in row else "" for c in columns) + " |")
    return {"README.md": "\n".join(lines) + "\n", **view.errors()}


def write_aligned(view):
    columns = []
    for _, row in view.rows:
        columns += [k for k in row if k not in columns]
    lines = ["step".rjust(8) + "".join(c.rjust(24) for c in columns)]
    for step, row in view.rows:
        lines.append(str(step).rjust(8) + "".join((fixed(row[c]) if c in row else "-").rjust(24) for c in columns))
    return {"log.txt": "\n".join(lines) + "\n", **view.errors()}


# --- key=value lines ------------------------------------------------------------------------------------------------


def write_pairs(view):
    """One line a point. Options: prefix, step (a format), pair, sep, names, number, end, first."""
    o = view.options
    names, number = o.get("names", {}), o.get("number", fixed)
    pair, sep, step_form = o.get("pair", "{}={}"), o.get("sep", " "), o.get("step", "step={step}")

    def line(step, row):
        words = {"step": step, "total": view.total, "epoch": int(view.epoch(step)), "fepoch": view.epoch(step)}
        stamp = view.time(step)
        prefix = o.get("prefix", "").format(
            date=stamp.strftime("%Y-%m-%d"), time=stamp.strftime("%H:%M:%S"), ms=stamp.strftime("%f")[:3], **words
        )
        values = renamed(row, names, o.get("slash", False))
        unit = o.get("units", {})
        cells = [
            pair.format(k, number(v * unit[k][0]) + unit[k][1] if k in unit else number(v)) for k, v in values.items()
        ]
        return prefix + sep.join([step_form.format(**words), *cells]) + o.get("end", "")

    text = view.lines(line, first=config_lines(view.style.config, view.settings))
    return {o.get("file", "train.log"): text}


def write_colours(view):
    def line(step, row):
        cells = [f"\x1b[36m{k}\x1b[0m: \x1b[1;33m{fixed(v)}\x1b[0m" for k, v in row.items()]
        return f"\x1b[32m[INFO]\x1b[0m step \x1b[1m{step}\x1b[0m/{view.total}  " + "  ".join(cells)

    return {"train.log": view.lines(line)}


def write_bars(view):
    """tqdm: the bar is drawn again over itself."""

    def line(step, row):
        share = min(1.0, step / view.total)
        bar = "█" * int(10 * share) + " " * (10 - int(10 * share))
        values = ", ".join(f"{k}={v:.3g}" for k, v in row.items())
        spent = f"{int(step * 0.01) // 60:02d}:{int(step * 0.01) % 60:02d}"
        return f"{100 * share:3.0f}%|{bar}| {step}/{view.total} [{spent}<00:10, 98.12it/s, {values}]"

    body = view.lines(line).rstrip("\n").split("\n")
    bars = [x for x in body if "it/s" in x]
    rest = [x for x in body if "it/s" not in x]
    return {"train.log": "\r" + "\r".join(bars) + "\n" + "\n".join(rest) + "\n"}


def write_notebook(view):
    def line(step, row):
        return f"Step {step}: " + ", ".join(f"{k} {fixed(v)}" for k, v in row.items())

    text = view.lines(line, first=[str(view.settings)]).splitlines(keepends=True)
    cell = {
        "cell_type": "code",
        "execution_count": 3,
        "metadata": {},
        "source": ["train(model, loader)"],
        "outputs": [{"name": "stdout", "output_type": "stream", "text": text}],
    }
    book = {"cells": [cell], "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
    return {"train.ipynb": json.dumps(book, indent=1) + "\n"}


def write_ranks_one_file(view):
    def line(step, row):
        values = " ".join(f"{k}={fixed(v)}" for k, v in row.items())
        return "\n".join(f"[rank{r}]: step={step} {values}" for r in range(2))

    return {"train.log": view.lines(line)}


def write_ranks_files(view):
    def line(step, row):
        return f"{view.time(step):%Y-%m-%d %H:%M:%S} INFO step {step} | " + " | ".join(
            f"{k} {fixed(v)}" for k, v in row.items()
        )

    text = view.lines(line)
    return {f"log.rank{r}": text for r in range(2)}


def write_two_lines(view):
    """A value a line, as print() after print()."""

    def line(step, row):
        return f"--- step {step} ---\n" + "\n".join(f"{k}: {plain(v)}" for k, v in row.items())

    return {"out.txt": view.lines(line)}


OBJ = {"loss": "obj", "grad_norm": "gn", "lr": "eta", "step_time": "dt", "accuracy": "acc", "eval_loss": "vobj"}
NLL = {"loss": "nll", "eval_loss": "valid_nll", "grad_norm": "gnorm"}
COST = {"loss": "cost", "eval_loss": "test_cost", "lr": "alpha", "accuracy": "acc"}
LONG = {"loss": "train_loss", "eval_loss": "val_loss", "accuracy": "train_acc", "eval_accuracy": "val_acc"}
TITLE = {"loss": "Loss", "lr": "LR", "accuracy": "Acc@1", "grad_norm": "GradNorm", "eval_loss": "Val Loss"}
PERCENT = {"accuracy": (100, "%"), "eval_accuracy": (100, "%"), "step_time": (1000, "ms"), "rss_mb": (1, "MB")}

PLAIN = [
    Style("jsonl", write_json_lines, "json"),
    Style("jsonl-slash", write_json_lines, "yaml", options={"names": SLASH, "slash": True, "step": "global_step"}),
    Style(
        "jsonl-wandb",
        write_json_lines,
        "yaml",
        options={"names": SLASH, "slash": True, "step": "_step", "file": "wandb-history.jsonl"},
    ),
    Style("jsonl-apart", write_json_lines, "json", options={"apart": True, "epoch": True, "time": True}),
    Style("jsonl-nested", write_json_lines, "yaml", options={"nested": True, "step": "iteration"}),
    Style("jsonl-null", write_json_lines, "json", lossy=True, options={"null": True, "names": LONG}),
    Style("jsonl-log-txt", write_json_lines, options={"names": LONG, "step": "n_iter", "file": "log.txt"}),
    Style("json-array", write_json_array, "json"),
    Style("json-columns", write_json_columns, "json", lossy=True),
    Style("trainer-state", write_trainer_state, "json"),
    Style("csv", write_table, "yaml"),
    Style("csv-long-names", write_table, "json", options={"names": LONG, "epoch": True}),
    Style("csv-semicolon", write_table, options={"sep": ";", "names": COST}),
    Style("csv-progress", write_table, "yaml", options={"names": SLASH, "step": "train/step", "file": "progress.csv"}),
    Style("csv-epoch", write_table, "yaml", options={"step": "epoch", "names": LONG, "file": "results.csv"}),
    Style("csv-nan-cells", write_table, "json", options={"blank": "nan", "names": NLL}),
    Style("tsv", write_table, "toml", options={"sep": "\t", "file": "log.tsv"}),
    Style(
        "table-spaces-headerless",
        write_table,
        lossy=True,  # what a column is stands nowhere
        options={"sep": " ", "headerless": True, "blank": "-", "file": "loss.dat"},
    ),
    Style("table-aligned", write_aligned, "yaml"),
    Style("table-markdown", write_markdown),
    Style("csv-only-loss", write_table, "yaml", lossy=True, options={"only": ("loss",)}),
    Style("jsonl-thin", write_json_lines, "json", lossy=True, options={"thin": 5}),
    Style("kv", write_pairs, "yaml"),
    Style("kv-args", write_pairs, "args", options={"sep": ", ", "pair": "{}: {}", "step": "step: {step}"}),
    Style("kv-of-nobody", write_pairs, options={"names": OBJ, "step": "#{step:06d} >", "number": exponent}),
    Style(
        "kv-nll",
        write_pairs,
        "cli",
        options={
            "names": NLL,
            "prefix": "{date} {time},{ms} - INFO - ",
            "step": "update {step}",
            "sep": " | ",
            "pair": "{} {}",
        },
    ),
    Style("kv-cost", write_pairs, options={"names": COST, "step": "Iteration {step}", "sep": "; ", "pair": "{} = {}"}),
    Style(
        "kv-title",
        write_pairs,
        "args",
        options={"names": TITLE, "step": "Epoch: [{epoch}][{step}/{total}]", "sep": "\t", "pair": "{} {}"},
    ),
    Style(
        "kv-iso-level",
        write_pairs,
        "json",
        options={"prefix": "{date}T{time}.{ms}Z INFO trainer: ", "pair": "{}={}", "step": "step={step}"},
    ),
    Style(
        "kv-glog",
        write_pairs,
        options={
            "prefix": "I0314 {time}.{ms}123 4242 train.py:88] ",
            "step": "Step {step}",
            "sep": ", ",
            "pair": "{}: {}",
        },
    ),
    Style(
        "kv-bracket",
        write_pairs,
        "yaml",
        options={"prefix": "[{time}] ", "step": "[{step}/{total}]", "pair": "[{} {}]"},
    ),
    Style(
        "kv-units", write_pairs, "yaml", options={"units": PERCENT, "step": "it {step}", "pair": "{}: {}", "sep": "  "}
    ),
    Style("kv-capital", write_pairs, options={"number": capital, "step": "Step={step}", "sep": "; "}),
    Style("kv-arrow", write_pairs, options={"step": "» {step}", "pair": "{} → {}", "sep": " · "}),
    Style(
        "kv-slash-names",
        write_pairs,
        "yaml",
        options={"names": SLASH, "slash": True, "step": "global_step:{step}", "pair": "{}:{}", "sep": " - "},
    ),
    Style("kv-epoch-float", write_pairs, options={"step": "epoch={fepoch:.4f}", "sep": " "}),
    Style(
        "kv-md-file",
        write_pairs,
        options={"file": "NOTES.md", "prefix": "- ", "pair": "**{}** {}", "step": "step {step}:"},
    ),
    Style("kv-no-ending", write_pairs, options={"file": "output", "pair": "{}:{}", "step": "t:{step}"}),
    Style(
        "kv-rounded",
        write_pairs,
        lossy=True,
        options={"number": four, "names": LONG, "step": "step {step}:", "pair": "{} {}", "sep": ", "},
    ),
    Style(
        "kv-only-loss-lr",
        write_pairs,
        lossy=True,
        options={"only": ("loss", "lr", "eval_loss"), "step": "[{step}]", "pair": "{}: {}"},
    ),
    Style("colours", write_colours, "yaml"),
    Style("tqdm", write_bars, lossy=True),
    Style("notebook", write_notebook),
    Style("ranks-one-file", write_ranks_one_file, "yaml"),
    Style("ranks-files", write_ranks_files, "json"),
    Style("line-per-value", write_two_lines),
]

STYLES = {style.name: style for style in PLAIN + TRAINERS}
