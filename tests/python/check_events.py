"""Writes findings as an event file and reads them back with the tensorboard package.

usage: check_events.py VIGIL RUN
VIGIL is the program, RUN a run with findings. Exits 77 ("not run") when the tensorboard package is absent.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_tfevents import need_tensorboard


def main():
    need_tensorboard()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    program, run = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "run"
        shutil.copytree(run, copy)
        command = [program, "diagnose", str(copy), "--json", "--fail-on", "never"]
        report = json.loads(subprocess.run([*command, "--tensorboard"], capture_output=True, check=True).stdout)
        written = list(copy.rglob("*.vigil"))
        if len(written) != len(report["runs"]):
            sys.exit(f"{len(written)} event files for {len(report['runs'])} runs")
        events = EventAccumulator(str(written[0]))
        events.Reload()
        steps = {f"vigil/{f['id']}": f["first_step"] for f in report["runs"][0]["findings"] if f["first_step"] is not None}
        found = {tag: events.Scalars(tag)[0].step for tag in events.Tags()["scalars"]}
        if set(found) != set(steps) or not steps:
            sys.exit(f"scalars {sorted(found)}, expected {sorted(steps)}")
        if "vigil/findings" not in events.Tags()["tensors"]:
            sys.exit(f"no text: {events.Tags()}")
        again = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        if len(again["runs"]) != len(report["runs"]):
            sys.exit("what vigil wrote is taken for a run")
    print(f"{len(found)} findings read back: the same")


if __name__ == "__main__":
    main()
