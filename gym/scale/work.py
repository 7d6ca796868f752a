"""Runs the groups of one worker process."""

import os
import time

import judge
import plan
import torch
from engine import Run, TooSlow
from tasks import TASKS

import faults

FAMILIES = {"lstm": "rnn", "gru": "rnn", "rnn": "rnn", "gcn": "gnn", "cnn": "cnn", "bag": "mlp", "flow": "mlp"}


def family(model):
    kind = model.split("-")[0]
    return "transformer" if kind == "transformer" else FAMILIES.get(kind, "mlp")


def execute(spec):
    """One run: the record that is kept, with `progress` and `mean_step` for the judge."""
    torch.manual_seed(spec["settings"].seed)
    fault = faults.load()[spec["fault"]] if spec["fault"] else None
    strength = fault.strengths[spec["level"]] if fault else None
    run = Run(spec["settings"], spec["logs"], fault, strength, spec["onset"])
    if spec["odd"]:
        plan.odd_hooks(run, spec["odd"])
    began = time.process_time()
    run.execute()
    seconds = time.process_time() - began  # of this core, whatever else the machine does
    return {
        "id": spec["id"],
        "style": "loop",
        "task": spec["settings"].task,
        "task_words": TASKS[spec["settings"].task].words,
        "model": spec["settings"].model,
        "family": family(spec["settings"].model),
        "optimizer": run.s.optimizer,
        "odd": spec["odd"],
        "twin": f"{spec['group']:07d}-{spec['twin']}" if spec.get("twin") else None,
        "settings": run.settings(),
        "by_epoch": run.s.by_epoch,
        "last_step": run.last_step,
        "crashed": run.crashed,
        "onset": run.onset if fault and fault.onset else (1 if fault else 0),
        "events": run.events,
        "series": run.log.packed(),
        "progress": run.progress,
        "mean_step": sum(run.times) / max(1, len(run.times)),
        "seconds": round(seconds, 2),
        "strength": strength,
        "fault": fault,
    }


def run_group(group, deadline):
    """The records of a group, labelled. Runs that began after the deadline are left out, with what depends on them."""
    done, out = {}, []
    for spec in plan.group_specs(group):
        if time.time() > deadline:
            break
        try:
            record = execute(spec)
        except TooSlow:
            continue
        done[spec["id"]] = record
        twin = done.get(record["twin"]) if record["twin"] else None
        if record["fault"] is not None and twin is None:
            continue
        label = judge.label(record, twin, record["fault"], record["strength"])
        out.append((record, label))
    return [finish(record, label) for record, label in out]


def finish(record, label):
    for key in ("fault", "strength", "progress", "mean_step", "onset"):
        record.pop(key)
    record["label"] = label
    return record


def main(pipe, counter, first, limit, deadline):
    """Takes numbers from the shared counter until time or groups are out; sends lists of records."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    os.nice(5)
    while time.time() < deadline:
        with counter.get_lock():
            index = counter.value
            counter.value += 1
        if index >= limit:
            break
        pipe.send(("began", index, None))
        try:
            pipe.send(("done", index, run_group(first + index, deadline + 15)))
        except Exception as error:  # a fault of the gym, not of a run: reported, and the rest goes on
            pipe.send(("failed", index, f"{type(error).__name__}: {error}"))
    pipe.send(("end", None, None))
    pipe.close()
