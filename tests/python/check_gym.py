"""Computes what the gym's model and optimizer compute, with PyTorch, and compares loss, gradients and AdamW.

usage: check_gym.py DUMP
DUMP is the program tests/python/dump_gym.cc. Exits 77 ("not run") where torch is absent: `bench/peers/install.sh torch`
makes build/torch, which is looked for, as is the environment of the trainers in gym; VIGIL_PYTHON names another.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_RUN = 77
ROOT = Path(__file__).resolve().parents[2]
INTERPRETERS = (ROOT / "build" / "torch" / "bin" / "python", ROOT / "gym" / ".venv" / "bin" / "python")


def read(path, torch):
    """Metadata and tensors of a safetensors file of float32."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, row in header.items():
        begin, end = (8 + length + offset for offset in row["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(row["shape"])
    return metadata, tensors


def loss_of(weights, metadata, torch):
    functional = torch.nn.functional
    context, heads = int(metadata["context"]), int(metadata["heads"])
    inputs, targets = (torch.tensor([int(w) for w in metadata[n].split()]) for n in ("inputs", "targets"))
    inputs = inputs.reshape(-1, context)
    samples, width = inputs.shape[0], weights["embed.tokens"].shape[1]

    def norm(x, name):
        return functional.layer_norm(x, (width,), weight=weights[name], eps=1e-5)

    post = metadata["post_norm"] == "1"

    def read(x, name):
        return x if post else norm(x, name)

    def close(x, name):
        return norm(x, name) if post else x

    x = weights["embed.tokens"][inputs] + weights["embed.positions"]
    for layer in range(int(metadata["layers"])):
        block = f"blocks.{layer}."
        qkv = read(x, block + "norm1") @ weights[block + "attn.qkv"]
        q, k, v = (p.reshape(samples, context, heads, -1).transpose(1, 2) for p in qkv.split(width, dim=-1))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        heads_out = attended.transpose(1, 2).reshape(samples, context, width)
        x = close(x + heads_out @ weights[block + "attn.out"], block + "norm1")
        hidden = functional.gelu(read(x, block + "norm2") @ weights[block + "mlp.up"], approximate="tanh")
        x = close(x + hidden @ weights[block + "mlp.down"], block + "norm2")
    logits = norm(x, "norm") @ weights["head"]
    losses = functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets, reduction="none")
    factors = torch.tensor([float(w) for w in metadata["weights"].split()], dtype=logits.dtype)
    return (losses.reshape(samples, context) * factors[:, None]).mean()


def part(tensors, prefix):
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def adamw(weights, gradients, torch):
    """The weights after two steps with the same gradients; gains and embeddings do not decay."""
    parameters = {name: torch.nn.Parameter(t.double()) for name, t in weights.items()}
    decays = [p for n, p in parameters.items() if p.dim() == 2 and not n.startswith("embed.")]
    rest = [p for n, p in parameters.items() if p.dim() == 1 or n.startswith("embed.")]
    groups = [{"params": decays, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95), eps=1e-8)
    for name, parameter in parameters.items():
        parameter.grad = gradients[name].double()
    optimizer.step()
    optimizer.step()
    return {name: p.detach() for name, p in parameters.items()}


def compare(what, ours, theirs, tolerance):
    """Largest distance relative to the norm of the tensor."""
    worst = 0.0
    for name, t in theirs.items():
        worst = max(worst, ((ours[name].double() - t).norm() / t.norm()).item())
        assert ours[name].shape == t.shape, name
    print(f"{what}: {len(theirs)} tensors, largest relative difference {worst:.2e}")
    assert worst < tolerance, f"{what}: {worst} is not below {tolerance}"


def check(dump, *form):
    import torch

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gym.safetensors")
        subprocess.run([dump, path, *form], check=True)
        metadata, tensors = read(path, torch)
    before, gradients, after = (part(tensors, prefix) for prefix in ("w0.", "g.", "w2."))
    weights = {name: t.double().requires_grad_() for name, t in before.items()}
    loss = loss_of(weights, metadata, torch)
    loss.backward()
    print(f"loss: {metadata['loss']} here, {loss.item()} in PyTorch {torch.__version__}")
    assert abs(loss.item() - float(metadata["loss"])) < 1e-5
    compare("gradients", gradients, {name: t.grad for name, t in weights.items()}, 1e-5)
    compare("AdamW", after, adamw(before, gradients, torch), 1e-5)


def main():
    try:
        import torch  # noqa: F401
    except ImportError:
        there = [str(path) for path in INTERPRETERS if path.exists()]
        other = os.environ.get("VIGIL_PYTHON") or (there[0] if there else "")
        if sys.executable == other or not os.path.exists(other):
            print("not run: torch is absent (bench/peers/install.sh torch)")
            sys.exit(NOT_RUN)
        os.environ["VIGIL_PYTHON"] = other
        os.execv(other, [other, *sys.argv])
    check(sys.argv[1])
    check(sys.argv[1], "post")


if __name__ == "__main__":
    main()
