"""stable-baselines3: PPO, A2C and DQN on a cart-pole; stdout tables, progress.csv, TensorBoard."""

import gymnasium
import numpy as np
import spec as settings
import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

KINDS = {"ppo": stable_baselines3.PPO, "a2c": stable_baselines3.A2C, "dqn": stable_baselines3.DQN}


class Broken(gymnasium.Wrapper):
    """Faults of the environment."""

    def __init__(self, env, spec):
        super().__init__(env)
        self.settings, self.count = spec, 0

    def reset(self, **kwargs):
        seen, info = self.env.reset(**kwargs)
        return self._seen(seen), info

    def _seen(self, seen):
        if self.settings.has("blind"):
            return np.zeros_like(seen)
        if self.settings.has("unscaled"):
            return (seen * self.settings.of(1e4)).astype(np.float32)
        return seen

    def step(self, action):
        self.count += 1
        settings.before_step(self.settings, self.count)
        seen, reward, done, cut, info = self.env.step(action)
        if self.settings.has("reward-constant"):
            reward = 0.0
        if self.settings.has("reward-sign"):
            reward = -reward
        if self.settings.has("nan-sample") and self.count == self.settings.onset:
            seen = seen * np.nan
        return self._seen(seen), reward, done, cut, info


class Watch(BaseCallback):
    def __init__(self, record):
        super().__init__()
        self.record = record

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        lengths = [e["r"] for e in self.model.ep_info_buffer]
        if lengths:
            self.record.train(self.num_timesteps, -np.mean(lengths))


def main():
    spec = settings.parse(model="ppo", steps=12000, lr=1e-3, log="stdout,csv")
    torch.set_num_threads(1)
    record = settings.Record()
    env = DummyVecEnv(
        [lambda: Monitor(Broken(gymnasium.make("CartPole-v1"), spec)) for _ in range(4 if spec.model != "dqn" else 1)]
    )
    more = {"n_steps": 128, "batch_size": 128, "n_epochs": 8} if spec.model == "ppo" else {}
    if spec.model == "dqn":
        more = {
            "buffer_size": 20000,
            "learning_starts": 500,
            "train_freq": 8,
            "gradient_steps": 8,
            "batch_size": 64,
            "target_update_interval": 500 if not spec.has("no-target") else 1,
            "exploration_fraction": 0.3,
            "exploration_final_eps": 0.05,
        }
    if spec.model in ("ppo", "a2c"):
        more["ent_coef"] = {"entropy-collapse": -spec.of(0.1), "entropy-high": spec.of(1.0)}.get(spec.fault, 0.0)
    if spec.has("gamma"):
        more["gamma"] = spec.of(0.0001)
    if spec.has("clip-off"):
        more.update(max_grad_norm=1e9, clip_range=100.0)
    rate = spec.lr if spec.schedule != "linear" else (lambda left: spec.lr * left)
    model = KINDS[spec.model]("MlpPolicy", env, learning_rate=rate, seed=spec.seed, verbose=1, **more)
    if spec.has("frozen"):
        for p in model.policy.parameters():
            p.requires_grad = False
        for p in model.policy.value_net.parameters():
            p.requires_grad = True
    if spec.log != "stdout":
        model.set_logger(configure("logs", spec.log.split(",")))
    model.learn(spec.steps, callback=Watch(record), log_interval=1 if spec.model == "ppo" else spec.every)
    true = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))])
    record.final(evaluate_policy(model, true, 10, deterministic=True)[0], "higher")


if __name__ == "__main__":
    main()
