"""Texts that well-known trainers print. `step` is called every few steps, `epoch` after the evaluation of an epoch."""

import json
import math

import clock


def stamp(form="%Y-%m-%d %H:%M:%S"):
    return clock.now().strftime(form)


def exp(value):
    return math.exp(min(value, 700)) if math.isfinite(value) else math.nan


class Style:
    def __init__(self, spec, per, total):
        self.spec, self.per, self.total = spec, per, total
        self.epochs = math.ceil(total / per)

    def say(self, text):
        print(text, flush=True)

    def start(self):
        pass

    def step(self, now):
        pass

    def epoch(self, now):
        pass

    def end(self):
        pass


class Fairseq(Style):
    def line(self, where, row):
        text = {k: v if isinstance(v, int) else f"{v:.5g}" for k, v in row.items()}
        self.say(f"{stamp()} | INFO | {where} | {json.dumps(text)}")

    def start(self):
        self.say(f"{stamp()} | INFO | fairseq.trainer | begin training epoch 1")

    def step(self, now):
        row = {"epoch": now["epoch"] + 1, "update": now["step"] / self.per, "loss": now["mean"] / math.log(2)}
        row |= {"ppl": exp(now["mean"]), "wps": self.spec.batch * 20 / now["dt"], "num_updates": now["step"]}
        self.line("train_inner", row | {"lr": now["lr"], "gnorm": now["norm"], "train_wall": now["elapsed"]})

    def epoch(self, now):
        row = {"epoch": now["epoch"] + 1, "valid_loss": now["v"]["loss"] / math.log(2)}
        self.line("valid", row | {"valid_ppl": exp(now["v"]["loss"]), "valid_num_updates": now["step"]})


class OpenNmt(Style):
    def step(self, now):
        rate = self.spec.batch * 6 / now["dt"]
        self.say(
            f"[{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} INFO] Step {now['step']}/{self.total}; acc: "
            f"{100 * now['m'].get('acc', 0):.1f}; ppl: {exp(now['mean']):5.1f}; xent: {now['mean']:.1f}; "
            f"lr: {now['lr']:.5f}; sents: {self.spec.batch * self.spec.every:7d}; bsz: {self.spec.batch * 6:4d}/"
            f"{self.spec.batch * 6:4d}/{self.spec.batch:2d}; {rate:.0f}/{rate:.0f} tok/s; {now['elapsed']:6.0f} sec;"
        )

    def epoch(self, now):
        head = f"[{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} INFO]"
        self.say(f"{head} valid stats calculation\n{head} Validation perplexity: {exp(now['v']['loss']):g}")
        self.say(f"{head} Validation accuracy: {100 * now['v'].get('acc', 0):g}")


class WordLm(Style):
    def step(self, now):
        self.say(
            f"| epoch {now['epoch'] + 1:3d} | {now['at'] + 1:5d}/{self.per:5d} batches | lr {now['lr']:02.4f} | "
            f"ms/batch {1000 * now['dt']:5.2f} | loss {now['mean']:5.2f} | ppl {exp(now['mean']):8.2f}"
        )

    def epoch(self, now):
        self.say(
            "-" * 89 + f"\n| end of epoch {now['epoch'] + 1:3d} | time: {now['elapsed']:5.2f}s | valid loss "
            f"{now['v']['loss']:5.2f} | valid ppl {exp(now['v']['loss']):8.2f}\n" + "-" * 89
        )


class Flair(Style):
    def line(self, text):
        self.say(f"{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} {text}")

    def start(self):
        for text in ("-" * 100, "Parameters:", f' - learning_rate: "{self.spec.lr}"', "-" * 100):
            self.line(text)

    def step(self, now):
        self.line(
            f"epoch {now['epoch'] + 1} - iter {now['at'] + 1}/{self.per} - loss {now['mean']:.8f} - time (sec): "
            f"{now['elapsed']:.2f} - samples/sec: {self.spec.batch / now['dt']:.2f} - lr: {now['lr']:.6f} - "
            "momentum: 0.0"
        )

    def epoch(self, now):
        self.line("-" * 100)
        self.line(f"EPOCH {now['epoch'] + 1} done: loss {now['train']:.4f} - lr: {now['lr']:.6f}")
        score = now["v"].get("acc", 0.0)
        self.line(f"DEV : loss {now['v']['loss']} - f1-score (micro avg)  {score:.4f}")


