"""Slow and obvious readers of the formats that vigil reads, by other people's packages: json, csv, sqlite3, tensorboard,
and W&B's own reader. Each gives {run: {name: [(step, value)]}}; a step is None where the file names none by itself.

They share no code with the product. A package that is absent raises ImportError.
"""

import csv
import gzip
import json
import sqlite3
import struct
import tempfile
from pathlib import Path

# Names that count or clock the rows, and settings that stand in every row: no series.
STEP_KEYS = ("train/global_step", "trainer/global_step", "global_step", "current_steps", "step", "iteration", "iter")


def number(text):
    """The number in a cell or a value, None when it is anything else."""
    if isinstance(text, bool) or text is None:
        return None
    try:
        return float(str(text).strip().replace(",", ""))
    except ValueError:
        return None


def put(series, name, step, value):
    series.setdefault(name, []).append((step, value))


def without_zeros(series):
    """A writer that was never given a step puts every point at 0: then there are none."""
    if any(step for points in series.values() for step, _ in points):
        return series
    return {name: [(None, value) for _, value in points] for name, points in series.items()}


def flat(row):
    """A row without nesting, as spaCy's {"losses": {"textcat": 1.5}}: names are joined by a slash."""
    out = {}
    for name, value in row.items():
        if isinstance(value, dict):
            out.update({f"{name}/{inner}": inner_value for inner, inner_value in flat(value).items()})
        else:
            out[name] = value
    return out


def rows_to_series(rows, step_keys=STEP_KEYS):
    series = {}
    for row in rows:
        step = next((int(row[key]) for key in step_keys if isinstance(row.get(key), (int, float))), None)
        for name, value in row.items():
            value = number(value)
            if value is not None:
                put(series, name, step, value)
    return series


def from_state(path):
    # The last row sums up the whole run: no step of it.
    rows = [row for row in json.loads(path.read_text())["log_history"] if "train_runtime" not in row]
    return {"": rows_to_series(rows)}


def one_metric_a_row(rows):
    """Series of rows that name their metric and its variant, as ClearML writes them."""
    series = {}
    for row in rows:
        put(series, f"{row['metric']}/{row['variant']}", row["iter"], number(row["value"]))
    return {"": series}


def from_lines(path):
    rows = [flat(json.loads(line)) for line in path.read_text().splitlines() if line.strip()]
    if rows and all("metric" in row and "variant" in row and "value" in row for row in rows):
        return one_metric_a_row(rows)
    for row in rows:
        if isinstance(row.get("batch"), str):  # a hash of the step's data, which may look like a number
            del row["batch"]
    # LLaMA-Factory's last evaluation counts its own batches.
    planned = next((row["total_steps"] for row in rows if "total_steps" in row), None)
    return {"": rows_to_series([row for row in rows if row.get("total_steps", planned) == planned])}


def from_golden(path):
    series = {}
    for name, metric in json.loads(path.read_text()).items():
        # "nan" at the beginning stands for the steps that a test of a restart left to the run before it.
        for step, value in sorted(metric["values"].items(), key=lambda pair: int(pair[0])):
            if value != "nan" or name in series:
                put(series, name, int(step), number(value))
    return {"": series}


def from_table(path):
    """Columns by name. A table that counts by none of the usual columns has no steps of its own."""
    text = path.read_text(errors="replace").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    delimiter = max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=delimiter))
    # An export of one metric has its name in the name of the file.
    head = [path.stem if cell.strip() == "value" and len(rows[0]) == 3 else cell.strip() for cell in rows[0]]
    counter = next((head.index(key) for key in ("iter", *STEP_KEYS, "steps") if key in head), None)
    series = {}
    for row in rows[1:]:
        step = None if counter is None or counter >= len(row) else number(row[counter])
        if counter is not None and step is None:
            continue  # behind the last step: a summary of the run
        for name, cell in zip(head, row, strict=False):
            value = number(cell)
            if value is not None:
                put(series, name, step, value)
    return {"": series}


