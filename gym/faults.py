"""The faults: their names, what should be seen, what is the cause, and the mechanisms that several trainers share.

A fault lives in data, model, settings or process. Nothing here touches a logged number.
"""

import json
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import task

HF, SFT, GRPO, DPO, TORCH = "hf", "sft", "grpo", "dpo", "torch"
LIGHTNING, ACCELERATE, DEEPSPEED = "lightning", "accelerate", "deepspeed"


@dataclass(frozen=True)
class Fault:
    name: str
    trainers: tuple
    findings: str  # comma list: any one is right
    cause: str  # comma list: the true one first, then those the files cannot tell from it
    what: str


BLOWUP = "loss/divergence,grad/explosion,loss/non-finite,grad/non-finite,loss/not-decreasing"
FLAT = "loss/not-decreasing,loss/plateau"

FAULTS = [
    Fault(
        "lr-too-high",
        (HF, SFT, GRPO, DPO, TORCH, LIGHTNING, ACCELERATE, DEEPSPEED),
        BLOWUP,
        "lr-too-high",
        "learning rate 30-300 times too high",
    ),
    Fault(
        "no-warmup",
        (HF, TORCH),
        BLOWUP + ",lr/no-warmup",
        "no-warmup,lr-too-high",
        "peak learning rate from step 1 on a post-norm model that a warm-up carries through",
    ),
    Fault(
        "no-clipping",
        (HF, TORCH),
        BLOWUP + ",grad/unstable,grad/spike,loss/spike",
        "no-clipping,lr-too-high",
        "clipping off with heavy-tailed sample weights, at a rate that clipping carries through",
    ),
    Fault(
        "nonfinite-input",
        (HF, TORCH),
        "loss/non-finite,grad/non-finite,data/non-finite",
        "bad-sample,layer-numerics",
        "one batch holds a NaN or inf among its input features",
    ),
    Fault(
        "log-zero-layer",
        (HF, SFT, TORCH),
        "loss/non-finite,grad/non-finite",
        "layer-numerics,bad-sample",
        "a layer takes log() of a coefficient that anneals to 0",
    ),
    Fault(
        "nan-hidden",
        (HF, SFT),
        "loss/non-finite,grad/non-finite",
        "bad-sample,layer-numerics",
        "a NaN that the trainer's logging filter replaces by 0 or an average",
    ),
    Fault(
        "labels-masked",
        (HF, SFT, TORCH),
        "data/labels-masked,loss/collapse,grad/zero,loss/non-finite",
        "label-masking",
        "every label is -100",
    ),
    Fault(
        "labels-shuffled",
        (HF, SFT, TORCH, ACCELERATE),
        FLAT,
        "wrong-targets,frozen-params,objective-mismatch",
        "targets belong to other inputs",
    ),
    Fault(
        "frozen-params",
        (HF, SFT, TORCH),
        FLAT,
        "frozen-params,wrong-targets,lr-too-low",
        "only an irrelevant tensor trains, or the optimizer holds another model's parameters",
    ),
    Fault(
        "lr-zero",
        (HF, SFT, GRPO, TORCH),
        "lr/zero,loss/not-decreasing",
        "lr-zero",
        "learning rate 0, or reaches it early",
    ),
    Fault(
        "lr-too-low",
        (HF, SFT, TORCH),
        FLAT + ",lr/out-of-range",
        "lr-too-low,frozen-params",
        "learning rate a thousandth of what the model needs",
    ),
    Fault(
        "overfit",
        (HF, SFT, TORCH, LIGHTNING),
        "loss/overfit",
        "overfitting",
        "tiny train set, many epochs, a real eval set",
    ),
    Fault("schedule-break", (HF, TORCH), "lr/schedule-break", "bad-schedule", "the scheduler is made again in mid run"),
    Fault(
        "resume-no-optimizer",
        (HF, TORCH),
        "resume/optimizer-reset,resume/schedule-restart,lr/schedule-break,loss/resume-jump,resume/incomplete-checkpoint",
        "optimizer-not-saved,scheduler-not-saved",
        "resumed from a checkpoint that holds weights only",
    ),
    Fault(
        "bad-sample",
        (HF, SFT, TORCH),
        "loss/spike,grad/spike",
        "bad-sample,bad-batch-state",
        "one batch of garbage; the run recovers",
    ),
    Fault(
        "fp16-overflow",
        (TORCH,),
        "numerics/loss-scale-collapse",
        "fp16-overflow",
        "activations beyond 65504 under fp16 autocast; every step skipped, the loss scale halves",
    ),
    Fault(
        "reward-constant",
        (GRPO,),
        "rl/reward-flat,rl/no-signal,grad/zero",
        "reward-broken,task-too-hard",
        "the reward function looks for a form that no completion has",
    ),
    Fault(
        "zero-variance-groups",
        (GRPO,),
        "rl/no-signal,grad/zero",
        "reward-broken",
        "the reward depends on the prompt alone",
    ),
    Fault(
        "entropy-collapse",
        (GRPO,),
        "rl/entropy-collapse",
        "mode-collapse,lr-too-high",
        "high learning rate, no KL term, low temperature",
    ),
    Fault(
        "completions-truncated",
        (GRPO,),
        "rl/truncated",
        "max-length-too-short",
        "max_completion_length far below what an answer needs",
    ),
    Fault(
        "kl-blowup",
        (GRPO,),
        "rl/kl-blowup",
        "lr-too-high,mode-collapse,reward-hacking",
        "tiny KL weight and a learning rate far too high",
    ),
    Fault(
        "preference-shuffled",
        (DPO,),
        "rl/preference-no-signal,loss/not-decreasing",
        "wrong-targets",
        "chosen and rejected are swapped at random",
    ),
    Fault(
        "crash-shape-mismatch",
        (TORCH,),
        "log/shape-mismatch-checkpoint,log/uncaught-exception",
        "bad-config,version-mismatch",
        "a checkpoint of another width is loaded",
    ),
    Fault(
        "crash-matmul",
        (HF,),
        "log/uncaught-exception,log/tensor-mismatch,log/tensor-shapes",
        "bad-config,architecture-bug",
        "a head of the wrong input width",
    ),
    Fault(
        "crash-reward-import",
        (GRPO,),
        "log/reward-module-missing,log/module-missing",
        "missing-file-or-module",
        "the reward module cannot be imported",
    ),
    Fault(
        "crash-empty-dataset",
        (HF, SFT, TORCH),
        "log/empty-dataset",
        "bad-config,label-masking",
        "a filter left no samples",
    ),
    Fault(
        "crash-token-range",
        (HF, TORCH),
        "log/index-out-of-range,data/token-out-of-range",
        "bad-config,bad-sample",
        "a token id beyond the embedding",
    ),
    Fault("crash-no-pad-token", (HF,), "log/no-pad-token", "bad-config", "the tokenizer has no pad token"),
    Fault(
        "crash-generations",
        (GRPO,),
        "log/generation-batch-indivisible,log/config-rejected",
        "bad-config",
        "batch not divisible by num_generations",
    ),
    Fault("crash-interrupted", (HF, TORCH), "log/interrupted", "", "Ctrl-C in mid run"),
]
BY_NAME = {fault.name: fault for fault in FAULTS}