class Espnet(Style):
    def head(self):
        return f"[host] {stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} (trainer:762) INFO: "

    def step(self, now):
        at, dt = now["at"] + 1, now["dt"]
        self.say(
            f"{self.head()}{now['epoch'] + 1}epoch:train:{at - self.spec.every + 1}-{at}batch: "
            f"iter_time={now['data']:.3e}, forward_time={0.4 * dt:.3f}, loss_ctc={now['mean']:.3f}, "
            f"cer_ctc={now['m'].get('cer', math.nan):.3f}, loss={now['mean']:.3f}, backward_time={0.5 * dt:.3f}, "
            f"grad_norm={now['norm']:.3f}, clip=0.000e+00, optim_step_time={0.1 * dt:.3f}, "
            f"optim0_lr0={now['lr']:.3e}, train_time={dt:.3f}"
        )

    def epoch(self, now):
        self.say(
            f"{self.head()}{now['epoch'] + 1}epoch results: [train] loss_ctc={now['train']:.3f}, "
            f"loss={now['train']:.3f}, "
            f"optim0_lr0={now['lr']:.3e}, time={now['elapsed']:.2f} seconds, total_count={now['step']}, [valid] "
            f"loss_ctc={now['v']['loss']:.3f}, cer_ctc={now['v'].get('cer', 0):.3f}, loss={now['v']['loss']:.3f}"
        )


class Icefall(Style):
    total_loss = None

    def step(self, now):
        old = now["mean"] if self.total_loss is None else self.total_loss
        self.total_loss = 0.8 * old + 0.2 * now["mean"]
        frames = self.spec.batch * 20
        self.say(
            f"{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} INFO [train.py:527] Epoch {now['epoch'] + 1}, "
            f"batch {now['at'] + 1}, "
            f"loss[loss={now['loss']:.4g}, over {frames:.2f} frames. ], tot_loss[loss={self.total_loss:.4g}, over "
            f"{frames * 10:.2f} frames. ], batch size: {self.spec.batch}, lr: {now['lr']:.2e}, "
        )

    def epoch(self, now):
        self.say(
            f"{stamp('%Y-%m-%d %H:%M:%S,%f')[:-3]} INFO [train.py:561] Epoch {now['epoch'] + 1}, validation: "
            f"loss={now['v']['loss']:.4g}, over 8000.00 frames. "
        )


class Caffe(Style):
    def line(self, source, text):
        self.say(f"I{stamp('%m%d %H:%M:%S.%f')} 18235 {source}] {text}")

    def step(self, now):
        n = self.spec.every
        self.line(
            "solver.cpp:239",
            f"Iteration {now['step']} ({1 / now['dt']:.5g} iter/s, {n * now['dt']:.5g}s/{n} iters), "
            f"loss = {now['loss']:.6g}",
        )
        self.line("solver.cpp:258", f"    Train net output #0: loss = {now['loss']:.6g} (* 1 = {now['loss']:.6g} loss)")
        self.line("sgd_solver.cpp:112", f"Iteration {now['step']}, lr = {now['lr']:g}")

    def epoch(self, now):
        self.line("solver.cpp:347", f"Iteration {now['step']}, Testing net (#0)")
        self.line("solver.cpp:414", f"    Test net output #0: accuracy = {now['v'].get('acc', 0):.6g}")
        v = now["v"]["loss"]
        self.line("solver.cpp:414", f"    Test net output #1: loss = {v:.6g} (* 1 = {v:.6g} loss)")


