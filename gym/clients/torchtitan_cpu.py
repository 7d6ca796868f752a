"""A run of torchtitan on the CPU: what it prints, and its event file.

usage: torchtitan_cpu.py FOLDER        the C++ test knows the number of steps

torchtitan expects an accelerator. What it asks of torch's device module and torch.cpu does not answer (name, memory) is
answered here, and flex attention runs uncompiled, since its compiled form has no backward pass on the CPU. Training,
settings and everything that is written are torchtitan's.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

STEPS = 24
WORDS = "the a cat dog bird sees hears likes small big red old and then while under over tree house river".split()
SETTINGS = {
    "training.steps": STEPS,
    "training.seq-len": 64,
    "training.local-batch-size": 2,
    "lr-scheduler.warmup-steps": 4,
    "validator.freq": 8,
    "validator.steps": 2,
    "validator.dataloader.dataset": "c4_test",
    "debug.seed": 1,
    "dump-folder": "out",
    "metrics.save-tb-folder": "tb",
}
FLAGS = (
    "training.disable-cuda-graphs",
    "metrics.enable-tensorboard",
    "validator.enable",
)


def stand_in_for_an_accelerator():
    import torch
    import torch._utils

    torch._utils._get_available_device_type = lambda: "cpu"
    torch.cpu.get_device_name = lambda device=None: "cpu"
    torch.cpu.current_device = lambda: 0
    torch.cpu.get_device_properties = lambda device=None: types.SimpleNamespace(total_memory=8 << 30)
    torch.cpu.reset_peak_memory_stats = lambda device=None: None
    torch.cpu.empty_cache = lambda: None
    torch.cpu.memory_stats = lambda device=None: {"num_alloc_retries": 0, "num_ooms": 0}


def attend_without_kernels():
    from torch.nn.attention import flex_attention
    from torchtitan.models.common.attention import FlexAttention

    flex_attention._validate_device = lambda *tensors: None
    FlexAttention._compiled_flex_attn = staticmethod(flex_attention.flex_attention)


def make_assets(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers

    assets = folder / "tests" / "assets"
    (assets / "tokenizer").mkdir(parents=True)
    (assets / "c4_test").mkdir()
    vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.save(str(assets / "tokenizer" / "tokenizer.json"))
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True}
    (assets / "tokenizer" / "tokenizer_config.json").write_text(json.dumps(tokens))
    chance = random.Random(1)
    texts = [" ".join(chance.choice(WORDS) for _ in range(40)) for _ in range(2000)]
    (assets / "c4_test" / "data.json").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def train():
    stand_in_for_an_accelerator()
    attend_without_kernels()
    from torchtitan.train import main

    sys.argv = ["train.py", "--module", "llama3", "--config", "llama3_debugmodel"]
    for name, value in SETTINGS.items():
        sys.argv += [f"--{name}", str(value)]
    sys.argv += [f"--{flag}" for flag in FLAGS]
    main()


def run(folder):
    with tempfile.TemporaryDirectory() as work:
        make_assets(Path(work))
        ranks = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29512"}
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--train"],
            cwd=work,
            env={**os.environ, **ranks, "COLUMNS": "120", "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
        )
        text = done.stdout + done.stderr
        if done.returncode != 0:
            sys.exit(text[-4000:])
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "train.log").write_text(without_machine(text, work))
        for path in Path(work).rglob("events.out.tfevents.*"):
            shutil.copy(path, folder / "events.out.tfevents.1760000000.gym.0")


def without_machine(text, work):
    text = text.replace(work, "/run").replace(os.uname().nodename, "gym")
    return re.sub(r"/[^\s'\"]*/site-packages/", "site-packages/", text)


if __name__ == "__main__":
    train() if sys.argv[1] == "--train" else run(Path(sys.argv[1]).resolve())
