"""Makes runs in parallel for a given time: runs-P-K.jsonl.xz (or .zst), labels-P.tsv, made-P.json.

python gym/scale/make.py --out DIR --workers 16 --seconds 540 --part 0
"""

import argparse
import json
import lzma
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing import connection

try:
    import zstandard
except ImportError:
    zstandard = None

CHUNK = 3_000_000  # characters compressed together
FILE_LIMIT = 15 * 2**20
FILES = 6  # with labels and summary: eight files
COLUMNS = (
    "id task model family optimizer style odd fault strength level onset recovered recovered_way effect class "
    "loss_shift loss_peak seen_in time_drift rss_drift findings causes split"
).split()


class Writer:
    """Lines into compressed chunks, chunks into files below the limit. Each chunk is a whole frame or stream."""

    def __init__(self, folder, part, use_zstd):
        self.folder, self.part, self.zstd = folder, part, use_zstd
        self.lines, self.size, self.number, self.file_size, self.bytes = [], 0, 0, 0, 0
        self.full = False

    def add(self, line):
        self.lines.append(line)
        self.size += len(line) + 1
        if self.size >= CHUNK:
            self.flush()

    def path(self):
        ending = "zst" if self.zstd else "xz"
        return os.path.join(self.folder, f"runs-{self.part}-{self.number}.jsonl.{ending}")

    def flush(self):
        if not self.lines:
            return
        raw = ("\n".join(self.lines) + "\n").encode()
        packed = zstandard.ZstdCompressor(level=19).compress(raw) if self.zstd else lzma.compress(raw, preset=6)
        if self.file_size + len(packed) > FILE_LIMIT:
            self.number, self.file_size = self.number + 1, 0
        with open(self.path(), "ab") as f:
            f.write(packed)
        self.file_size += len(packed)
        self.bytes += len(packed)
        self.lines, self.size = [], 0
        self.full = self.number >= FILES - 1 and self.file_size > 0.9 * FILE_LIMIT


def label_row(record):
    label = record["label"]
    flat = {**record, **label}
    cells = []
    for name in COLUMNS:
        value = flat.get(name)
        value = ",".join(value) if isinstance(value, list) else "" if value is None else value
        cells.append(str(value))
    return "\t".join(cells)


def start_worker(context, counter, args, deadline):
    import work

    mine, theirs = context.Pipe(duplex=False)
    limit = args.groups or 10**9
    first = args.part * 1_000_000 + args.start
    process = context.Process(target=work.main, args=(theirs, counter, first, limit, deadline), daemon=True)
    process.start()
    theirs.close()
    return mine, process


class Maker:
    def __init__(self, args):
        self.args, self.began = args, time.time()
        self.deadline = self.began + args.seconds
        self.context = multiprocessing.get_context("spawn")
        self.counter = self.context.Value("l", 0)
        os.makedirs(args.out, exist_ok=True)
        self.writer = Writer(args.out, args.part, zstandard is not None and not args.xz)
        self.labels = open(os.path.join(args.out, f"labels-{args.part}.tsv"), "w")
        self.labels.write("\t".join(COLUMNS) + "\n")
        self.runs, self.groups, self.failed, self.seconds = 0, 0, [], {}
        self.workers = {}

    def start(self):
        mine, process = start_worker(self.context, self.counter, self.args, self.deadline)
        self.workers[mine] = process

    def take(self, records):
        self.groups += 1
        for record in records:
            self.runs += 1
            spent = self.seconds.setdefault(record["task"], [0, 0.0])
            spent[0] += 1
            spent[1] += record["seconds"]
            self.writer.add(json.dumps(record, separators=(",", ":"), allow_nan=False))
            self.labels.write(label_row(record) + "\n")

    def message(self, pipe):
        """False when the worker has ended."""
        try:
            kind, index, what = pipe.recv()
        except (EOFError, OSError):
            process = self.workers.pop(pipe)
            process.join(5)
            self.failed.append(f"worker died, exit code {process.exitcode}")
            if time.time() < self.deadline and len(self.failed) < 200:
                self.start()
            return
        if kind == "done":
            self.take(what)
        elif kind == "failed":
            self.failed.append(f"group {index}: {what}")
        elif kind == "end":
            self.workers.pop(pipe).join(10)

    def loop(self):
        for _ in range(self.args.workers):
            self.start()
        said = time.time()
        while self.workers and time.time() < self.deadline + 35 and not self.writer.full:
            for pipe in connection.wait(list(self.workers), timeout=2):
                self.message(pipe)
            if time.time() - said > 30:
                said = time.time()
                if self.writer.size > 500_000:  # what is complete survives a kill
                    self.writer.flush()
                    self.labels.flush()
                print(
                    f"{said - self.began:.0f} s: {self.runs} runs, {self.groups} groups, {len(self.failed)} failed",
                    flush=True,
                )
        for process in self.workers.values():
            process.terminate()

    def finish(self):
        self.writer.flush()
        self.labels.close()
        summary = {
            "part": self.args.part,
            "start": self.args.start,
            "next_start": self.args.start + self.counter.value,
            "runs": self.runs,
            "groups": self.groups,
            "failed": self.failed[:50],
            "bytes": self.writer.bytes,
            "wall_s": round(time.time() - self.began, 1),
            "seconds_by_task": {k: [n, round(t / n, 2)] for k, (n, t) in sorted(self.seconds.items())},
        }
        with open(os.path.join(self.args.out, f"made-{self.args.part}.json"), "w") as f:
            json.dump(summary, f, indent=1)
        return summary


def estimate(summary, workers):
    rows = summary["seconds_by_task"]
    total = sum(n * t for n, t in rows.values())
    print("task              runs  s/run")
    for name, (n, t) in sorted(rows.items(), key=lambda row: -row[1][1]):
        print(f"{name:16} {n:5} {t:6.2f}")
    if summary["runs"]:
        each = total / summary["runs"]
        print(f"mean {each:.2f} s a run; 16 workers x 540 s: about {16 * 540 / each:.0f} runs")
        size = summary["bytes"] / summary["runs"]
        print(f"{size / 1024:.1f} KiB a run; {summary['runs']} runs in {summary['wall_s']} s with {workers} workers")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=540, help="no run begins later than 15 s after it")
    parser.add_argument("--part", type=int, default=0, help="parts have groups, seeds and faults of their own")
    parser.add_argument("--start", type=int, default=0, help="first group of the part (next_start of made-P.json)")
    parser.add_argument("--groups", type=int, default=0, help="at most this many groups; 0: until the time is out")
    parser.add_argument("--xz", action="store_true", help="xz even where zstandard is installed")
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    maker = Maker(args)
    signal.signal(signal.SIGTERM, lambda *_: setattr(maker, "deadline", 0))  # ends the loop; files are closed
    maker.loop()
    summary = maker.finish()
    for line in summary["failed"][:20]:
        print("failed:", line)
    estimate(summary, args.workers)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
