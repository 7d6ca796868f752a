"""Asserts that the runs of tests/fixtures/fresh have files and labels, are small, and name no machine; counts them."""

import collections
import csv
import glob
import os
import re
import socket
import sys

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "fixtures", "fresh")
RUN_LIMIT, SET_LIMIT = 60_000, 4_000_000
MARKS = re.compile(rb"/root/|/work/|/tmp/|venv-|fault=|" + re.escape(socket.gethostname()).encode())
EVENTS = {
    "crash": r"Error",
    "killed": r"Killed|SIGKILL",
    "hang": r"[Tt]imed? ?out",
    "no-grad": r"does not require grad",
}


def files_of(row):
    folder = os.path.join(FIXTURES, row["path"])
    return [p for p in glob.glob(f"{folder}/**/*", recursive=True, include_hidden=True) if os.path.isfile(p)]


def problems_of(row):
    """What is wrong with a run, and its size."""
    texts = []
    for path in files_of(row):
        with open(path, "rb") as f:
            texts.append(f.read())
    whole = b"\n".join(texts)
    found = [] if texts else ["no files"]
    found += [f"holds {mark!r}" for mark in set(MARKS.findall(whole))]
    if len(whole) > RUN_LIMIT:
        found.append(f"{len(whole)} bytes")
    if not row["expect"]:
        found.append("no findings")
    for start, text in EVENTS.items():
        if row["fault"].startswith(start) and not re.search(text.encode(), whole):
            found.append(f"lacks {text}")
    return found, len(whole)


def main():
    with open(os.path.join(FIXTURES, "LABELS.tsv")) as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    total, bad = 0, 0
    for row in rows:
        found, size = problems_of(row)
        total += size
        bad += bool(found)
        if found:
            print(row["path"], "; ".join(found))
    kept = {os.path.relpath(p, FIXTURES) for p in glob.glob(f"{FIXTURES}/runs/*/*")}
    unlabelled = kept - {row["path"] for row in rows}
    healthy = sum(row["fault"] == "healthy" for row in rows)
    harmless = sum(row["note"].startswith("harmless") for row in rows)
    print(f"{len(rows)} runs, {healthy} healthy, {harmless} harmless, {total} bytes; unlabelled: {sorted(unlabelled)}")
    for key in ("trainer", "fault"):
        counts = collections.Counter(row[key] for row in rows).most_common()
        print(f"{key}: " + ", ".join(f"{name} {n}" for name, n in counts))
    sys.exit(bool(bad or unlabelled or total > SET_LIMIT))


if __name__ == "__main__":
    main()
