"""The tasks by name."""

import tasks_generative as generative
import tasks_rl as rl
import tasks_supervised as supervised

TASKS = {
    "lm": supervised.Language,
    "charlm": supervised.CharLanguage,
    "image": supervised.Images,
    "image16": supervised.BigImages,
    "text": supervised.Text,
    "table": supervised.Table,
    "regression": supervised.Regression,
    "regression-1e6": supervised.Regression,
    "regression-1e-7": supervised.Regression,
    "seq2seq": supervised.SequenceToSequence,
    "graph": supervised.Graph,
    "memory": supervised.Memory,
    "multitask": supervised.MultiTask,
    "contrastive": generative.Contrastive,
    "vae": generative.Vae,
    "gan": generative.Gan,
    "diffusion": generative.Diffusion,
    "density": generative.Density,
    "finetune": generative.FineTune,
    "dpo": generative.Preference,
    "dqn": rl.GridQ,
    "cartpole": rl.CartPolicy,
    "bandit": rl.Bandit,
    "grpo": rl.Grpo,
    "modadd": supervised.ModularAddition,
}
SCALES = {"regression-1e6": 1e3, "regression-1e-7": 3e-4}
