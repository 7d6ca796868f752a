"""Labels by measurement: what a run recovered of its twin's learning, and the class that follows from it."""

import hashlib
import math

LEARNED = 0.35  # progress from guessing (0) to the best possible (1) below which a healthy run did not learn
HARMLESS, FATAL = 0.95, 0.5

# How a run that does not learn shows in tasks with measures of their own, whatever the fault.
PREFERENCE = ("rl/preference-no-signal", "rl/preference-degenerate")
REWARD = ("rl/reward-flat", "rl/reward-collapse", "rl/entropy-collapse", "rl/entropy-high", "rl/no-signal")
TASK_FINDINGS = {
    "dpo": PREFERENCE,
    "dqn": REWARD[:2],
    "cartpole": REWARD,
    "bandit": REWARD,
    "grpo": (*REWARD, "rl/kl-blowup"),
}


def numbers(record, name):
    values = record["series"].get(name, {}).get("values", [])
    return [float(v) for v in values]


def non_finite(record):
    names = ("loss", "grad_norm", "eval_loss")
    return sum(not math.isfinite(v) for name in names for v in numbers(record, name))


def last_finite(record):
    values = numbers(record, "loss")
    return bool(values) and math.isfinite(values[-1])


def mean(values):
    return sum(values) / len(values) if values else 0.0


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0.0


def shares(record, twin):
    """Share of the twin's final progress, and of its progress over the run."""
    mine, other = record["progress"], twin["progress"]
    end = mine[-1] / other[-1] if mine and other and other[-1] > 0 else 0.0
    pairs = list(zip(mine, other, strict=False))
    way = mean([max(0.0, a) for a, _ in pairs]) / max(1e-9, mean([max(0.0, b) for _, b in pairs])) if pairs else 0.0
    return end, way


