"""Checks tests/corpus_files.tsv with readers of others: json, csv, the tensorboard package and W&B's own reader.

usage: check_corpus_files.py TABLE CORPUS
For each file the series that the table names is read again: number of points, first and last value must be the same.
Kinds whose reader is absent are left out; exits 77 ("not run") when nothing could be checked.
"""

import csv
import json
import math
import re
import sys
from pathlib import Path

NOT_RUN = 77


def number(text):
    try:
        return float(str(text).replace(",", ""))
    except ValueError:
        return None


def from_state(path, name):
    # The last row sums up the whole run: no step of it.
    rows = [row for row in json.loads(path.read_text())["log_history"] if "train_runtime" not in row]
    return [number(row[name]) for row in rows if row.get(name) is not None]


def from_lines(path, name):
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [number(row[name]) for row in rows if row.get(name) is not None]


def from_golden(path, name):
    values = json.loads(path.read_text())[name]["values"]
    # "nan" stands for the steps that a test of a restart left to the run before it.
    return [number(values[step]) for step in sorted(values, key=int) if values[step] != "nan"]


def from_table(path, name):
    text = [line for line in path.read_text(errors="replace").splitlines() if line.strip() and not line.startswith("#")]
    delimiter = max(",;\t", key=text[0].count)
    rows = list(csv.reader(text, delimiter=delimiter))
    head = [cell.strip() for cell in rows[0]]
    if name not in head:
        return None
    at = head.index(name)
    cells = [row[at].strip() for row in rows[1:] if len(row) > at and row[at].strip()]
    return [number(cell) for cell in cells]


def from_events(path, name):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    values = []
    for raw in RawEventFileLoader(str(path)).Load():
        for value in Event.FromString(raw).summary.value:
            if value.tag != name:
                continue
            if value.WhichOneof("value") == "simple_value":
                values.append(value.simple_value)
            elif value.tensor.float_val:
                values.append(value.tensor.float_val[0])
            else:
                return None
    return values


def from_wandb(path, name):
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal import datastore

    store = datastore.DataStore()
    store.open_for_scan(str(path))
    values = []
    while True:
        try:
            data = store.scan_data()
        except AssertionError:
            break
        if data is None:
            break
        record = wandb_internal_pb2.Record.FromString(data)
        for item in record.history.item:
            key = item.key or "/".join(item.nested_key)
            if key == name:
                values.append(number(item.value_json.strip('"')))
    return [value for value in values if value is not None]


READERS = {
    "trainer-state": from_state,
    "jsonl": from_lines,
    "metric-json": from_golden,
    "csv": from_table,
    "tfevents": from_events,
    "wandb": from_wandb,
}


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)


def check(row, corpus):
    """None when the row is right, "left out" with a reason, or what is wrong."""
    reader = READERS.get(row["format"])
    if reader is None or row["longest"] == "-":
        return "left out: no other reader"
    try:
        values = reader(corpus / row["path"], row["longest"])
    except ImportError as error:
        return f"left out: {error}"
    except (KeyError, ValueError, StopIteration) as error:
        return f"left out: {type(error).__name__} in the other reader"
    if values is None:
        return "left out: not in a form that the other reader knows"
    values = [value for value in values if value is not None]
    found = (len(values), values[0], values[-1]) if values else (0, math.nan, math.nan)
    wanted = (int(row["its_points"]), float(row["first_value"]), float(row["last_value"]))
    ends_agree = same(found[1], wanted[1]) and same(found[2], wanted[2])
    # Steps that are written twice are taken once, so that there may be fewer points, never more.
    if ends_agree and wanted[0] <= found[0] <= wanted[0] * 2:
        return None
    return f"wrong: table {wanted}, other reader {found}"


def main():
    table, corpus = Path(sys.argv[1]), Path(sys.argv[2])
    if not corpus.exists():
        print("not run: corpus absent")
        sys.exit(NOT_RUN)
    checked, left, wrong = 0, {}, []
    with table.open() as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            said = check(row, corpus)
            if said is None:
                checked += 1
            elif said.startswith("left out"):
                left.setdefault(re.sub(r"'.*", "", said), []).append(row["path"])
            else:
                wrong.append(f"{row['path']}: {row['longest']}: {said}")
    for reason, paths in left.items():
        print(f"{len(paths)} {reason}")
    print(f"{checked} files: the same, {len(wrong)} wrong")
    if wrong:
        sys.exit("\n".join(wrong))
    if checked == 0:
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
