"""Asserts that every fixture shows what its label says, from its files alone (run it with gym/.venv/bin/python).

Reads with json, regular expressions and the tensorboard package; shares no code with the product.
"""

import ast
import csv
import glob
import json
import math
import os
import re
import socket
import statistics
import sys

FIXTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "fixtures")
LIMIT_BYTES = 5_000_000
NUMBER = r"(-?(?:\d+\.?\d*(?:e[+-]?\d+)?|nan|inf))"


class Series(dict):
    """key -> list of (step, value); keys as in trainer_state.json."""

    def put(self, key, step, value):
        self.setdefault(key, []).append((step, float(value)))

    def values(self, key):
        return [v for _, v in self.get(key, [])]

    def finite(self, key):
        return [v for v in self.values(key) if math.isfinite(v)]


def from_state(path, out):
    for row in json.load(open(path))["log_history"]:
        for key, value in row.items():
            if isinstance(value, (int, float)) and key not in ("step", "epoch"):
                out.put(key, row["step"], value)


def from_dict_lines(text, out):
    """HF lines carry no step: the order stands in for it."""
    count = 0
    for match in re.finditer(r"\{'[^{}\n]*\}", text):
        body = re.sub(r"(?<=: )(nan|-?inf)(?=[,}])", r"'\1'", match.group())
        row = ast.literal_eval(body)
        if not {"loss", "eval_loss", "train_runtime"} & row.keys():
            continue
        count += "loss" in row
        for key, value in row.items():
            out.put(key, count, value)


def from_loop_lines(text, out):
    for line in text.splitlines():
        if found := re.match(rf"step (\d+): train loss {NUMBER}, val loss {NUMBER}", line):
            out.put("eval_loss", int(found[1]), found[3])
            continue
        step = re.match(r"(?:\[train\] )?(?:step |iter[= ])(\d+)", line)
        if not step:
            continue
        for key, pattern in (
            ("loss", r"\bloss[ =]"),
            ("grad_norm", r"(?:grad_norm |gnorm=)"),
            ("learning_rate", r"\blr[ =]"),
            ("loss_scale", "loss_scale "),
            ("eval_loss", "val_loss "),
        ):
            if found := re.search(pattern + NUMBER, line):
                out.put(key, int(step[1]), found[1])


LOOP_KEYS = {"lr": "learning_rate", "val_loss": "eval_loss"}
LIGHTNING_KEYS = {"train_loss": "loss", "val_loss": "eval_loss", "lr-AdamW": "learning_rate"}


def from_json_lines(lines, out):
    for line in lines:
        if line.startswith('{"'):
            row = json.loads(line)
            for key, value in row.items():
                out.put(LOOP_KEYS.get(key, key), row["step"], value)


def from_csv(path, out):
    for row in csv.DictReader(open(path)):
        for key, value in row.items():
            if value != "":  # Lightning leaves out what a row does not hold
                out.put(LOOP_KEYS.get(key, LIGHTNING_KEYS.get(key, key)), int(row["step"]), value)


def from_events(paths, out):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    for path in sorted(paths):
        for event in EventFileLoader(path).Load():
            for v in event.summary.value:
                if not v.HasField("tensor") or v.tensor.dtype != 1:
                    continue
                value = v.tensor.float_val[0] if v.tensor.float_val else float("nan")
                key = LIGHTNING_KEYS.get(v.tag, v.tag)
                key = key.removeprefix("train/").replace("eval/", "eval_").replace("val/val_loss", "eval_loss")
                out.put(LOOP_KEYS.get(key, key), event.step, value)


def load(folder):
    """The richest source wins: state, events, files, then the log. Also the log as text."""
    log = os.path.join(folder, "train.log")
    text = open(log, errors="replace").read().replace("\r", "\n") if os.path.exists(log) else ""
    states = sorted(
        glob.glob(f"{folder}/checkpoint-*/trainer_state.json"), key=lambda p: int(re.findall(r"\d+", p)[-1])
    )
    sources = []
    if states:
        sources.append(lambda out: from_state(states[-1], out))
    if events := glob.glob(f"{folder}/**/events.out.tfevents*", recursive=True):
        sources.append(lambda out: from_events(events, out))
    if os.path.exists(f"{folder}/metrics.jsonl"):
        sources.append(lambda out: from_json_lines(open(f"{folder}/metrics.jsonl"), out))
    for table in glob.glob(f"{folder}/**/metrics.csv", recursive=True):
        sources.append(lambda out, table=table: from_csv(table, out))
    for read in (from_dict_lines, from_loop_lines, lambda t, out: from_json_lines(t.splitlines(), out)):
        sources.append(lambda out, read=read: read(text, out))
    for read in sources:
        out = Series()
        read(out)
        if out.get("loss"):
            return out, text
    return Series(), text