class Darknet(Style):
    def step(self, now):
        left = (self.total - now["step"]) * now["dt"] / 3600
        self.say(
            f"\n {now['step']}: {now['loss']:.6f}, {now['mean']:.6f} avg loss, {now['lr']:.6f} rate, {now['dt']:.6f} "
            f"seconds, {now['step'] * self.spec.batch} images, {left:.6f} hours left"
        )


class Gluon(Style):
    def step(self, now):
        self.say(
            f"INFO:root:Epoch[{now['epoch']}] Batch [{now['at'] + 1}]\tSpeed: {self.spec.batch / now['dt']:.2f} "
            f"samples/sec\taccuracy={now['m'].get('acc', 0):f}\tcross-entropy={now['mean']:f}"
        )

    def epoch(self, now):
        self.say(f"INFO:root:Epoch[{now['epoch']}] Train-cross-entropy={now['train']:f}")
        self.say(f"INFO:root:Epoch[{now['epoch']}] Time cost={self.per * now['dt']:.3f}")
        self.say(f"INFO:root:Epoch[{now['epoch']}] Validation-accuracy={now['v'].get('acc', 0):f}")
        self.say(f"INFO:root:Epoch[{now['epoch']}] Validation-cross-entropy={now['v']['loss']:f}")


class Flux(Style):
    """Julia: @info with key = value."""

    def epoch(self, now):
        self.say(f"┌ Info: Epoch {now['epoch'] + 1}")
        rows = {"train_loss": now["train"], "test_loss": now["v"]["loss"], "test_acc": now["v"].get("acc", math.nan)}
        rows = {k: v for k, v in rows.items() if not (k == "test_acc" and math.isnan(v))}
        for i, (key, value) in enumerate(rows.items()):
            text = "NaN" if math.isnan(value) else "Inf" if math.isinf(value) else f"{value:.7g}f0"
            self.say(f"{'└' if i + 1 == len(rows) else '│'}   {key} = {text.replace('f0', '')}")


class Luz(Style):
    """R: luz over torch."""

    def epoch(self, now):
        acc = f" - Acc: {now['v']['acc']:.4f}" if "acc" in now["v"] else ""
        self.say(f"Epoch {now['epoch'] + 1}/{self.epochs}\nTrain metrics: Loss: {now['train']:.4f}")
        self.say(f"Valid metrics: Loss: {now['v']['loss']:.4f}{acc}")


class LibTorch(Style):
    def step(self, now):
        done, rows = (now["at"] + 1) * self.spec.batch, self.per * self.spec.batch
        self.say(f"\rTrain Epoch: {now['epoch'] + 1} [{done:5d}/{rows:5d}] Loss: {now['loss']:.4f}")

    def epoch(self, now):
        self.say(f"\nTest set: Average loss: {now['v']['loss']:.4f} | Accuracy: {now['v'].get('acc', 0):.3f}")


class Dcgan(Style):
    def step(self, now):
        m = now["m"]
        self.say(
            f"[{now['epoch']}/{self.epochs}][{now['at']}/{self.per}]\tLoss_D: {m['D']:.4f}\tLoss_G: {m['G']:.4f}\t"
            f"D(x): {m['Dx']:.4f}\tD(G(z)): {m['DGz1']:.4f} / {m['DGz2']:.4f}"
        )


class GanBar(Style):
    """The other way to print a GAN."""

    def step(self, now):
        m = now["m"]
        self.say(
            f"[Epoch {now['epoch']}/{self.epochs}] [Batch {now['at']}/{self.per}] [D loss: {m['D']:f}] "
            f"[G loss: {m['G']:f}]"
        )


