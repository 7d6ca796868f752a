"""Reads event files with the tensorboard package and compares every value with what vigil's reader says.

usage: check_tfevents.py DUMP PATH...
DUMP is the program tests/python/dump_series.cc; a PATH is an event file or a folder of them. Exits 77 ("not run") when
the tensorboard package or the files are absent.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from slow_readers import tensor_number  # noqa: E402

NOT_RUN = 77
ROOT = Path(__file__).resolve().parents[2]


def not_run(why):
    print(f"not run: {why}")
    sys.exit(NOT_RUN)


def append(points, point):
    """Appends a point, unless it says again what the one before it said."""
    if not points or point[0] == 0 or (points[-1][0], points[-1][2]) != (point[0], point[2]):
        points.append(point)


def values_of(path):
    """{tag: [(step, wall time, value)]} in the order of the file, as tensorboard decodes it."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    series, described = {}, {}
    for raw in RawEventFileLoader(str(path)).Load():
        event = Event.FromString(raw)
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            plugin = described.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            number = value.simple_value if kind == "simple_value" else None
            if kind == "tensor" and plugin in ("", "scalars"):
                number = tensor_number(value.tensor)
            if number is not None:
                append(series.setdefault(value.tag, []), (event.step, event.wall_time, float(number)))
    return series if any(point[0] for points in series.values() for point in points) else counted(series)


def counted(series):
    """A writer that was never given a step puts every point at 0: they are counted instead."""
    return {
        tag: [(at, *point[1:]) for at, point in enumerate(points)] if len(points) > 1 else points
        for tag, points in series.items()
    }


def values_by_vigil(dump, path):
    """The same from the program: lines of tag, step, time, value, divided by tabs."""
    done = subprocess.run([dump, str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr.strip()}")
    series = {}
    for line in done.stdout.splitlines():
        tag, step, time, value = line.split("\t")
        if tag.startswith("histogram/"):
            continue  # summaries of distributions, which tensorboard keeps otherwise
        series.setdefault(tag, []).append((int(step), float(time), float(value)))
    return series


# What the vocabulary turns into another unit: shares into percent, milliseconds into seconds, gigabytes into bytes.
# stable-baselines3 logs the negated entropy as a loss; vigil stores the entropy.
NEGATED = {"train/entropy_loss"}
UNITS = (1, 100, 1e-3, 1e9, 2**30, 1e6, 2**20, 1e12)


def unit_of(expected, found):
    """The factor between the first two values that are not 0; 1 when it is none of the known ones."""
    pairs = ((a[2], b[2]) for a, b in zip(expected, found, strict=True) if a[2] and b[2])
    a, b = next(pairs, (1, 1))
    return next((unit for unit in UNITS if math.isclose(a * unit, b, rel_tol=1e-12)), 1)


def same(a, b, unit):
    if a[:2] != b[:2]:
        return False
    return a[2] == b[2] or math.isclose(a[2] * unit, b[2], rel_tol=1e-12) or (math.isnan(a[2]) and math.isnan(b[2]))


def difference(expected, found):
    """The first difference in words, None when there is none."""
    if set(expected) != set(found):
        return f"tags differ: {sorted(set(expected) ^ set(found))[:5]}"
    for tag, points in expected.items():
        if len(points) != len(found[tag]):
            return f"{tag}: {len(points)} points expected, {len(found[tag])} found"
        unit = -1 if tag in NEGATED else unit_of(points, found[tag])
        for a, b in zip(points, found[tag], strict=True):
            if not same(a, b, unit):
                return f"{tag}: expected (step, time, value) {a}, found {b}"
    return None


def event_files(paths):
    for path in map(Path, paths):
        yield from (file for file in sorted(path.rglob("*tfevents*")) if file.is_file()) if path.is_dir() else [path]


def need_tensorboard():
    """Goes on with the Python of the benchmarks' peers where the one in use has no tensorboard."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        peers = ROOT / "build/peers/bin/python"
        if not peers.exists() or Path(sys.prefix) == ROOT / "build/peers":
            not_run("the tensorboard package is absent; bench/peers/install.sh gets it")
        os.execv(peers, [str(peers), *sys.argv])


def main():
    need_tensorboard()
    dump, *paths = sys.argv[1:]
    files = list(event_files([path for path in paths if Path(path).exists()]))
    if not files:
        not_run("no event files to compare on")
    points = 0
    for file in files:
        expected = values_of(file)
        problem = difference(expected, values_by_vigil(dump, file))
        if problem:
            sys.exit(f"{file}: {problem}")
        points += sum(map(len, expected.values()))
    print(f"{len(files)} event files, {points} values: the same")


if __name__ == "__main__":
    main()