# --- what each finding that a label allows must look like -------------------------------------------------------------


def share(values, holds):
    return sum(map(holds, values)) / max(1, len(values))


def lost(s, key):
    return len(s.finite(key)) < len(s.values(key))


def hidden_loss(s):
    """Loss 0 beside a non-finite norm: what a logging filter leaves of a NaN."""
    pairs = zip(s.values("loss"), s.values("grad_norm"), strict=False)
    return any(loss == 0 and not math.isfinite(norm) for loss, norm in pairs)


def exploded(s):
    norms = s.finite("grad_norm")
    limit = 10 if "reward" in s else 100
    return sum(v > limit for v in norms) >= 3 or (len(norms) > 3 and max(norms) > 50 * head(norms))


def diverged(s):
    loss = s.finite("loss")
    return not hidden_loss(s) and tail(loss) > 1.5 * min(loss[0], lowest(loss, 5))


def never_fell(s):
    loss = s.finite("loss")
    return len(loss) > 5 and not hidden_loss(s) and min(tail(loss), lowest(loss)) > 0.88 * min(loss[0], head(loss))


def levelled(s):
    loss = s.finite("loss")
    return mean_of(loss, 0.4, 0.6) < 1.08 * mean_of(loss, 0.8, 1) or tail(loss) > 0.88 * head(loss)


def rate_share(s):
    rates = s.values("learning_rate")
    return share(rates, lambda v: v == 0)


VISIBLE = {
    "loss/non-finite": lambda s: lost(s, "loss") or hidden_loss(s),
    "grad/non-finite": lambda s: lost(s, "grad_norm"),
    "loss/divergence": diverged,
    "grad/explosion": exploded,
    "loss/not-decreasing": never_fell,
    "loss/plateau": levelled,
    "loss/collapse": lambda s: len(set(s.values("loss")[-20:])) == 1 and not lost(s, "loss"),
    "loss/spike": lambda s: max(s.finite("loss")) > 1.6 * statistics.median(s.finite("loss")[1:]),
    "grad/spike": lambda s: max(s.finite("grad_norm")) > 10 * statistics.median(s.finite("grad_norm")),
    "grad/unstable": lambda s: share(s.finite("grad_norm"), lambda v: v > 10) > 0.1,
    "grad/zero": lambda s: share(s.values("grad_norm"), lambda v: v == 0) > 0.7,
    "grad/vanishing": lambda s: tail(s.finite("grad_norm")) < 1e-3,
    "lr/no-warmup": lambda s: s.values("learning_rate")[0] > 0.9 * max(s.values("learning_rate")),
    "lr/zero": lambda s: rate_share(s) > 0.25,
    "lr/out-of-range": lambda s: max(s.values("learning_rate")) < 1e-5,
    "rl/reward-collapse": lambda s: mean_of(s.values("reward"), 0.7, 1) < 0.5 * head(s.values("reward")),
    "rl/reward-flat": lambda s: abs(mean_of(s.values("reward"), 0.3, 1)) < 0.02,
    "rl/no-signal": lambda s: statistics.mean(s.values("frac_reward_zero_std")) > 0.7,
    "rl/truncated": lambda s: statistics.median(s.values("completions/clipped_ratio")) > 0.8,
    "rl/entropy-collapse": lambda s: tail(s.values("entropy")) < 0.01,
    "rl/kl-blowup": lambda s: max(s.values("kl")) > 2,
}


def not_visible(row, series):
    """Findings that the label allows and the numbers do not show."""
    named = row["expect"].split(",")
    return [f for f in named if f in VISIBLE and not VISIBLE[f](series)]


# --- what each fault must show: a list of (claim, holds) --------------------------------------------------------------


def head(values, share=0.05):
    return statistics.median(values[: max(3, int(len(values) * share))])


def tail(values, share=0.1):
    return statistics.median(values[-max(3, int(len(values) * share)) :])