def by_memory(record, onset):
    values = numbers(record, "rss_mb")
    if len(values) < 3:
        return 0.0
    return (values[-1] - values[max(0, len(values) // 10)]) / max(1.0, values[0])


def by_time(record, twin, onset):
    """Median step time after the onset over the one before it (or over the twin's, where it begins at once)."""
    series = record["series"].get("step_time")
    if not series:
        return 1.0
    values = numbers(record, "step_time")
    first, every = series.get("first", 1), series.get("every", 1)
    steps = series.get("steps") or [first + i * every for i in range(len(values))]
    after = [v for s, v in zip(steps, values, strict=True) if s >= onset]
    before = [v for s, v in zip(steps, values, strict=True) if s < onset]
    if len(before) < 3:
        before = [twin["mean_step"]]
    return median(after) / max(1e-9, median(before))


def by_outliers(record):
    """Share of the time that slow points add: mean over median."""
    values = numbers(record, "step_time")
    return mean(values) / max(1e-9, median(values)) if values else 1.0


def drift(record, name):
    """Level of the second half of a series over that of the first, whatever the fault: the machine is shared."""
    values = numbers(record, name)
    half = len(values) // 2
    return round(median(values[half:]) / max(1e-9, median(values[:half])), 3) if half >= 3 else None


def steps_of(series):
    return {k: series.get(k) for k in ("first", "every", "steps")}


def gaps(record, twin, name):
    """Distances of a series from the twin's, in units of the twin's own range; None where they cannot be compared."""
    mine, other = record["series"].get(name), twin["series"].get(name)
    if not mine or not other or steps_of(mine) != steps_of(other):
        return None
    a, b = numbers(record, name), numbers(twin, name)
    finite = [v for v in b if math.isfinite(v)]
    if not finite:
        return None
    unit = max(max(finite) - min(finite), 1e-3 * max(map(abs, finite)), 1e-30)
    return [(x - y) / unit for x, y in zip(a, b, strict=False)]


def against_twin(record, twin):
    """Median distance and highest excess of the logged loss over the twin's."""
    away = gaps(record, twin, "loss")
    if not away or not all(math.isfinite(g) for g in away):
        return None, None
    return float(f"{median([abs(g) for g in away]):.3g}"), float(f"{max(away):.3g}")


def seen_in(record, twin):
    """The logged series in which the run differs from its twin: what a detector could go by.

    None where the two log at other steps, so that only level and shape can be compared."""
    names = [n for n in record["series"] if n not in ("step_time", "data_time", "rss_mb")]
    compared = {n: gaps(record, twin, n) for n in names}
    compared = {n: g for n, g in compared.items() if g is not None}
    if not compared:
        return None
    out = []
    for name, away in compared.items():
        plain = [abs(g) if math.isfinite(g) else math.inf for g in away]
        if median(plain) > 0.1 or max(plain) > 0.6:
            out.append(name)
    return out


def classify(record, twin, fault):
    """(class, recovered share, share over the run, measured effect of a resource)."""
    end, way = shares(record, twin)
    if record["crashed"]:
        return "fatal", max(0.0, min(1.0, end)), way, None
    if fault.judge == "memory":
        grown = by_memory(record, record["onset"])
        return ("fatal" if grown > 0.3 else "weak" if grown > 0.05 else "harmless"), end, way, grown
    if fault.judge == "time":
        slower = by_time(record, twin, record["onset"])
        return ("fatal" if slower > 2 else "weak" if slower > 1.15 else "harmless"), end, way, slower
    if fault.judge == "outliers":
        extra = by_outliers(record)
        return ("weak" if extra > 1.15 else "harmless"), end, way, extra
    if non_finite(record) and not last_finite(record):
        return "fatal", max(0.0, end), way, None
    if end < FATAL:
        return "fatal", end, way, None
    if end < HARMLESS or way < 0.8 or non_finite(record):
        return "weak", end, way, None
    return "harmless", end, way, None


def split_key(run_id):
    """0..99; runs of a group share it, so that a twin never stands on the other side of a split."""
    return int(hashlib.sha256(run_id.split("-")[0].encode()).hexdigest()[:8], 16) % 100


def healthy_class(record):
    if record["crashed"] or non_finite(record) or not record["progress"] or record["progress"][-1] < LEARNED:
        return "not-learned"
    return "healthy"


def label(record, twin, fault, strength):
    row = {"split": split_key(record["id"]), "fault": "none", "strength": None, "level": None, "onset": None}
    row.update({"recovered": None, "recovered_way": None, "effect": None, "findings": [], "causes": []})
    row["progress"] = [round(p, 3) for p in record["progress"]]
    row["time_drift"], row["rss_drift"] = drift(record, "step_time"), drift(record, "rss_mb")
    if fault is None:
        row["class"] = healthy_class(record)
        return row
    kind, end, way, effect = classify(record, twin, fault)
    if healthy_class(twin) != "healthy":
        kind = "twin-not-learned" if fault.judge == "score" and not record["crashed"] else kind
    row.update({"fault": fault.name, "strength": strength, "onset": record["onset"] or 1, "class": kind})
    row.update({"level": fault.strengths.index(strength), "levels": len(fault.strengths)})
    row["recovered"], row["recovered_way"] = round(end, 3), round(way, 3)
    row["effect"] = None if effect is None else round(effect, 3)
    row["loss_shift"], row["loss_peak"] = against_twin(record, twin)
    row["seen_in"] = seen_in(record, twin)
    row["findings"] = [f for f in fault.findings.split(",") if f]
    if record["crashed"] and "log/uncaught-exception" not in row["findings"]:
        row["findings"].append("log/uncaught-exception")  # such as multinomial() refusing NaN
    if fault.judge == "score" and not fault.name.startswith("crash"):
        row["findings"] += [f for f in TASK_FINDINGS.get(record["task"], ()) if f not in row["findings"]]
    row["causes"] = [c for c in fault.causes.split(",") if c]
    return row
