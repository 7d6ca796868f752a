"""The print styles of known trainers. What a trainer's own line has no place for follows in its way of pairs."""

from style_base import HF_NAMES, Style, fixed, json_values, plain, renamed
from styles_others import (
    write_accelerate,
    write_boosting,
    write_caffe,
    write_composer,
    write_deepspeed,
    write_espnet,
    write_fastai,
    write_keras,
    write_lightning_csv,
    write_opennmt,
    write_sb3,
    write_tf_estimator,
)
from styles_parts import inside, log, pairs, stamp, take

# --- HF and its kin -------------------------------------------------------------------------------------------------


def hf_line(view, step, row):
    values = json_values(renamed(row, HF_NAMES))
    values["epoch"] = round(view.epoch(step), 2 if view.epoch(step) > 1 else 4)
    return str(values)


def write_hf(view):
    return log(view, lambda step, row: hf_line(view, step, row))


def write_hf_strings(view):
    """transformers 5: every number is a string."""

    def line(step, row):
        values = {k: plain(v) for k, v in renamed(row, HF_NAMES).items()}
        return str({**values, "epoch": f"{view.epoch(step):.4g}"})

    return log(view, line)


def write_hf_bars(view):
    def line(step, row):
        share = step / view.total
        bar = f"\r {100 * share:3.0f}%|{'█' * int(20 * share):20}| {step}/{view.total} [00:01<00:01, 61.2it/s]"
        return bar + "\n" + " " * 60 + "\r" + hf_line(view, step, row)

    return log(view, line)


def write_hf_notebook_table(view):
    """Step, Training Loss, Validation Loss as the notebook callback shows them, copied as text."""
    lines, last = ["Step\tTraining Loss\tValidation Loss"], None
    for step, row in view.rows:
        last = row.get("loss", last)
        if "loss" in row:
            lines.append(f"{step}\t{fixed(row['loss'])}\t{fixed(row['eval_loss']) if 'eval_loss' in row else 'No log'}")
    return {"cell_output.txt": "\n".join(lines) + "\n", **view.errors()}


# --- language models ------------------------------------------------------------------------------------------------


def write_megatron(view):
    def line(step, row):
        (loss, lr, norm, seconds), rest = take(row, "loss", "lr", "grad_norm", "step_time")
        samples = step * view.settings["batch_size"]
        out = f" [{stamp(view, step)}] iteration {step:8d}/{view.total:8d} | consumed samples: {samples:12d} |"
        out += f" elapsed time per iteration (ms): {(seconds or 0.35) * 1e3:.1f} |"
        out += f" learning rate: {lr:.6E} |" if lr is not None else ""
        out += f" lm loss: {loss:.6E} |" if loss is not None else ""
        out += f" grad norm: {norm:.3f} |" if norm is not None else ""
        out += "".join(f" {k}: {v:.6E} |" for k, v in rest.items())
        return out + " number of skipped iterations:   0 | number of nan iterations:   0 |"

    def held(step, row):
        return (
            f" validation loss at iteration {step} | "
            + " | ".join(f"{k.replace('eval_loss', 'lm loss value')}: {v:.6E}" for k, v in row.items())
            + " |"
        )

    return log(view, line, held)


def write_torchtitan(view):
    def line(step, row):
        (loss, norm), rest = take(row, "loss", "grad_norm")
        out = f"[titan] {stamp(view, step)},{step % 1000:03d} - root - INFO - step: {step:2}"
        out += f"  loss: {fixed(loss)}" if loss is not None else ""
        out += f"  grad_norm: {fixed(norm)}" if norm is not None else ""
        return out + pairs(rest, "{}: {}", "  ")

    return log(view, line)