def lowest(values, window=0):
    """The lowest median over a window (a sixth of the run unless given)."""
    window = window or max(3, len(values) // 6)
    return min(statistics.median(values[i : i + window]) for i in range(max(1, len(values) - window + 1)))


def mean_of(values, begin, end):
    """Mean over a stretch of the run, given as shares of its length."""
    return statistics.mean(values[int(begin * len(values)) : max(1, int(end * len(values)))])


def blew_up(s, _):
    shows = diverged(s) or never_fell(s) or exploded(s) or lost(s, "loss") or hidden_loss(s)
    return [("loss ends > 1.5x its best, never fell, the norm exploded, or non-finite", shows)]


def non_finite(s, _):
    return [
        (
            "a non-finite loss or norm is logged",
            any(not math.isfinite(v) for k in ("loss", "grad_norm") for v in s.values(k)),
        )
    ]


def hidden(s, _):
    return [
        ("no loss is non-finite", len(s.finite("loss")) == len(s.values("loss"))),
        ("the norm is non-finite", len(s.finite("grad_norm")) < len(s.values("grad_norm"))),
        ("the loss reads 0 at the end", s.values("loss")[-1] == 0),
    ]


def masked(s, _):
    loss, norm = s.values("loss"), s.values("grad_norm")
    return [
        ("loss is 0 or NaN throughout", all(v == 0 or math.isnan(v) for v in loss)),
        ("norm is 0 or NaN", not any(v > 0 for v in norm)),
    ]


def flat(s, _):
    loss = s.finite("loss")
    return [("loss falls by less than 12%", tail(loss) > 0.88 * head(loss))]


def rate_zero(s, _):
    rates = s.values("learning_rate")
    return [("LR is 0 on more than a quarter of the steps", sum(v == 0 for v in rates) > len(rates) / 4)]


def overfit(s, _):
    losses, loss = s.values("eval_loss"), s.finite("loss")
    return [
        ("eval loss ends > 1.1x its best", losses[-1] > 1.1 * min(losses)),
        ("train loss falls", tail(loss) < 0.7 * head(loss)),
    ]


def rate_jump(s, _):
    rates = s.values("learning_rate")
    jumps = [b / a for a, b in zip(rates[5:], rates[6:], strict=False) if a > 0]
    return [
        ("LR jumps by more than 1.5x or falls to under half within one record", max(jumps) > 1.5 or min(jumps) < 0.5)
    ]


def resumed(s, row):
    rates, loss, onset = s.get("learning_rate"), s.get("loss"), int(row["onset_step"])
    before = [v for n, v in rates if n <= onset][-1]
    after = [v for n, v in rates if n > onset][0]
    low = statistics.median([v for n, v in loss if n <= onset][-8:])
    high = max(v for n, v in loss if onset < n <= onset + 12)
    return [("LR or loss jumps at the resume", abs(after / before - 1) > 0.2 or high > 1.25 * low)]


def spike(s, row):
    loss, onset = s.get("loss"), int(row["onset_step"])
    around = [v for n, v in loss if onset - 20 <= n < onset]
    peak = max(v for n, v in loss if onset <= n <= onset + 5)
    return [
        ("loss at the onset > 1.6x the median before", peak > 1.6 * statistics.median(around)),
        ("it recovers", tail(s.finite("loss")) < 1.15 * statistics.median(around)),
    ]


def scale_collapse(s, _):
    scales = s.values("loss_scale")
    return [("loss scale halves 8 times or more", scales[-1] < max(scales) / 256)]


def constant_reward(s, _):
    return [("reward is constant", len(set(s.values("reward"))) == 1), ("no spread", max(s.values("reward_std")) == 0)]


def zero_groups(s, _):
    return [
        ("every group has zero spread", min(s.values("frac_reward_zero_std")) == 1),
        ("reward varies", len(set(s.values("reward"))) > 1),
    ]


def entropy_collapsed(s, _):
    return [
        ("entropy ends < 0.01", tail(s.values("entropy")) < 0.01),
        ("it began above 0.1", head(s.values("entropy")) > 0.1),
    ]


def truncated(s, _):
    return [("clipped ratio > 0.8", statistics.median(s.values("completions/clipped_ratio")) > 0.8)]


def kl_high(s, _):
    return [("kl > 2", max(s.values("kl")) > 2), ("kl starts low", s.values("kl")[0] < 0.1)]


def rl_lost(s, _):
    reward = s.values("reward")
    return [
        (
            "reward ends under half its best, or norm > 10",
            tail(reward) < 0.5 * max(head(reward), tail(reward), sorted(reward)[len(reward) * 9 // 10])
            or max(s.finite("grad_norm")) > 10,
        )
    ]


def no_preference(s, _):
    accuracy = s.values("rewards/accuracies")
    return [("accuracy stays near one half", abs(statistics.mean(accuracy[-20:]) - 0.5) < 0.12)]


def crashed(pattern):
    def check(_, row):
        return [(f"the log says {pattern!r}", re.search(pattern, row["text"]))]

    return check


CHECKS = {
    "lr-too-high": blew_up,
    "no-warmup": blew_up,
    "no-clipping": blew_up,
    "nonfinite-input": non_finite,
    "log-zero-layer": non_finite,
    "nan-hidden": hidden,
    "labels-masked": masked,
    "labels-shuffled": flat,
    "frozen-params": flat,
    "lr-zero": rate_zero,
    "lr-too-low": flat,
    "overfit": overfit,
    "schedule-break": rate_jump,
    "resume-no-optimizer": resumed,
    "bad-sample": spike,
    "fp16-overflow": scale_collapse,
    "reward-constant": constant_reward,
    "zero-variance-groups": zero_groups,
    "entropy-collapse": entropy_collapsed,
    "completions-truncated": truncated,
    "kl-blowup": kl_high,
    "preference-shuffled": no_preference,
    "crash-shape-mismatch": crashed("size mismatch for"),
    "crash-matmul": crashed("mat1 and mat2 shapes"),
    "crash-reward-import": crashed("ModuleNotFoundError"),
    "crash-empty-dataset": crashed("num_samples=0|StopIteration"),
    "crash-token-range": crashed("index out of range"),
    "crash-no-pad-token": crashed("pad(ding)?.token"),
    "crash-generations": crashed("divisible"),
    "crash-interrupted": crashed("KeyboardInterrupt"),
}


def healthy(s, row):
    loss = s.values("loss")
    claims = [
        (
            "every value is finite",
            all(math.isfinite(v) for k in ("loss", "grad_norm", "eval_loss") for v in s.values(k)),
        )
    ]
    if row["trainer"] == "grpo":
        reward, entropy = s.values("reward"), s.values("entropy")
        claims += [
            ("reward rises", mean_of(reward, 0.7, 1) > mean_of(reward, 0, 0.3)),
            ("entropy > 0.02", tail(entropy) > 0.02),
            ("groups differ", statistics.mean(s.values("frac_reward_zero_std")) < 0.8),
            ("kl < 1", max(s.values("kl") or [0]) < 1),
        ]
        return claims
    at_floor = "floor" in row["note"] or "fine-tune" in row["note"]
    claims.append(("loss fell, or was at its floor", tail(loss) < (1.05 if at_floor else 0.93) * head(loss)))
    claims.append(("it ends near its best", tail(loss, 0.15) < 1.15 * lowest(loss)))
    if evals := s.values("eval_loss"):
        claims.append(("eval loss ends near its best", evals[-1] < 1.05 * min(evals)))
    return claims


def claims_of(row, series):
    if row["fault"] == "healthy":
        return healthy(series, row)
    if row["trainer"] == "grpo" and row["fault"] == "lr-too-high":
        return rl_lost(series, row)
    if row["trainer"] == "grpo" and row["fault"] == "lr-zero":
        return rate_zero(series, row)
    return CHECKS[row["fault"]](series, row)


def ends(series, key):
    values = series.values(key)
    return f"{values[0]:.3g}>{values[-1]:.3g}" if values else "-"


def brief(series):
    norm, count = max(series.finite("grad_norm"), default=0), len(series.values("loss"))
    return f"n={count:<4} loss {ends(series, 'loss'):14} norm<={norm:<8.3g} lr {ends(series, 'learning_rate'):18}"


def strays():
    """Paths and names of this machine in the files, and a set that has grown too large."""
    marks = [os.path.dirname(FIXTURES), os.path.expanduser("~"), f".{socket.gethostname()}."]
    size, found = 0, []
    for path in glob.glob(f"{FIXTURES}/runs/**/*", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                data = f.read()
            size += len(data)
            found += [
                f"{path}: holds {mark}" for mark in marks if mark.encode() in data or mark in os.path.basename(path)
            ]
    return found + ([f"the runs take {size} bytes"] if size > LIMIT_BYTES else []), size


def main():
    only = sys.argv[1:]
    bad = 0
    with open(os.path.join(FIXTURES, "LABELS.tsv")) as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        if only and not any(part in row["path"] for part in only):
            continue
        series, row["text"] = load(os.path.join(FIXTURES, row["path"]))
        try:
            failed = [claim for claim, holds in claims_of(row, series) if not holds]
            failed += [f"{finding} is not visible" for finding in not_visible(row, series)]
        except (IndexError, ValueError, statistics.StatisticsError) as error:
            failed = [f"cannot be judged: {error!r}"]
        extra = "  ".join(
            f"{key} {ends(series, key)}" for key in ("eval_loss", "reward", "entropy", "kl") if key in series
        )
        bad += bool(failed)
        print(f"{'ok ' if not failed else 'BAD'} {row['path'][5:]:42} {brief(series)} {extra} {'; '.join(failed)}")
    healthy_runs = sum(r["fault"] == "healthy" for r in rows)
    tune = sum(r["split"] == "tune" for r in rows)
    print(f"{len(rows)} runs, {healthy_runs} healthy, {tune} tune, {bad} not as labelled")
    problems, size = strays()
    print("\n".join([*problems, f"{size} bytes"]))
    return 1 if bad or problems else 0


if __name__ == "__main__":
    sys.exit(main())
