"""What is in a set of runs, and whether its labels hold: tables, then assertions (exit code 1 if one fails).

python gym/scale/check.py DIR [--brief]
"""

import argparse
import math
import os
import sys
from collections import Counter, defaultdict

import runs_file

CLASSES = ("harmless", "weak", "fatal", "twin-not-learned")


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else math.nan


class Set:
    """Labels of all runs, and the few numbers of each run that the assertions need."""

    def __init__(self, where):
        self.rows, self.series, self.steps, self.points = [], Counter(), 0, 0
        self.problems, self.ids = [], Counter()
        for record in runs_file.read(where):
            self.take(record)
        self.bytes = sum(os.path.getsize(path) for path in runs_file.files(where))

    def take(self, record):
        row = dict(record["label"])
        for name in ("id", "task", "model", "family", "optimizer", "odd", "twin", "crashed", "last_step", "seconds"):
            row[name] = record[name]
        row["events"] = len(record["events"])
        row["schedule"] = record["settings"]["lr_schedule"]
        row["loss"] = [v for _, v in runs_file.points(record["series"]["loss"])] if "loss" in record["series"] else []
        self.rows.append(row)
        self.ids[row["id"]] += 1
        self.series.update(record["series"].keys())
        self.steps += record["last_step"]
        self.points += sum(len(s["values"]) for s in record["series"].values())


def table(title, rows, columns):
    print(f"\n{title}")
    widths = [max(len(str(row[i])) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = [
            str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def by_task(runs):
    groups = defaultdict(Counter)
    for row in runs.rows:
        groups[row["task"]][row["class"]] += 1
        groups[row["task"]]["s"] += row["seconds"]
    names = ("healthy", "not-learned", *CLASSES)
    out = []
    for task, counts in sorted(groups.items()):
        total = sum(counts[n] for n in names)
        out.append([task, total, *(counts[n] for n in names), f"{counts['s'] / total:.2f}"])
    table("Runs by task and class", out, ["task", "runs", *names, "s/run"])


def by_fault(runs):
    groups = defaultdict(list)
    for row in runs.rows:
        if row["fault"] != "none":
            groups[row["fault"], row["level"], row["strength"]].append(row)
    out = []
    for (name, level, strength), rows in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1])):
        judged = [r for r in rows if r["class"] in CLASSES[:3]]
        counts = Counter(r["class"] for r in rows)
        share = f"{100 * counts['harmless'] / len(judged):.0f}%" if judged else "-"
        middle = f"{median([r['recovered'] for r in judged]):.2f}" if judged else "-"
        tasks = len({r["task"] for r in rows})
        out.append([name, f"{level}:{strength:g}", len(rows), tasks, *(counts[c] for c in CLASSES), share, middle])
    columns = ["fault", "strength", "runs", "tasks", *CLASSES, "harmless", "recovered"]
    table("Faults by strength (recovered: median share of the twin's learning)", out, columns)


def by_task_and_fault(runs):
    groups = defaultdict(Counter)
    for row in runs.rows:
        if row["fault"] != "none":
            groups[row["task"], row["fault"]][row["class"]] += 1
    out = [[f"{t} x {f}", *(c[k] for k in CLASSES)] for (t, f), c in sorted(groups.items())]
    table("Runs by task x fault x class", out, ["task x fault", *CLASSES])


def by_odd(runs):
    groups = defaultdict(Counter)
    for row in runs.rows:
        if row["fault"] == "none":
            groups[row["odd"] or "twin"][row["class"]] += 1
    out = [[name, c["healthy"], c["not-learned"]] for name, c in sorted(groups.items())]
    table("Healthy runs by kind", out, ["kind", "healthy", "not-learned"])


def totals(runs):
    counts = Counter(row["class"] for row in runs.rows)
    faults = {row["fault"] for row in runs.rows} - {"none"}
    print(f"\n{len(runs.rows)} runs, {len({r['task'] for r in runs.rows})} tasks, {len(faults)} faults, {dict(counts)}")
    each = runs.bytes / max(1, len(runs.rows)) / 1024
    print(f"{runs.steps} steps, {runs.points} points, {runs.bytes} bytes ({each:.2f} KiB a run)")
    for key in ("family", "optimizer", "schedule"):
        print(f"{key}: {dict(Counter(row[key] for row in runs.rows).most_common())}")
    hurt = [row for row in runs.rows if row["class"] in ("weak", "fatal") and not row["crashed"]]
    hurt = [row for row in hurt if row["effect"] is None and row.get("seen_in") is not None]
    hidden = Counter(row["class"] for row in hurt if not row["seen_in"])
    print(f"hurt, compared with the twin: {len(hurt)}; of them in no logged series: {dict(hidden)}")
    print(f"series: {dict(runs.series.most_common(40))}")


# --- assertions -----------------------------------------------------------------------------------------------------


def differs(row, twin):
    """A fatal run must differ from its twin in what it did, not only in its label."""
    if row["crashed"] or row["effect"] is not None:
        return True
    if any(not math.isfinite(v) for v in row["loss"]):
        return True
    return not row["progress"] or row["progress"][-1] < 0.6 * twin["progress"][-1]


def assertions(runs):
    by_id = {row["id"]: row for row in runs.rows}
    bad = []
    for row in runs.rows:
        if row["class"] == "healthy" and (not row["progress"] or row["progress"][-1] < 0.35 or row["crashed"]):
            bad.append(f"{row['id']}: healthy, but it did not learn")
        if row["class"] == "healthy" and any(not math.isfinite(v) for v in row["loss"]):
            bad.append(f"{row['id']}: healthy with a non-finite loss")
        if row["fault"] == "none":
            if row["crashed"]:
                bad.append(f"{row['id']}: crashed without a fault")
            continue
        twin = by_id.get(row["twin"])
        if twin is None:
            bad.append(f"{row['id']}: no twin")
            continue
        if row["class"] == "fatal" and not differs(row, twin):
            bad.append(f"{row['id']}: fatal ({row['fault']}), but it is like its twin")
        if row["class"] == "harmless" and (row["crashed"] or any(not math.isfinite(v) for v in row["loss"])):
            bad.append(f"{row['id']}: harmless with a crash or a non-finite loss")
        if row["crashed"] and not row["events"]:
            bad.append(f"{row['id']}: crashed without a traceback")
        if row["fault"].startswith("crash") and not row["crashed"]:
            bad.append(f"{row['id']}: {row['fault']} did not crash")
    bad += [f"{name}: {count} times" for name, count in runs.ids.items() if count > 1]
    counts = Counter(row["class"] for row in runs.rows)
    healthy = counts["healthy"] + counts["harmless"]
    if healthy < counts["weak"] + counts["fatal"]:
        bad.append(f"fewer healthy ({healthy}) than faulty runs")
    share = counts["not-learned"] / max(1, counts["not-learned"] + counts["healthy"])
    if share > 0.1:
        bad.append(f"{100 * share:.0f}% of the healthy runs did not learn")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where")
    parser.add_argument("--brief", action="store_true", help="without the table of task x fault")
    args = parser.parse_args()
    runs = Set(args.where)
    by_task(runs)
    by_fault(runs)
    by_odd(runs)
    if not args.brief:
        by_task_and_fault(runs)
    totals(runs)
    bad = assertions(runs)
    for line in bad[:60]:
        print("wrong:", line)
    print(f"{len(runs.rows)} runs checked, {len(bad)} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
