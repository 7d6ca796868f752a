"""Asserts that the runs of other frameworks are as their labels say, from the files alone; counts what is in the set.

Finds runs without files or findings, files that are too large or name this machine, events that the text lacks.
"""

import collections
import csv
import glob
import os
import re
import socket
import sys

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "fixtures", "frameworks")
RUN_LIMIT, SET_LIMIT = 80_000, 6_000_000
MARKS = [b"/root/", b"/work/", b"fwvenv", f".{socket.gethostname()}.".encode(), b"fault=", b"before_step_fault"]
# What the text of a run must hold, where the fault is an event.
EVENTS = {
    "crash-key": r"KeyError: 'attention_mask'",
    "crash-index": r"list index out of range",
    "crash-sample": r"DecodeError: cannot decode record",
    "crash-disk": r"No space left on device",
    "crash-file": r"dev\.spacy|not found|Can't find",
    "killed": r"Killed",
    "nan-sample": r"(?i)\bnan\b|[^a-z]nan[^a-z]",
    "log-zero": r"(?i)[^a-z](nan|inf)[^a-z]",
}


def rows():
    with open(os.path.join(FIXTURES, "LABELS.tsv")) as f:
        return [r for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE) if r["split"] == "tune"]


def files_of(row):
    folder = os.path.join(FIXTURES, row["path"])
    return [p for p in glob.glob(f"{folder}/**/*", recursive=True) if os.path.isfile(p)]


def problems_of(row):
    paths, found = files_of(row), []
    if not paths:
        return ["no files"], 0
    texts = {}
    for path in paths:
        with open(path, "rb") as f:
            texts[path] = f.read()
        found += [f"{os.path.basename(path)} holds {mark.decode()}" for mark in MARKS if mark in texts[path]]
    size = sum(map(len, texts.values()))
    if size > RUN_LIMIT:
        found.append(f"{size} bytes")
    text = b"\n".join(t for t in texts.values() if b"\0" not in t).decode(errors="replace")
    binary = any(b"\0" in t for t in texts.values())
    wanted = EVENTS.get(row["fault"])
    if row["fault"] in ("nan-sample", "log-zero") and "non-finite" not in row["expect"].replace("data/non-finite", ""):
        wanted = None  # swallowed: no NaN is printed
    if wanted and row["expect"] != "none" and not binary and not re.search(wanted, text):
        found.append(f"does not say {wanted}")
    if row["fault"] == "healthy" and re.search(r"Traceback \(most recent call last\)", text):
        found.append("holds a traceback")
    if not row["expect"]:
        found.append("no finding is expected")
    return found, size


def main():
    found, total, bad = rows(), 0, 0
    for row in found:
        problems, size = problems_of(row)
        total += size
        bad += bool(problems)
        if problems:
            print(f"{row['path']}: {'; '.join(problems)}")
    for name, key in (("framework", "trainer"), ("fault", "fault")):
        counts = collections.Counter(r[key] for r in found)
        print(f"by {name}: " + ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    harmless = sum(r["fault"] != "healthy" and r["expect"] == "none" for r in found)
    healthy = sum(r["fault"] == "healthy" for r in found)
    print(f"{len(found)} runs, {healthy} healthy, {harmless} harmless, {total} bytes, {bad} not as labelled")
    return 1 if bad or total > SET_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