def print_list(as_json):
    if as_json:
        rows = [
            {
                "name": f.name,
                "trainers": f.trainers,
                "findings": f.findings.split(","),
                "cause": f.cause.split(",")[0],
                "what": f.what,
            }
            for f in FAULTS
        ]
        print(json.dumps(rows, indent=1))
        return
    for f in FAULTS:
        print(f"{f.name:22} {','.join(f.trainers):24} {f.what}")


# --- data -----------------------------------------------------------------------------------------------------------


def masked_labels(rows):
    """As left by a template whose answer marker is never found: nothing is trained on."""
    return np.full_like(rows, task.IGNORE)


def shuffled_labels(rows, rng):
    """As left by shuffling inputs and targets apart: each row gets another row's labels, at other positions."""
    return rng.permuted(rows[rng.permutation(len(rows))], axis=1)


def garbage_rows(count, length, vocab, rng):
    """As left by a corrupt shard: two ids, endlessly."""
    pair = rng.integers(0, vocab, 2)
    return np.where(rng.random((count, length)) < 0.5, pair[0], pair[1])


def clean_features(count, length, rng):
    return rng.normal(0, 0.1, (count, length)).astype(np.float32)


def heavy_weights(count, rng, tail):
    """Importance weights that nobody capped: most near 1, a few in the hundreds (Pareto)."""
    weights = 1.0 + rng.pareto(tail, count)
    return (weights / np.median(weights)).astype(np.float32)


# --- model ----------------------------------------------------------------------------------------------------------


class AnnealedLogGate(nn.Module):
    """Scales by 1 + 0.1 log(tau), where tau anneals from 1 to 0 over `steps` training passes; then log(0)."""

    def __init__(self, steps):
        super().__init__()
        self.steps, self.passes = steps, 1  # tau is 0 in pass number `steps`

    def forward(self, x):
        tau = torch.tensor(max(0.0, 1.0 - self.passes / self.steps), dtype=x.dtype)
        if self.training:
            self.passes += 1
        return x * (1.0 + 0.1 * torch.log(tau))


class GatedLayer(nn.Module):
    """Puts an AnnealedLogGate behind a layer of a library model."""

    def __init__(self, inner, steps):
        super().__init__()
        self.inner, self.gate = inner, AnnealedLogGate(steps)

    def forward(self, *args, **kwargs):
        return self.gate(self.inner(*args, **kwargs))


def uninitialised_row(embedding, token):
    """As left by growing an embedding without initialising the new row: the memory happened to hold NaN."""
    with torch.no_grad():
        embedding.weight[token] = float("nan")


def freeze_all_but(model, part):
    """Leaves trainable only the tensors whose name holds `part`."""
    for name, tensor in model.named_parameters():
        tensor.requires_grad_(part in name)
