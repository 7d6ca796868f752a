"""Print styles of trainers beside language and vision; see styles_trainers.py."""

from style_base import fixed, plain, renamed
from styles_parts import inside, log, pairs, stamp, take


def write_keras(view):
    """A line an epoch of one value each: the last of the epoch."""
    epochs, order = {}, []
    for step, row in view.rows:
        number = max(0, -(-step // view.per_epoch) - 1)
        if number not in epochs:
            order.append(number)
        epochs.setdefault(number, {}).update(row)
    total, lines = -(-view.total // view.per_epoch), []
    names = {"lr": "learning_rate", "eval_loss": "val_loss", "eval_accuracy": "val_accuracy"}
    for number in order:
        lines.append(f"Epoch {number + 1}/{total}")
        values = " - ".join(f"{k}: {fixed(v)}" for k, v in renamed(epochs[number], names).items())
        lines.append(f"{view.per_epoch}/{view.per_epoch} ━━━━━━━━━━━━━━━━━━━━ 1s 12ms/step - {values}")
    lines += view.events(-1, 10**9)
    return {"train.log": "\n".join(lines) + "\n"}


def write_lightning_csv(view):
    names = {"loss": "train_loss_step", "eval_loss": "val_loss", "eval_accuracy": "val_acc", "lr": "lr-AdamW"}
    columns = []
    for _, row in view.rows:
        columns += [k for k in row if k not in columns]
    lines = ["epoch,step," + ",".join(names.get(c, c) for c in columns)]
    for step, row in view.rows:
        for part in view.split(row):
            if part:
                cells = [plain(part[c]) if c in part else "" for c in columns]
                lines.append(f"{int((step - 1) / view.per_epoch)},{step - 1}," + ",".join(cells))
    folder = "lightning_logs/version_0/"
    hparams = "".join(f"{k}: {v}\n" for k, v in view.settings.items())
    return {folder + "metrics.csv": "\n".join(lines) + "\n", folder + "hparams.yaml": hparams, **view.errors()}


def write_sb3(view):
    names = {
        "reward": "rollout/ep_rew_mean",
        "loss": "train/loss",
        "lr": "train/learning_rate",
        "entropy": "train/entropy",
    }

    def line(step, row):
        cells = {**renamed(row, names), "time/total_timesteps": step * 64}
        out = ["-" * 44]
        out += [f"| {k:24} | {str(step) if k == 'time/iterations' else plain(v):13} |" for k, v in cells.items()]
        out.insert(1, f"| {'time/iterations':24} | {step:<13} |")
        return "\n".join(out + ["-" * 44])

    return log(view, line)


def write_fastai(view):
    lines = ["epoch     train_loss  valid_loss  accuracy  time"]
    count, last = 0, {}
    for _, row in view.rows:
        last.update(row)
        if "eval_loss" in row or not any("eval_loss" in r for _, r in view.rows):
            cells = [fixed(last[k]) if k in last else "" for k in ("loss", "eval_loss", "eval_accuracy")]
            lines.append(f"{count:<10}" + "  ".join(c.ljust(10) for c in cells) + "  00:03")
            count += 1
    return {"fit.txt": "\n".join(lines) + "\n", **view.errors()}


def write_espnet(view):
    def line(step, row):
        epoch, batch = inside(view, step)
        where = f"{epoch + 1}epoch:train:{batch}-{batch}batch:"
        head = f"[gpu01] {stamp(view, step)},123 (trainer:762) INFO: {where}"
        names = {"lr": "optim0_lr0", "step_time": "train_time"}
        loading = 0.01 * row.get("step_time", 0.35)
        fields = ", ".join(f"{k}={fixed(v)}" for k, v in renamed(row, names).items())
        return f"{head} iter_time={loading:.2e}, {fields}"

    return log(view, line)


def write_opennmt(view):
    def line(step, row):
        (loss, lr, right), rest = take(row, "loss", "lr", "accuracy")
        out = f"[{stamp(view, step)},123 INFO] Step {step}/{view.total};"
        out += f" acc: {100 * right:.1f};" if right is not None else ""
        out += f" xent: {fixed(loss)};" if loss is not None else ""
        out += f" lr: {lr:.5g};" if lr is not None else ""
        return out + pairs(rest, "{}: {};", " ") + f" 4213/4011 tok/s; {step:6d} sec;"

    def held(step, row):
        head = f"[{stamp(view, step)},123 INFO] "
        return "\n".join(f"{head}Validation {k[5:].replace('loss', 'xent')}: {fixed(v)}" for k, v in row.items())

    return log(view, line, held)


def write_tf_estimator(view):
    def line(step, row):
        (loss, seconds), rest = take(row, "loss", "step_time")
        out = (
            f"INFO:tensorflow:loss = {plain(loss)}, step = {step}"
            if loss is not None
            else f"INFO:tensorflow:step = {step}"
        )
        return out + pairs(rest, "{} = {}", ", ", plain) + f" ({seconds or 0.35:.3f} sec)"

    def held(step, row):
        values = ", ".join(f"{k[5:]} = {plain(v)}" for k, v in row.items())
        return f"INFO:tensorflow:Saving dict for global step {step}: global_step = {step}, {values}"

    return log(view, line, held)


def write_caffe(view):
    def line(step, row):
        (loss, lr), rest = take(row, "loss", "lr")
        head = f"I0314 {view.time(step):%H:%M:%S}.123456  4242 "
        out = f"{head}solver.cpp:239] Iteration {step}" + (f", loss = {plain(loss)}" if loss is not None else "")
        for k, v in rest.items():
            out += f"\n{head}solver.cpp:258]     Train net output #0: {k} = {plain(v)}"
        return out + (f"\n{head}sgd_solver.cpp:112] Iteration {step}, lr = {plain(lr)}" if lr is not None else "")

    def held(step, row):
        head = f"I0314 {view.time(step):%H:%M:%S}.123456  4242 solver.cpp:"
        lines = [f"{head}347] Iteration {step}, Testing net (#0)"]
        lines += [f"{head}414]     Test net output #{i}: {k[5:]} = {plain(v)}" for i, (k, v) in enumerate(row.items())]
        return "\n".join(lines)

    return log(view, line, held)


def write_boosting(view):
    def line(step, row):
        names = {"loss": "train-mlogloss", "eval_loss": "eval-mlogloss"}
        return f"[{step}]\t" + "\t".join(f"{k}:{plain(v)}" for k, v in renamed(row, names).items())

    return log(view, line)


def write_composer(view):
    def line(step, row):
        names = {
            "loss": "Train loss/train/total",
            "lr": "Train lr-DecoupledAdamW/group0",
            "grad_norm": "Train l2_norm/grad/global",
        }
        head = (
            f"[batch={step}/{view.total}]:\n\t Train time/epoch: {int(view.epoch(step))}\n\t Train time/batch: {step}"
        )
        return head + "".join(f"\n\t {k}: {fixed(v)}" for k, v in renamed(row, names).items())

    return log(view, line)


def write_accelerate(view):
    def line(step, row):
        values = ", ".join(f"{k}={plain(v)}" for k, v in row.items())
        return f"{view.time(step):%m/%d/%Y %H:%M:%S} - INFO - __main__ - Steps: {step}/{view.total} {values}"

    return log(view, line)


def write_deepspeed(view):
    def line(step, row):
        (loss, lr), rest = take(row, "loss", "lr")
        head = f"[{stamp(view, step)},123] [INFO] [logging.py:96:log_dist] [Rank 0]"
        out = f"{head} step={step}, skipped=0, lr=[{lr if lr is not None else 0.001}], mom=[[0.9, 0.999]]"
        return (
            out
            + f"\nsteps: {step}"
            + (f" loss: {fixed(loss)}" if loss is not None else "")
            + pairs(rest, "{}: {}", " ")
        )

    return log(view, line)