class VaeExample(Style):
    def step(self, now):
        done, rows = now["at"] * self.spec.batch, self.per * self.spec.batch
        m = now["m"]
        self.say(
            f"Train Epoch: {now['epoch'] + 1} [{done}/{rows} ({100 * done / rows:.0f}%)]\tLoss: {now['loss']:.6f}\t"
            f"BCE: {m['BCE']:.4f}\tKLD: {m['KLD']:.4f}"
        )

    def epoch(self, now):
        self.say(f"====> Epoch: {now['epoch'] + 1} Average loss: {now['train']:.4f}")
        self.say(f"====> Test set loss: {now['v']['loss']:.4f}")


class Seq2Seq(Style):
    def step(self, now):
        left = now["elapsed"] * (self.total - now["step"]) / now["step"]
        share = 100 * now["step"] / self.total
        self.say(
            f"{now['elapsed'] // 60:.0f}m {now['elapsed'] % 60:.0f}s (- {left // 60:.0f}m {left % 60:.0f}s) "
            f"({now['step']} {share:.0f}%) {now['mean']:.4f}"
        )


class CharRnn(Style):
    smooth = None

    def step(self, now):
        self.smooth = now["mean"] if self.smooth is None else self.smooth * 0.9 + now["mean"] * 0.1
        self.say(f"iter {now['step']}, loss: {self.smooth * 20:f}")


class PrintDict(Style):
    def step(self, now):
        self.say(
            {"step": now["step"], "loss": round(now["mean"], 5), **{k: round(v, 5) for k, v in now["m"].items()}}
            | {"lr": now["lr"], "grad_norm": round(now["norm"], 5)}
        )

    def epoch(self, now):
        self.say({"epoch": now["epoch"] + 1, **{f"val_{k}": round(v, 5) for k, v in now["v"].items()}})


class Logfmt(Style):
    def line(self, message, **row):
        text = " ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
        self.say(f'ts={stamp("%Y-%m-%dT%H:%M:%S.%f")[:-3]}Z level=info msg="{message}" {text}')

    def step(self, now):
        more = {"rss_mb": now["rss"]} if now["rss"] else {}
        self.line(
            *("train step",),
            **{"step": now["step"], "loss": now["mean"], "lr": now["lr"], "grad_norm": now["norm"]},
            **{"step_time_ms": 1000 * now["dt"], "data_time_ms": 1000 * now["data"], **more},
        )

    def epoch(self, now):
        self.line("validation", epoch=now["epoch"] + 1, **{f"val_{k}": v for k, v in now["v"].items()})


class Ddpm(Style):
    """A bar of tqdm that is redrawn in place."""

    def step(self, now):
        share = now["step"] / self.total
        bar = "█" * int(10 * share) + " " * (10 - int(10 * share))
        rate = now["step"] / max(1e-6, now["elapsed"])
        left = int((self.total - now["step"]) / rate)
        print(
            f"\rloss: {now['mean']:.4f}: {100 * share:3.0f}%|{bar}| {now['step']}/{self.total} "
            f"[{int(now['elapsed']) // 60:02d}:{int(now['elapsed']) % 60:02d}<"
            f"{left // 60:02d}:{left % 60:02d}, {rate:.2f}it/s]",
            end="",
            flush=True,
        )

    def end(self):
        print("\ntraining complete")


class SpeechBrain(Style):
    def epoch(self, now):
        more = "".join(f", valid {k.upper()}: {v:.2e}" for k, v in now["v"].items() if k != "loss")
        line = f"epoch: {now['epoch'] + 1}, lr: {now['lr']:.2e} - train loss: {now['train']:.2e} - valid loss: "
        self.say(f"speechbrain.utils.train_logger - {line}{now['v']['loss']:.2e}{more}")
        with open("train_log.txt", "a") as f:
            f.write(f"{line}{now['v']['loss']:.2e}{more}\n")


class Recommender(Style):
    def epoch(self, now):
        measure = {k: v for k, v in now["v"].items() if k != "loss"}
        text = ", ".join(f"{k} = {v:.4f}" for k, v in measure.items())
        self.say(f"Iteration {now['epoch']} [{self.per * now['dt']:.1f} s]: {text}, loss = {now['train']:.4f}")
