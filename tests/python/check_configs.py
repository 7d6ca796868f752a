#!/usr/bin/env python3
"""Runs `vigil preflight` over folders of configs that frameworks ship as examples, and prints the share with an error.

usage: check_configs.py VIGIL FOLDER... [--most SHARE] [--list]

A config is settled when preflight takes it for the file of a training or one that a training is used with. Exits with 1 when more than
SHARE (0.02) of the settled ones get an error, or when any call fails; with 77 where no folder is there.
"""

import argparse
import collections
import json
import subprocess
import sys
import time
from pathlib import Path

ENDINGS = {".yaml", ".yml", ".toml", ".json", ".sh"}


def check(vigil, path):
    """The runs of one file, with the seconds that the call took; None when the file is no config of a training."""
    start = time.perf_counter()
    done = subprocess.run([vigil, "preflight", str(path), "--json"], capture_output=True, text=True, timeout=60)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{path}: vigil ended with {done.returncode}: {done.stderr[-500:]}")
    runs = json.loads(done.stdout)["runs"] if done.stdout else []
    return (runs or None), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vigil")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--most", type=float, default=0.02)
    parser.add_argument("--list", action="store_true", help="every finding of warning and above")
    options = parser.parse_args()
    folders = [folder for folder in options.folders if folder.is_dir()]
    if not folders:
        print("not run: no folder of configs is there")
        return 77
    settled, with_error, slowest = 0, 0, 0.0
    rules = collections.Counter()
    for folder in folders:
        here, errors_here = 0, 0
        for path in sorted(p for p in folder.rglob("*") if p.suffix in ENDINGS and p.is_file()):
            runs, seconds = check(options.vigil, path)
            slowest = max(slowest, seconds)
            if runs is None:
                continue
            here += 1
            findings = [finding for run in runs for finding in run["findings"]]
            rules.update({(finding["severity"], finding["id"]) for finding in findings})
            errors = [finding for finding in findings if finding["severity"] in ("error", "fatal")]
            errors_here += bool(errors)
            shown = [f for f in findings if f["severity"] != "info"] if options.list else errors
            for finding in shown:
                line = finding["places"][0]["line"] if finding["places"] else None
                print(f"{path}:{line}: {finding['severity']} {finding['id']}: {finding['message']}")
        print(f"{folder}: {here} configs, {errors_here} with an error")
        settled, with_error = settled + here, with_error + errors_here
    for (severity, rule), count in sorted(rules.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {count:5} {severity:8} {rule}")
    share = with_error / settled if settled else 0
    print(f"{settled} configs, {with_error} with an error: {share:.2%} (at most {options.most:.0%}); slowest call {slowest * 1000:.0f} ms")
    return 1 if share > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