def tensor_number(tensor):
    """The number in a tensor of one element, None when it is anything else."""
    from tensorboard.util.tensor_util import make_ndarray

    # Types that the package names but does not decode.
    if tensor.dtype == 14 and tensor.half_val:
        return struct.unpack("<f", struct.pack("<I", tensor.half_val[0] << 16))[0]
    for values in (tensor.uint32_val, tensor.uint64_val):
        if len(values) == 1:
            return float(values[0])
    try:
        array = make_ndarray(tensor)
        return float(array.item()) if array.size == 1 else None
    except (TypeError, ValueError):
        return None


def from_events(path):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    series, described = {}, {}
    for raw in RawEventFileLoader(str(path)).Load():
        event = Event.FromString(raw)
        for value in event.summary.value:
            plugin = described.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            found = value.simple_value if value.WhichOneof("value") == "simple_value" else None
            if value.WhichOneof("value") == "tensor" and plugin in ("", "scalars"):
                found = tensor_number(value.tensor)
            if found is not None:
                put(series, value.tag, event.step, found)
    return {"": without_zeros(series)}


def wandb_records(path):
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal import datastore

    store = datastore.DataStore()
    store.open_for_scan(str(path))
    while True:
        try:
            data = store.scan_data()
        except AssertionError:  # cut or damaged: its reader goes no further
            return
        if data is None:
            return
        yield wandb_internal_pb2.Record.FromString(data)


def from_wandb(path):
    """Rows of the history. Steps only where no axis of the trainer's own could take their place."""
    series, summary = {}, {}
    for record in wandb_records(path):
        for item in record.history.item:
            value = number(item.value_json.strip('"'))
            if value is not None:
                put(series, item.key or "/".join(item.nested_key), None, value)
        for item in record.summary.update:
            value = number(item.value_json.strip('"'))
            if value is not None:
                summary[item.key or "/".join(item.nested_key)] = value
    for name, value in summary.items():
        series.setdefault(name, [(None, value)])
    return {"": series}


def expanded(path):
    """The path itself, or that of its content where it is compressed."""
    if path.suffix != ".gz":
        return path
    folder = Path(tempfile.mkdtemp(prefix="vigil_check_"))
    for packed in path.parent.glob(path.name.removesuffix(".gz") + "*.gz"):
        (folder / packed.name.removesuffix(".gz")).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder / path.name.removesuffix(".gz")


def from_database(path):
    plain = expanded(path)
    database = sqlite3.connect(plain)
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if "experiments" in tables:
        return from_mlflow(database)
    return from_trackio(database)


def from_mlflow(database):
    biggest = 1.7976931348623157e308  # what MLflow stores for infinity
    runs = {}
    query = "SELECT m.run_uuid, key, value, step, is_nan FROM metrics m JOIN runs r USING (run_uuid) WHERE lifecycle_stage='active'"
    for run, key, value, step, is_nan in database.execute(query):
        value = float("nan") if is_nan else float("inf") if value >= biggest else value
        put(runs.setdefault(run, {}), key, step, value)
    return {run: without_zeros(series) for run, series in runs.items()}


def from_trackio(database):
    columns = {row[1] for row in database.execute("PRAGMA table_info(metrics)")}
    key = "run_id" if "run_id" in columns else "run_name"
    runs = {}
    for run, step, text in database.execute(f"SELECT {key}, step, metrics FROM metrics ORDER BY id"):
        for name, value in json.loads(text).items():
            value = number(value)
            if value is not None:
                put(runs.setdefault(run, {}), name, step, value)
    return runs


READERS = {
    "trainer-state": from_state,
    "jsonl": from_lines,
    "metric-json": from_golden,
    "csv": from_table,
    "tfevents": from_events,
    "wandb": from_wandb,
    "sqlite": from_database,
}
