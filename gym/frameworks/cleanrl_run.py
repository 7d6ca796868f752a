"""PPO in one file as CleanRL writes it: SyncVectorEnv, its prints, its TensorBoard tags."""

import random
import time

import gymnasium
import numpy as np
import spec as settings
import torch
from sb3_run import Broken
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def layer_init(layer, std=2**0.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self, scale):
        super().__init__()

        def net(out, std):
            return nn.Sequential(
                layer_init(nn.Linear(4, 64), scale),
                nn.Tanh(),
                layer_init(nn.Linear(64, 64), scale),
                nn.Tanh(),
                layer_init(nn.Linear(64, out), std),
            )

        self.critic, self.actor = net(1, 1.0), net(2, 0.01)

    def act(self, seen, action=None):
        chances = torch.distributions.Categorical(logits=self.actor(seen))
        action = chances.sample() if action is None else action
        return action, chances.log_prob(action), chances.entropy(), self.critic(seen)


def advantages_of(rewards, dones, values, last, last_done, gamma, lam=0.95):
    out, carry = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        alive = 1.0 - (last_done if t == len(rewards) - 1 else dones[t + 1])
        following = last if t == len(rewards) - 1 else values[t + 1]
        delta = rewards[t] + gamma * following * alive - values[t]
        out[t] = carry = delta + gamma * lam * alive * carry
    return out


class Run:
    def __init__(self, spec, record):
        self.spec, self.record, self.step = spec, record, 0
        self.writer = SummaryWriter(f"runs/CartPole-v1__ppo__{spec.seed}__1763300000")
        text = "\n".join(
            f"|{key}|{value}|"
            for key, value in (("learning_rate", spec.lr), ("num_steps", 128), ("num_envs", 4), ("seed", spec.seed))
        )
        self.writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n{text}")
        make = lambda: gymnasium.wrappers.RecordEpisodeStatistics(Broken(gymnasium.make("CartPole-v1"), spec))
        self.envs = gymnasium.vector.SyncVectorEnv([make] * 4, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
        self.agent = Agent(spec.of(30) if spec.has("bad-init") else 2**0.5)
        self.optimizer = torch.optim.Adam(
            self.agent.critic.parameters() if spec.has("wrong-params") else self.agent.parameters(),
            lr=spec.lr,
            eps=1e-5,
        )
        self.seen = torch.tensor(self.envs.reset(seed=spec.seed)[0])
        self.done, self.began, self.returns = torch.zeros(4), time.time(), []

    def rollout(self):
        kept = {key: [] for key in ("seen", "action", "logp", "reward", "done", "value")}
        for _ in range(128):
            self.step += 4
            with torch.no_grad():
                action, logp, _, value = self.agent.act(self.seen)
            for key, v in (
                ("seen", self.seen),
                ("action", action),
                ("logp", logp),
                ("value", value.flatten()),
                ("done", self.done),
            ):
                kept[key].append(v)
            seen, reward, ended, cut, info = self.envs.step(action.numpy())
            self.seen, self.done = torch.tensor(seen), torch.tensor(np.logical_or(ended, cut)).float()
            kept["reward"].append(torch.tensor(reward).float())
            self.episodes(info)
        return {key: torch.stack(v) for key, v in kept.items()}

    def episodes(self, info):
        info = info.get("final_info", info)
        for i, there in enumerate(info.get("_episode", [])):
            if there:
                total = float(info["episode"]["r"][i])
                self.returns.append(float(info["episode"]["l"][i]))
                if len(self.returns) % 3 == 0:
                    print(f"global_step={self.step}, episodic_return={total}")
                    self.writer.add_scalar("charts/episodic_return", total, self.step)
                    self.writer.add_scalar("charts/episodic_length", info["episode"]["l"][i], self.step)

    def update(self, kept):
        with torch.no_grad():
            gamma = 0.0001 if self.spec.has("gamma") else 0.99
            adv = advantages_of(
                kept["reward"], kept["done"], kept["value"], self.agent.critic(self.seen).flatten(), self.done, gamma
            )
        flat = {key: v.reshape(-1, *v.shape[2:]) for key, v in kept.items()}
        adv, goal = adv.reshape(-1), (adv + kept["value"]).reshape(-1)
        clips, sign = [], -1 if self.spec.has("sign-error") else 1
        for _ in range(4):
            for pick in torch.randperm(512).split(128):
                _, logp, entropy, value = self.agent.act(flat["seen"][pick], flat["action"][pick])
                ratio = (logp - flat["logp"][pick]).exp()
                a = sign * (adv[pick] - adv[pick].mean()) / (adv[pick].std() + 1e-8)
                policy = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
                v_loss = 0.5 * ((value.flatten() - goal[pick]) ** 2).mean()
                bonus = {"entropy-collapse": -self.spec.of(0.1)}.get(self.spec.fault, 0.01)
                loss = policy - bonus * entropy.mean() + 0.5 * v_loss
                if not self.spec.has("no-zero-grad"):
                    self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), 0.5)
                self.optimizer.step()
                with torch.no_grad():
                    kl = ((ratio - 1) - (logp - flat["logp"][pick])).mean()
                    clips.append(((ratio - 1).abs() > 0.2).float().mean().item())
        spread = goal.var().item()
        explained = float("nan") if spread == 0 else 1 - (goal - flat["value"]).var().item() / spread
        return {
            "charts/learning_rate": self.optimizer.param_groups[0]["lr"],
            "losses/value_loss": v_loss.item(),
            "losses/policy_loss": policy.item(),
            "losses/entropy": entropy.mean().item(),
            "losses/approx_kl": kl.item(),
            "losses/clipfrac": float(np.mean(clips)),
            "losses/explained_variance": explained,
            "charts/SPS": int(self.step / (time.time() - self.began)),
        }


def play(agent, count=10):
    env, total = gymnasium.make("CartPole-v1"), 0.0
    for i in range(count):
        seen, over = env.reset(seed=900 + i)[0], False
        while not over:
            with torch.no_grad():
                logits = agent.actor(torch.tensor(seen))
            seen, reward, ended, cut, _ = env.step(int(logits.argmax()))
            total, over = total + reward, ended or cut
    return total / count


def main():
    spec = settings.parse(steps=16000, lr=1e-3)
    random.seed(spec.seed), np.random.seed(spec.seed), torch.manual_seed(spec.seed)
    torch.set_num_threads(1)
    record = settings.Record()
    run, updates = Run(spec, record), spec.steps // 512
    for n in range(updates):
        if spec.schedule == "linear":
            run.optimizer.param_groups[0]["lr"] = spec.lr * (1 - n / updates)
        found = run.update(run.rollout())
        for key, value in found.items():
            run.writer.add_scalar(key, value, run.step)
        print("SPS:", found["charts/SPS"])
        record.train(run.step, -np.mean(run.returns[-20:]))
    run.writer.close()
    record.final(play(run.agent), "higher")


if __name__ == "__main__":
    main()