def write_nanogpt(view):
    def line(step, row):
        (loss, seconds), rest = take(row, "loss", "step_time")
        out = f"iter {step}:" + (f" loss {fixed(loss)}," if loss is not None else "")
        return out + f" time {1e3 * (seconds or 0.0213):.2f}ms, mfu 12.34%" + pairs(rest, "{} {}", ", ")

    def held(step, row):
        (loss,), rest = take(row, "eval_loss")
        out = f"step {step}: val loss {fixed(loss)}" if loss is not None else f"step {step}:"
        return out + pairs({k.replace("eval_", "val "): v for k, v in rest.items()}, "{} {}", ", ")

    return log(view, line, held)


def write_llmc(view):
    def line(step, row):
        (loss, norm, lr), rest = take(row, "loss", "grad_norm", "lr")
        out = f"step {step:4d}/{view.total}"
        out += f" | loss {loss:.6f} (+nanz)" if loss is not None else ""
        out += f" | norm {norm:.4f} (+nanz)" if norm is not None else ""
        out += f" | lr {lr:.2e}" if lr is not None else ""
        return out + pairs(rest) + " | 21.30 ms | 48.1% bf16 MFU | 24574 tok/s"

    def held(step, row):
        return " | ".join(f"{k.replace('eval_', 'val ')} {v:.6f}" for k, v in row.items())

    return log(view, line, held, "main.log")


def write_modded(view):
    def line(step, row):
        (loss,), rest = take(row, "loss")
        out = f"step:{step}/{view.total}" + (f" train_loss:{fixed(loss)}" if loss is not None else "")
        return out + pairs(rest, "{}:{}", " ") + f" train_time:{step * 350}ms step_avg:350.01ms"

    def held(step, row):
        return f"step:{step}/{view.total}" + pairs(
            {k.replace("eval_", "val_"): v for k, v in row.items()}, "{}:{}", " "
        )

    return log(view, line, held)


def write_fairseq(view):
    def line(step, row):
        (loss, lr, norm), rest = take(row, "loss", "lr", "grad_norm")
        epoch = int(view.epoch(step)) + 1
        out = f"{stamp(view, step)} | INFO | train_inner | epoch {epoch:03d}: {step:6d} / {view.total}"
        out += f" loss={fixed(loss)}," if loss is not None else ""
        out += f" num_updates={step},"
        out += f" lr={lr:.6g}," if lr is not None else ""
        out += f" gnorm={fixed(norm)}," if norm is not None else ""
        return out + pairs(rest, "{}={}", " ")

    def held(step, row):
        names = {"eval_loss": "loss"}
        return (
            f"{stamp(view, step)} | INFO | valid | epoch {int(view.epoch(step)) + 1:03d} | valid on 'valid' subset"
            + pairs(renamed(row, names))
            + f" | num_updates {step}"
        )

    return log(view, line, held)


def write_torchtune(view):
    def line(step, row):
        return f"Step {step} | " + " ".join(f"{k}:{plain(v)}" for k, v in row.items())

    return log(view, line, file="log_1741944413.txt")


def write_olmo(view):
    def line(step, row):
        names = {
            "loss": "train/CrossEntropyLoss",
            "lr": "optim/learning_rate_group0",
            "grad_norm": "optim/total_grad_norm",
        }
        head = f"{stamp(view, step)}.123\tnode0:0\tolmo.train:905\tINFO\t[step={step}/{view.total}]"
        return head + "".join(f"\n    {k}={fixed(v)}" for k, v in renamed(row, names, True).items())

    return log(view, line)


def write_litgpt(view):
    def line(step, row):
        (loss, seconds), rest = take(row, "loss", "step_time")
        out = f"Epoch {int(view.epoch(step)) + 1} | iter {step} step {step} |"
        out += f" loss train: {fixed(loss)}, val: n/a |" if loss is not None else ""
        return out + f" iter time: {1e3 * (seconds or 0.2):.2f} ms (step)" + pairs(rest, "{}: {}")

    def held(step, row):
        return f"iter {step}: " + ", ".join(f"{k.replace('eval_', 'val ')} {fixed(v)}" for k, v in row.items())

    return log(view, line, held)


