"""Reads the files that make.py wrote."""

import glob
import io
import json
import lzma
import math
import os


def open_text(path):
    if path.endswith(".zst"):
        import zstandard

        raw = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True)
        return io.TextIOWrapper(raw, encoding="utf-8")
    return lzma.open(path, "rt", encoding="utf-8")


def files(where):
    """The run files of a folder, or the file itself."""
    if os.path.isdir(where):
        return sorted(glob.glob(os.path.join(where, "runs-*.jsonl.*")))
    return [where]


def read(where):
    """Yields the records of a file or folder, one at a time."""
    for path in files(where):
        with open_text(path) as lines:
            for line in lines:
                yield json.loads(line)


def number(value):
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else float(value)


def points(series):
    """[(step, value)] in the order of writing."""
    values = [number(v) for v in series["values"]]
    steps = series.get("steps") or [series["first"] + i * series["every"] for i in range(len(values))]
    return list(zip(steps, values, strict=True))


def rows(record):
    """[(step, {name: value})] in the order of writing; a step that comes again after a resume is a row of its own."""
    merged = {}
    for name, series in record["series"].items():
        part, last = 0, -math.inf
        for step, value in points(series):
            part += step <= last
            last = step
            merged.setdefault((part, step), {})[name] = value
    return [(step, merged[part, step]) for part, step in sorted(merged)]
