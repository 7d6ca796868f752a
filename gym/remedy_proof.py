"""Repeats each faulty run of the gym at scale with the remedy that vigil names first, and measures whether it heals.

python gym/remedy_proof.py train --out DIR [--cases 2] [--workers 2]      healthy twins and faulty runs
python gym/remedy_proof.py ask DIR --vigil build/release/vigil            the diagnosis of each faulty run
python gym/remedy_proof.py cure DIR [--tries 3] [--workers 2]             the same training with the remedy applied
python gym/remedy_proof.py table DIR [--page doc/accuracy.md]             the table, printed or put into the page

Every stage goes on where it was stopped. A run follows from its case: fault, strength, task and seed. Runs log the
loss, the learning rate, the gradient norm and the metrics of the task, as JSON lines beside a config: what a careful
user has. A case counts when its fault does harm (less than 95% of what the twin learns, or a crash, memory or time
beyond the limits of gym/scale/judge.py). It is healed when the repeated run reaches 90% of the twin. Crashes (crash-*)
are left out: what to do about them is the advice of their message.
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

SCALE = Path(__file__).resolve().parent / "scale"
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(SCALE))  # before this folder, which has a faults.py too

HEALED = 0.9
LOGS = {"loss", "lr", "grad_norm", "metrics"}
PREFERRED = ("image", "lm", "table", "text", "regression", "charlm", "seq2seq", "cartpole", "grpo", "dpo", "gan", "vae")


# --- cases ----------------------------------------------------------------------------------------------------------


def cases(per_fault):
    """(id, fault, level, task, seed): the strongest and the next strength, on different tasks where several fit."""
    import plan
    from tasks import TASKS

    import faults

    out = []
    for fault in faults.load().values():
        if fault.name.startswith("crash-"):
            continue
        tasks = [n for n in TASKS if n not in plan.FAULTLESS]
        fitting = [n for n in tasks if any(fault.fits(TASKS[n], m) for m in TASKS[n].models)]
        fitting.sort(key=lambda n: PREFERRED.index(n) if n in PREFERRED else len(PREFERRED))
        start = plan.stable(fault.name) % min(4, len(fitting))  # not every fault on the same task
        fitting = fitting[start:] + fitting[:start]
        for k in range(per_fault):
            level = max(0, len(fault.strengths) - 1 - k // 2 % 2)
            name = fitting[k % len(fitting)]
            out.append({"id": f"{fault.name}.{k}", "fault": fault.name, "level": level, "task": name, "seed": 7 + k})
    return out


def base_of(case):
    """Settings, logs and onset of a case, as gym/scale/plan.py makes them."""
    import numpy as np
    import plan
    from tasks import TASKS

    import faults

    fault = faults.load()[case["fault"]]
    rng = np.random.default_rng([plan.stable(case["id"]), case["seed"]])
    settings, _ = plan.sample_base(case["task"], rng, case["seed"] * 1000 + plan.stable(case["id"]) % 997)
    task = TASKS[case["task"]]
    if not fault.fits(task, settings.model):
        settings.model = next(m for m in task.models if fault.fits(task, m))
    if "bn" in settings.model:
        settings.batch = max(8, settings.batch)
    settings.by_epoch = False
    settings.log_every = max(1, min(10, settings.steps // 60))
    settings.eval_every = max(settings.log_every, settings.steps // 15 // settings.log_every * settings.log_every)
    if fault.base:
        fault.base(settings, np.random.default_rng([case["seed"], 5]), fault.strengths[case["level"]])
    logs = LOGS | (set(fault.shows) - {"eval"})
    onset = plan.onset_of(settings, rng) if fault.onset else 0
    return settings, logs, onset


# --- training -------------------------------------------------------------------------------------------------------


def quiet():
    import torch

    os.nice(15)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def record_of(run, case):
    from tasks import TASKS

    keys = {"id": case["id"], "style": "loop", "task": case["task"], "task_words": TASKS[case["task"]].words}
    return {
        **keys,
        "model": run.s.model,
        "settings": run.settings(),
        "by_epoch": False,
        "last_step": run.last_step,
        "crashed": run.crashed,
        "onset": run.onset,
        "events": run.events,
        "series": run.log.packed(),
        "progress": run.progress,
        "mean_step": sum(run.times) / max(1, len(run.times)),
    }


def train(case, faulty, remedy=None):
    """One run of the case; with a remedy, the faulty program with the change that it asks for."""
    import engine
    import torch
    from engine import Run, TooSlow

    import faults

    engine.WALL_LIMIT = 3600.0  # what counts is the time of the core: the machine may be busy
    settings, logs, onset = base_of(case)
    fault = faults.load()[case["fault"]] if faulty else None
    if remedy is not None:
        import remedy_cures

        if remedy_cures.finds(remedy["id"], case["fault"]):
            fault = None  # what is looked at shows the fault, and it is repaired there
    torch.manual_seed(settings.seed)
    strength = fault.strengths[case["level"]] if fault else None
    kind = Run if remedy is None else cured(remedy, {**case, "onset": onset, "log_every": settings.log_every})
    run = kind(copy.deepcopy(settings), logs, fault, strength, onset)
    try:
        run.execute()
    except TooSlow:
        return None
    made = record_of(run, case)
    return made if remedy is None else {**made, "remedy": given(remedy)}


def guard_steps(optimizer):
    """Updates by gradients that are not finite are left out."""
    import torch

    step = optimizer.step

    def guarded(*args, **more):
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        return step(*args, **more) if all(torch.isfinite(g).all() for g in grads) else None

    optimizer.step = guarded


def cured(remedy, case):
    """The loop of the gym with the remedy put in where its user would."""
    from engine import Run
    from tasks import TASKS

    import remedy_cures

    settings = remedy_cures.SETTINGS.get(remedy["id"])
    code = remedy_cures.CODE.get(remedy["id"])

    class CuredRun(Run):
        def build(self):
            if self.fault is not None and self.fault.stage == "settings":
                self.fault.apply(self, self.strength)
            if settings:
                settings(self, remedy, case)
            self.task = TASKS[self.s.task](self.s)
            if self.fault is not None and self.fault.stage == "task":
                self.fault.apply(self, self.strength)
            for change in (settings, code):
                if change:
                    change(self, remedy, case)
            self.fault, kept = None, self.fault  # the rest is as it was built
            task, TASKS[self.s.task] = TASKS[self.s.task], lambda _settings: self.task
            try:
                super().build()
            finally:
                TASKS[self.s.task], self.fault = task, kept

        def make_optimizer(self):
            super().make_optimizer()
            if getattr(self, "guards_steps", False):
                guard_steps(self.optimizer)

    return CuredRun


def work(job):
    kind, case, remedy = job
    return train(case, kind != "twin", remedy)


def run_all(jobs, workers, save):
    with ProcessPoolExecutor(workers, initializer=quiet) as pool:
        futures = {pool.submit(work, job): job for job in jobs}
        for count, future in enumerate(as_completed(futures), 1):
            try:
                save(futures[future], future.result())
            except Exception as problem:
                print(f"{futures[future][1]['id']}: {type(problem).__name__}: {problem}", file=sys.stderr)
            if count % 20 == 0:
                print(f"{count} of {len(jobs)}", file=sys.stderr, flush=True)


def load(path):
    return json.loads(path.read_text()) if path.exists() else None


def store(path, value):
    if value is None:  # it took too long, and is tried again
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".tmp")
    partial.write_text(json.dumps(value))
    partial.rename(path)


def stage_train(args):
    jobs = []
    for case in cases(args.cases):
        store(args.out / "cases" / f"{case['id']}.json", case)
        for kind in ("twin", "faulty"):
            if not (args.out / kind / f"{case['id']}.json").exists():
                jobs.append((kind, case, None))
    run_all(jobs, args.workers, lambda job, made: store(args.out / job[0] / f"{job[1]['id']}.json", made))


# --- asking ---------------------------------------------------------------------------------------------------------


def ask(vigil, record):
    import render
    from styles import STYLES

    with tempfile.TemporaryDirectory() as folder:
        render.render({**record, "twin": None, "odd": None}, STYLES["jsonl"], folder)
        done = subprocess.run([vigil, "diagnose", folder, "--json"], capture_output=True, text=True, check=False)
        runs = json.loads(done.stdout)["runs"] if done.stdout else []
    diagnoses = [d for run in runs for d in run["diagnoses"]]
    findings = [f for run in runs for f in run["findings"]]
    return {"diagnoses": diagnoses[:2], "findings": [(f["id"], f["severity"]) for f in findings]}


def stage_ask(args):
    for path in sorted((args.dir / "faulty").glob("*.json")):
        record = load(path)
        if record:
            store(args.dir / "asked" / path.name, ask(args.vigil, record))


# --- curing ---------------------------------------------------------------------------------------------------------


def harm(case, record, twin):
    """(class, recovered share) of a run against its twin; the class is that of gym/scale/judge.py."""
    import judge

    import faults

    kind, end, _way, _effect = judge.classify(record, twin, faults.load()[case["fault"]])
    return kind, max(0.0, min(1.2, end))


def is_healed(case, record, twin):
    import judge

    import faults

    kind, end = harm(case, record, twin)
    if faults.load()[case["fault"]].judge != "score":
        return kind == "harmless"
    return not record["crashed"] and judge.last_finite(record) and end >= HEALED


def harmful(folder):
    """(case, twin, faulty, asked) of the cases whose fault does harm and whose twin learned."""
    import judge

    for path in sorted((folder / "cases").glob("*.json")):
        case, twin, faulty = (load(folder / kind / path.name) for kind in ("cases", "twin", "faulty"))
        if not twin or not faulty or judge.healthy_class(twin) != "healthy":
            continue
        if harm(case, faulty, twin)[0] != "harmless":
            yield case, twin, faulty, load(folder / "asked" / path.name)


def remedies_of(asked):
    return asked["diagnoses"][0]["remedies"] if asked and asked["diagnoses"] else []


def given(remedy):
    """What of a remedy a repeated run follows from."""
    return {key: remedy[key] for key in ("id", "proposed", "also")}


def stage_cure(args):
    import remedy_cures

    for attempt in range(args.tries):
        jobs = []
        for case, twin, _faulty, asked in harmful(args.dir):
            before = [load(args.dir / f"cured-{k}" / f"{case['id']}.json") for k in range(attempt)]
            if any(made and is_healed(case, made, twin) for made in before):
                continue
            remedies = remedies_of(asked)
            if attempt < len(remedies) and remedy_cures.is_known(remedies[attempt]["id"]):
                case = {**case, "diagnosis": asked["diagnoses"][0]}
                made = load(args.dir / f"cured-{attempt}" / f"{case['id']}.json")
                if made is None or made.get("remedy") != given(remedies[attempt]):
                    jobs.append((f"cured-{attempt}", case, remedies[attempt]))
        run_all(jobs, args.workers, lambda job, made: store(args.dir / job[0] / f"{job[1]['id']}.json", made))


# --- the table ------------------------------------------------------------------------------------------------------

# Why a first remedy that fits the cause cannot heal the run.
NO_REMEDY = {
    "overfit": "the data are missing: no setting brings them back",
    "duplicates": "the data are missing: no setting brings them back",
    "features-lost": "the inputs are missing in the data",
    "gradient-noise": "the noise is made by the hardware that it stands for",
    "class-imbalance": "rare classes have too few samples in so small a set",
}


def why_not(case, asked, first):
    import faults
    import remedy_cures

    fault = faults.load()[case["fault"]]
    if not asked or not asked["diagnoses"]:
        return "no diagnosis"
    cause = asked["diagnoses"][0]["cause"]
    if cause == "unknown":
        return "the cause is left open"
    if cause not in fault.causes.split(","):
        return f"cause named: {cause}"
    if not first:
        return "no remedy"
    if not remedy_cures.is_known(first["id"]):
        return f"{first['id']} cannot be applied here"
    return NO_REMEDY.get(case["fault"], f"{first['id']} is not enough")


def judge_case(folder, case, twin, faulty, asked):
    import faults

    remedies = remedies_of(asked)
    first = remedies[0] if remedies else None
    made = [load(folder / f"cured-{k}" / f"{case['id']}.json") for k in range(3)]
    healed = [bool(m) and is_healed(case, m, twin) for m in made]
    lost = 1 - min(1.0, harm(case, faulty, twin)[1])
    gained = (min(1.0, harm(case, made[0], twin)[1]) - (1 - lost)) if made[0] else 0.0
    scored = faults.load()[case["fault"]].judge == "score"
    named = asked["diagnoses"][0]["cause"] if asked and asked["diagnoses"] else None
    return {
        "fault": case["fault"],
        "diagnosed": named is not None,
        "right": named in faults.load()[case["fault"]].causes.split(","),
        "first": first["id"] if first else "-",
        "kind": first.get("kind", "-") if first else "-",
        "healed": healed[0],
        "within": any(healed),
        "recovered": max(0.0, gained / lost) if scored and lost > 0.02 else (1.0 if healed[0] else 0.0),
        "why": "" if healed[0] else why_not(case, asked, first),
    }


def percent(part, whole):
    return f"{100 * part / whole:.0f}% ({part} of {whole})" if whole else "-"


def summary(name, rows):
    right = [r for r in rows if r["right"]]
    median = statistics.median(r["recovered"] for r in rows) if rows else 0

    def share(key, of):
        return percent(sum(r[key] for r in of), len(of))

    shares = [share("diagnosed", rows), share("healed", rows), share("within", rows), share("healed", right)]
    return f"| {name} | {len(rows)} | {' | '.join(shares)} | {100 * median:.0f}% |"


def by_fault(rows):
    lines = []
    for fault in sorted({r["fault"] for r in rows}):
        own = [r for r in rows if r["fault"] == fault]
        firsts = ", ".join(sorted({f"`{r['first']}`" if r["first"] != "-" else "none" for r in own}))
        whys = "; ".join(sorted({r["why"] for r in own if r["why"]}))
        median = statistics.median(r["recovered"] for r in own)
        healed = sum(r["healed"] for r in own)
        lines.append(f"| {fault} | {len(own)} | {healed} | {100 * median:.0f}% | {firsts} | {whys} |")
    return lines


def page(folder):
    rows = [judge_case(folder, *each) for each in harmful(folder)]
    lines = [
        "| runs | cases with harm | diagnosed | healed by the first remedy | by one of the first three "
        "| where the cause is right | median of the loss recovered |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| target |  |  | >= 90% |  |  |  |",
        summary("all", rows),
        summary("with a diagnosis", [r for r in rows if r["diagnosed"]]),
        summary("with the right cause", [r for r in rows if r["right"]]),
        summary("first remedy is a setting", [r for r in rows if r["kind"] == "setting"]),
        summary("first remedy is code or data", [r for r in rows if r["kind"] == "code"]),
        summary("first remedy says where to look", [r for r in rows if r["kind"] == "look"]),
        "",
        "| fault | cases | healed | recovered | first remedy | where it does not heal |",
        "| --- | --- | --- | --- | --- | --- |",
        *by_fault(rows),
    ]
    return "\n".join(lines) + "\n"


def put_into(path, text):
    begin, end = "<!-- begin remedies -->", "<!-- end remedies -->"
    old = path.read_text()
    head, rest = old.split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}\n\n{text}{end}{tail}")


def stage_table(args):
    text = page(args.dir)
    if args.page:
        put_into(args.page, text)
    else:
        print(text, end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(required=True)
    one = stages.add_parser("train")
    one.add_argument("--out", dest="out", type=Path, required=True)
    one.add_argument("--cases", type=int, default=2)
    one.set_defaults(stage=stage_train)
    two = stages.add_parser("ask")
    two.add_argument("dir", type=Path)
    two.add_argument("--vigil", default="build/release/vigil")
    two.set_defaults(stage=stage_ask)
    three = stages.add_parser("cure")
    three.add_argument("dir", type=Path)
    three.add_argument("--tries", type=int, default=3)
    three.set_defaults(stage=stage_cure)
    four = stages.add_parser("table")
    four.add_argument("dir", type=Path)
    four.add_argument("--page", type=Path)
    four.set_defaults(stage=stage_table)
    for each in (one, three):
        each.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    args.stage(args)


if __name__ == "__main__":
    main()