def write_maxtext(view):
    def line(step, row):
        (seconds,), rest = take(row, "step_time")
        return f"completed step: {step}, seconds: {seconds or 0.35:.3f}, TFLOP/s/device: 101.2" + pairs(
            rest, "{}: {}", ", "
        )

    return log(view, line)


def write_verl(view):
    def line(step, row):
        names = {
            "loss": "actor/pg_loss",
            "reward": "critic/score/mean",
            "entropy": "actor/entropy_loss",
            "kl": "actor/ppo_kl",
            "grad_norm": "actor/grad_norm",
            "lr": "actor/lr",
        }
        names = names if "reward" in row else {"loss": "train/loss", "lr": "train/lr"}
        return f"step:{step} - " + " - ".join(f"{k}:{fixed(v)}" for k, v in renamed(row, names).items())

    return log(view, line)


def write_openrlhf(view):
    def line(step, row):
        values = ", ".join(f"'{k}': {plain(v)}" for k, v in row.items())
        bar = f"{100 * step / view.total:.0f}%|##  | {step}/{view.total} [00:12<00:40, 3.1it/s]"
        return f"Train epoch [{int(view.epoch(step)) + 1}/3]:  {bar} {{{values}}}"

    return log(view, line)


# --- vision ---------------------------------------------------------------------------------------------------------


def write_timm(view):
    def line(step, row):
        (loss, lr, seconds), rest = take(row, "loss", "lr", "step_time")
        epoch, batch = inside(view, step)
        out = f"Train: {epoch} [{batch:>4d}/{view.per_epoch} ({100 * batch / view.per_epoch:>3.0f}%)]"
        out += f"  Loss: {fixed(loss)} ({fixed(loss)})" if loss is not None else ""
        out += f"  Time: {seconds or 0.35:.3f}s,  731.2/s"
        out += f"  LR: {lr:.3e}" if lr is not None else ""
        return out + pairs(rest, "{}: {}", "  ")

    def held(step, row):
        (loss, right), rest = take(row, "eval_loss", "eval_accuracy")
        out = f"Test: [{int(view.epoch(step)):>4d}/{view.per_epoch}]"
        out += f"  Loss: {fixed(loss)} ({fixed(loss)})" if loss is not None else ""
        out += f"  Acc@1: {100 * right:.3f} ({100 * right:.3f})" if right is not None else ""
        return out + pairs(rest, "{}: {}", "  ")

    return log(view, line, held, "summary.log")


def write_imagenet(view):
    def line(step, row):
        (loss, right, seconds), rest = take(row, "loss", "accuracy", "step_time")
        epoch, batch = inside(view, step)
        took = f"{seconds or 0.35:6.3f}"
        out = f"Epoch: [{epoch}][{batch:>4d}/{view.per_epoch}]\tTime {took} ({took})"
        out += f"\tLoss {loss:.4e} ({loss:.4e})" if loss is not None else ""
        out += f"\tAcc@1 {100 * right:6.2f} ({100 * right:6.2f})" if right is not None else ""
        return out + pairs(rest, "{} {}", "\t")

    def held(step, row):
        (right, loss), rest = take(row, "eval_accuracy", "eval_loss")
        out = " *" + (f" Acc@1 {100 * right:.3f}" if right is not None else "")
        return out + (f" Loss {fixed(loss)}" if loss is not None else "") + pairs(rest, "{} {}", " ")

    return log(view, line, held)


def write_detectron(view):
    def line(step, row):
        (loss, lr, seconds), rest = take(row, "loss", "lr", "step_time")
        out = f"[{view.time(step):%m/%d %H:%M:%S} d2.utils.events]:  eta: 0:12:34  iter: {step}"
        out += f"  total_loss: {plain(loss)}" if loss is not None else ""
        out += pairs(rest, "{}: {}", "  ", plain)
        out += f"  time: {seconds or 0.35:.4f}  data_time: {0.01 * (seconds or 0.35):.4g}"
        return out + (f"  lr: {lr:.5g}" if lr is not None else "") + "  max_mem: 1234M"

    return log(view, line, file="log.txt")


