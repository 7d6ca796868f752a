"""A run of axolotl on the CPU: what it prints, its settings, its event file and the state of its checkpoint.

usage: axolotl_cpu.py FOLDER        the C++ test knows the number of steps
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 16
WORDS = "the a cat dog bird sees hears likes small big red old and then while under over tree house river".split()
SETTINGS = f"""base_model: ./model
model_type: LlamaForCausalLM
tokenizer_type: PreTrainedTokenizerFast
datasets:
  - path: data.jsonl
    ds_type: json
    type: completion
dataset_prepared_path: prepared
val_set_size: 0.05
output_dir: out
sequence_len: 64
micro_batch_size: 2
gradient_accumulation_steps: 2
max_steps: {STEPS}
optimizer: adamw_torch
lr_scheduler: cosine
learning_rate: 0.003
warmup_steps: 4
bf16: false
fp16: false
tf32: false
logging_steps: 1
eval_steps: {STEPS}
save_steps: {STEPS}
use_tensorboard: true
attn_implementation: eager
special_tokens:
  pad_token: <pad>
seed: 1
"""


def make_model(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", "<pad>", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder / "model")
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=3,
    )
    LlamaForCausalLM(config).save_pretrained(folder / "model")


def make_inputs(folder):
    make_model(folder)
    chance = random.Random(1)
    texts = [" ".join(chance.choice(WORDS) for _ in range(40)) for _ in range(160)]
    (folder / "data.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "config.yaml").write_text(SETTINGS)


def without_machine(text, work):
    text = text.replace(work, "/run").replace(os.uname().nodename, "gym")
    return re.sub(r"/[^\s'\"]*/site-packages/", "site-packages/", text)


def run(folder):
    with tempfile.TemporaryDirectory() as work:
        make_inputs(Path(work))
        quiet = {"HF_HUB_OFFLINE": "1", "AXOLOTL_DO_NOT_TRACK": "1", "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(
            [Path(sys.executable).parent / "axolotl", "train", "config.yaml", "--launcher", "python"],
            cwd=work,
            env={**os.environ, **quiet},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            sys.exit(text[-4000:])
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "train.log").write_bytes(without_machine(text, work).encode())
        (folder / "config.yaml").write_text(SETTINGS)
        for path in Path(work).rglob("events.out.tfevents.*"):
            shutil.copy(path, folder / "events.out.tfevents.1760000000.gym.0")
        state = Path(work, "out", f"checkpoint-{STEPS}", "trainer_state.json")
        shutil.copy(state, folder / state.name)


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve())
