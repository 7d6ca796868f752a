"""Reinforcement learning by hand on CartPole: `model` is reinforce, dqn or ppo; `log` chooses the text."""

import collections
import os

import firstset  # noqa: F401
import gymnasium as gym
import numpy as np
import spec as settings
import torch
from torch import nn
from torch.nn import functional as F

ENVS = 8


def mlp(outputs):
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class Poles:
    """Eight poles at once; faults of rewards and observations."""

    def __init__(self, spec):
        self.spec, self.at = spec, 0
        self.env = gym.make_vec("CartPole-v1", num_envs=ENVS, vectorization_mode="vector_entry_point")
        self.seen = self.env.reset(seed=spec.seed)[0]
        self.length = np.zeros(ENVS)
        self.ended = collections.deque(maxlen=30)

    def observe(self):
        return torch.from_numpy(self.hide(self.seen)).float()

    def hide(self, seen):
        if self.spec.has("blind"):
            return np.random.normal(size=seen.shape)
        return seen * (self.spec.of(200) if self.spec.has("unscaled") else 1.0)

    def step(self, action):
        self.seen, reward, over, cut, _ = self.env.step(action)
        self.length += 1
        done = over | cut
        for n in self.length[done]:
            self.ended.append(n)
        self.length[done] = 0
        reward = np.where(over, 0.0, reward)
        if self.spec.has("reward-scale"):
            reward = reward * self.spec.of(1e4)
        if self.spec.has("reward-constant"):
            reward = np.zeros(ENVS)
        if self.spec.has("reward-sign"):
            reward = -reward
        return torch.from_numpy(reward).float(), torch.from_numpy(done).float()

    def score(self):
        return float(np.mean(self.ended)) if self.ended else 0.0


def ppo(spec, say):
    poles, actor, critic = Poles(spec), mlp(2), mlp(1)
    params = [*actor.parameters(), *critic.parameters()]
    if spec.has("wrong-params"):
        params = list(mlp(2).parameters())
    optimizer = torch.optim.Adam(params, spec.lr)
    bonus = spec.of(-0.3) if spec.has("entropy-collapse") else spec.of(3.0) if spec.has("entropy-high") else 0.01
    for turn in range(1, spec.steps + 1):
        kept = []
        for _ in range(64):
            o = poles.observe()
            with torch.no_grad():
                p = torch.distributions.Categorical(logits=actor(o))
                a = p.sample()
                kept.append((o, a, p.log_prob(a), critic(o)[:, 0], *poles.step(a.numpy())))
        o, a, logp, v, r, d = (torch.stack(part) for part in zip(*kept, strict=True))
        with torch.no_grad():
            last = critic(poles.observe())[:, 0]
        adv, run, following = torch.zeros_like(r), torch.zeros(ENVS), last
        for t in reversed(range(64)):
            delta = r[t] + 0.99 * following * (1 - d[t]) - v[t]
            adv[t] = run = delta + 0.99 * 0.95 * (1 - d[t]) * run
            following = v[t]
        back = adv + v
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        if spec.has("sign-error"):
            adv = -adv
        o, a, logp, adv, back = (part.flatten(0, 1) for part in (o, a, logp, adv, back))
        for _ in range(4):
            for rows in torch.randperm(64 * ENVS).split(128):
                p = torch.distributions.Categorical(logits=actor(o[rows]))
                new = p.log_prob(a[rows])
                ratio = (new - logp[rows]).exp()
                gain = torch.min(ratio * adv[rows], ratio.clamp(0.8, 1.2) * adv[rows]).mean()
                loss_v = F.mse_loss(critic(o[rows])[:, 0], back[rows])
                entropy = p.entropy().mean()
                optimizer.zero_grad()
                (-gain + 0.5 * loss_v - bonus * entropy).backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimizer.step()
        kl = ((ratio - 1) - (new - logp[rows])).mean().item()
        say(turn, poles, LossPi=-gain.item(), LossV=loss_v.item(), Entropy=entropy.item(), KL=kl)
    return poles