def write_mmengine(view):
    def line(step, row):
        (lr, loss, seconds), rest = take(row, "lr", "loss", "step_time")
        epoch, batch = inside(view, step)
        when = stamp(view, step, "%Y/%m/%d %H:%M:%S")
        out = f"{when} - mmengine - INFO - Epoch(train)  [{epoch + 1}][{batch:4d}/{view.per_epoch}]"
        out += f"  lr: {lr:.4e}" if lr is not None else ""
        out += f"  eta: 0:01:02  time: {seconds or 0.35:.4f}  data_time: {0.01 * (seconds or 0.35):.4g}"
        return out + (f"  loss: {fixed(loss)}" if loss is not None else "") + pairs(rest, "{}: {}", "  ")

    def held(step, row):
        head = f"{stamp(view, step, '%Y/%m/%d %H:%M:%S')} - mmengine - INFO - Epoch(val)"
        rest = pairs({k[5:]: v for k, v in row.items()}, "{}: {}", "  ")
        return f"{head} [{int(view.epoch(step))}][{step}/{step}]{rest}"

    return log(view, line, held, "20250314_092653.log")


def write_mnist(view):
    def line(step, row):
        (loss,), rest = take(row, "loss")
        epoch, batch = inside(view, step)
        seen, share = batch * view.settings["batch_size"], 100 * batch / view.per_epoch
        out = f"Train Epoch: {epoch + 1} [{seen}/{view.settings['train_samples']} ({share:.0f}%)]"
        return out + (f"\tLoss: {loss:.6g}" if loss is not None else "") + pairs(rest, "{}: {}", "\t")

    def held(step, row):
        (loss, right), rest = take(row, "eval_loss", "eval_accuracy")
        out = "\nTest set:"
        out += f" Average loss: {fixed(loss)}" if loss is not None else ""
        out += f", Accuracy: {round(10000 * right)}/10000 ({100 * right:.0f}%)" if right is not None else ""
        return out + pairs(rest, "{}: {}", ", ") + "\n"

    return log(view, line, held)


TRAINERS = [
    Style("hf-dict", write_hf, "json"),
    Style("hf-dict-v5", write_hf_strings, "yaml"),
    Style("hf-bars", write_hf_bars),
    Style("hf-notebook-table", write_hf_notebook_table, lossy=True),
    Style("megatron", write_megatron, "list"),
    Style("torchtitan", write_torchtitan, "toml"),
    Style("nanogpt", write_nanogpt, "python"),
    Style("llmc", write_llmc, "cli", lossy=True),
    Style("modded-nanogpt", write_modded),
    Style("fairseq", write_fairseq, "args"),
    Style("torchtune", write_torchtune, "yaml"),
    Style("olmo", write_olmo, "nested-yaml"),
    Style("litgpt", write_litgpt, "yaml"),
    Style("maxtext", write_maxtext, "yaml"),
    Style("verl", write_verl, "nested-yaml"),
    Style("openrlhf", write_openrlhf, "args"),
    Style("timm", write_timm, "yaml"),
    Style("imagenet-example", write_imagenet, "args"),
    Style("detectron2", write_detectron, "nested-yaml"),
    Style("mmengine", write_mmengine, "python"),
    Style("mnist-example", write_mnist, "args"),
    Style("keras", write_keras, "json", lossy=True),
    Style("lightning-csv", write_lightning_csv),
    Style("stable-baselines3", write_sb3, "yaml"),
    Style("fastai", write_fastai, lossy=True),
    Style("espnet", write_espnet, "yaml"),
    Style("opennmt", write_opennmt, "yaml"),
    Style("tf-estimator", write_tf_estimator),
    Style("caffe", write_caffe),
    Style("boosting", write_boosting, "json"),
    Style("composer", write_composer, "nested-yaml"),
    Style("accelerate", write_accelerate, "args"),
    Style("deepspeed", write_deepspeed, "json"),
]