def reinforce(spec, say):
    poles, policy = Poles(spec), mlp(2)
    optimizer = torch.optim.Adam(policy.parameters(), spec.lr)
    for episode in range(1, spec.steps + 1):
        poles.seen = poles.env.reset()[0]
        poles.length[:] = 0
        logs, rewards, alive = [], [], torch.ones(ENVS)
        for _ in range(200):
            p = torch.distributions.Categorical(logits=policy(poles.observe()))
            a = p.sample()
            r, d = poles.step(a.numpy())
            logs.append(p.log_prob(a) * alive)
            rewards.append(r * alive)
            alive = alive * (1 - d)
            if not alive.any():
                break
        back, run = [], torch.zeros(ENVS)
        for r in reversed(rewards):
            run = r + 0.99 * run
            back.insert(0, run)
        back = torch.stack(back)
        back = (back - back.mean()) / (back.std() + 1e-8)
        loss = -(torch.stack(logs) * (-back if spec.has("sign-error") else back)).sum() / ENVS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(episode, poles, loss=loss.item(), last=float(len(rewards)))
    return poles


def dqn(spec, say):
    poles, online, target = Poles(spec), mlp(2), mlp(2)
    optimizer = torch.optim.Adam(online.parameters(), spec.lr)
    memory = collections.deque(maxlen=4000)
    for turn in range(1, spec.steps + 1):
        share = max(0.05, 1 - turn / (0.4 * spec.steps))
        share = 1.0 if spec.has("too-much-exploration") else 0.0 if spec.has("no-exploration") else share
        o = poles.observe()
        with torch.no_grad():
            a = torch.where(torch.rand(ENVS) < share, torch.randint(0, 2, (ENVS,)), online(o).argmax(1))
        r, d = poles.step(a.numpy())
        memory.extend(zip(o, a, r, poles.observe(), d, strict=True))
        if len(memory) < 200:
            continue
        o, a, r, o2, d = (
            torch.stack(p) for p in zip(*[memory[i] for i in np.random.randint(len(memory), size=64)], strict=True)
        )
        with torch.no_grad():
            ahead = (online if spec.has("no-target") else target)(o2).max(1).values
            goal = r + (spec.of(1.05) if spec.has("gamma") else 0.98) * ahead * (1 - d)
        loss = F.mse_loss(online(o).gather(1, a[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if turn % 50 == 0:
            target.load_state_dict(online.state_dict())
        say(turn, poles, loss=loss.item(), eps=share, q=ahead.mean().item())
    return poles


class Say:
    """Text of a known script; the record keeps the length of episodes with its sign turned, so that lower is better."""

    def __init__(self, spec, record):
        self.spec, self.record = spec, record

    def __call__(self, turn, poles, **m):
        if turn % self.spec.every:
            return
        self.record.train(turn, -poles.score())
        getattr(self, self.spec.log)(turn, poles, m)

    def spinup(self, turn, poles, m):
        row = {"Epoch": turn, "AverageEpRet": poles.score(), "MaxEpRet": max(poles.ended, default=0)} | m
        row |= {"TotalEnvInteracts": turn * 64 * ENVS}
        print("-" * 39)
        for key, value in row.items():
            print(f"| {key:>17} | {value:>13.3g} |")
        print("-" * 39, flush=True)
        fresh = not os.path.exists("progress.txt")
        with open("progress.txt", "a") as f:
            if fresh:
                f.write("\t".join(row) + "\n")
            f.write("\t".join(map(str, row.values())) + "\n")

    def example(self, turn, poles, m):
        print(f"Episode {turn}\tLast reward: {m['last']:.2f}\tAverage reward: {poles.score():.2f}", flush=True)

    def frames(self, turn, poles, m):
        print(
            f"frame {turn * ENVS}: mean reward {poles.score():.3f}, eps {m['eps']:.2f}, loss {m['loss']:.5f}, "
            f"mean q {m['q']:.3f}",
            flush=True,
        )


def main():
    spec = settings.parse(lr=1e-3, steps=60, every=1, model="ppo", log="spinup")
    np.random.seed(spec.seed)
    torch.manual_seed(spec.seed)
    torch.set_num_threads(1)
    record = settings.Record()
    poles = {"ppo": ppo, "reinforce": reinforce, "dqn": dqn}[spec.model](spec, Say(spec, record))
    record.final(poles.score(), "higher")


if __name__ == "__main__":
    main()
