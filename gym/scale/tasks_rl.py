"""Value-based and policy RL in worlds of our own."""

import copy

import numpy as np
import torch
from models import Mlp
from task_base import Task
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional


class Rl(Task):
    tags = frozenset({"rl"})
    optimizers = ("adam", "adamw", "rmsprop")
    measure_name = "return"

    def make_data(self):
        self.world_rng = np.random.default_rng(self.s.seed + 5)
        self.reward_constant = False
        self.reward_noise = 0.0
        self.last = {}
        self.train = {"x": torch.zeros(1)}
        torch.manual_seed(self.s.seed + 11)

    def start(self, shuffle=True):
        del shuffle

    def shape_reward(self, reward):
        if self.reward_constant:
            reward = np.zeros_like(reward)
        if self.reward_noise:
            reward = reward + self.world_rng.normal(0, self.reward_noise, reward.shape)
        return reward * self.s.reward_scale

    def evaluate(self):
        return {"eval_reward": self.measure()}


class GridQ(Rl):
    """DQN on a 4x4 grid: walk to the far corner; reward 1 there, -0.02 a step."""

    words = "value-based RL (DQN, gridworld)"
    models = ("mlp",)
    tags = frozenset({"rl", "dqn"})
    steps, batches = (700, 1500), (32, 64)
    lr_scale = 0.5
    side, limit = 4, 20

    def make_data(self):
        super().make_data()
        self.chance, self.best = 0.05, 0.93
        self.epsilon_floor, self.epsilon_start = 0.1, 1.0
        self.target_every = 50
        self.memory, self.fill = None, 0
        self.envs = 4
        self.place = self.world_rng.integers(0, 15, self.envs)
        self.age, self.got = np.zeros(self.envs, int), np.zeros(self.envs)
        self.returns, self.count = [], 0

    def make_model(self):
        self.model = Mlp(self.side**2, 48, 1, 4)
        self.target = copy.deepcopy(self.model)

    def one_hot(self, place):
        return torch.eye(16)[torch.as_tensor(place)]

    def walk(self, place, action):
        row, col = place // 4, place % 4
        row = np.clip(row + np.where(action == 0, -1, np.where(action == 1, 1, 0)), 0, 3)
        col = np.clip(col + np.where(action == 2, -1, np.where(action == 3, 1, 0)), 0, 3)
        new = row * 4 + col
        done = new == 15
        return new, np.where(done, 1.0, -0.02), done

    def next_batch(self):
        rng = self.world_rng
        if self.memory is None:
            self.memory = [
                np.zeros(2000, int),
                np.zeros(2000, int),
                np.zeros(2000),
                np.zeros(2000, int),
                np.zeros(2000),
            ]
        self.count += 1
        epsilon = max(self.epsilon_floor, self.epsilon_start * (1 - self.count / (0.5 * self.s.steps)))
        with torch.no_grad():
            best = self.model(self.one_hot(self.place)).argmax(1).numpy()
        action = np.where(rng.random(self.envs) < epsilon, rng.integers(0, 4, self.envs), best)
        new, reward, done = self.walk(self.place, action)
        self.got += reward
        self.age += 1
        seen = self.shape_reward(reward)
        for i in range(self.envs):
            at = self.fill % 2000
            for store, value in zip(self.memory, (self.place[i], action[i], seen[i], new[i], done[i]), strict=True):
                store[at] = value
            self.fill += 1
        over = done | (self.age >= self.limit)
        self.returns += self.got[over].tolist()
        self.place = np.where(over, rng.integers(0, 15, self.envs), new)
        self.age[over], self.got[over] = 0, 0
        rows = rng.integers(0, min(self.fill, 2000), self.s.batch)
        self.last = {"epsilon": epsilon, "reward": float(np.mean(self.returns[-30:])) if self.returns else 0.0}
        return {"m": [store[rows] for store in self.memory], "x": self.one_hot(self.memory[0][rows])}

    def loss(self, batch):
        _, action, reward, new, done = batch["m"]
        q = self.model(batch["x"]).gather(1, torch.as_tensor(action)[:, None])[:, 0]
        with torch.no_grad():
            after = self.target(self.one_hot(new)).max(1)[0]
            goal = torch.as_tensor(reward, dtype=torch.float32) + self.s.gamma * after * (
                1 - torch.as_tensor(done, dtype=torch.float32)
            )
        return functional.mse_loss(q, goal), {"q_mean": q.mean().item(), **self.last}

    def after_step(self, step):
        if self.target_every and step % self.target_every == 0:
            self.target.load_state_dict(self.model.state_dict())
        elif not self.target_every:
            self.target = self.model

    def clean_measure(self):
        place, got = np.arange(15), np.zeros(15)
        alive = np.ones(15, bool)
        for _ in range(self.limit):
            action = self.model(self.one_hot(place)).argmax(1).numpy()
            new, reward, done = self.walk(place, action)
            got += reward * alive
            place, alive = np.where(alive, new, place), alive & ~done
        return float(got.mean())

    def config(self):
        return {"env": "gridworld-4x4", "gamma": self.s.gamma, "target_update": self.target_every, "buffer_size": 2000}


class CartPolicy(Rl):
    """A pole on a cart of our own, eight at once; an advantage policy gradient with clipping (PPO) or without."""

    words = "policy RL (PPO, cart-pole)"
    models = ("ppo", "reinforce")
    tags = frozenset({"rl", "policy"})
    steps, batches = (100, 160), (8,)
    lr_scale = 2.0
    horizon, limit = 24, 100

    def make_data(self):
        super().make_data()
        self.chance, self.best = 22.0, 95.0
        self.value_weight = 0.5
        self.state = self.reset(self.s.batch)
        self.age = np.zeros(self.s.batch)
        self.returns, self.passes = [], 0
        self.kept = None

    def reset(self, count):
        return self.world_rng.uniform(-0.05, 0.05, (count, 4))

    def make_model(self):
        self.model = nn.ModuleDict(
            {"actor": Mlp(4, 32, 1, 2, activation="tanh"), "critic": Mlp(4, 32, 1, 1, activation="tanh")}
        )

    @staticmethod
    def physics(state, action):
        x, v, angle, spin = state.T
        force = np.where(action == 1, 10.0, -10.0)
        cos, sin = np.cos(angle), np.sin(angle)
        push = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        shift = push - 0.05 * turn * cos / 1.1
        new = np.stack([x + 0.02 * v, v + 0.02 * shift, angle + 0.02 * spin, spin + 0.02 * turn], 1)
        return new, (np.abs(new[:, 0]) > 2.4) | (np.abs(new[:, 2]) > 0.21)

    def rollout(self):
        states, actions, rewards, dones, logps = [], [], [], [], []
        for _ in range(self.horizon):
            x = torch.as_tensor(self.state, dtype=torch.float32)
            with torch.no_grad():
                policy = Categorical(logits=self.model["actor"](x), validate_args=False)
                action = policy.sample()
            new, fell = self.physics(self.state, action.numpy())
            self.age += 1
            over = fell | (self.age >= self.limit)
            states.append(x)
            actions.append(action)
            logps.append(policy.log_prob(action))
            rewards.append(self.shape_reward(np.ones(len(new)) - fell))
            dones.append(over)
            self.returns += self.age[over].tolist()
            if over.any():
                new[over] = self.reset(int(over.sum()))
                self.age[over] = 0
            self.state = new
        with torch.no_grad():
            value = self.model["critic"](torch.as_tensor(self.state, dtype=torch.float32))[:, 0].numpy()
        goals = []
        for reward, over in zip(reversed(rewards), reversed(dones), strict=True):
            value = reward + self.s.gamma * value * (1 - over)
            goals.append(value)
        flat = lambda parts: torch.cat(parts)
        return {
            "x": flat(states),
            "a": flat(actions),
            "logp": flat(logps),
            "goal": torch.as_tensor(np.concatenate(goals[::-1]), dtype=torch.float32),
        }

    def next_batch(self):
        if self.s.model == "reinforce" or self.kept is None or self.passes % 4 == 0:
            self.kept = self.rollout()
        self.passes += 1
        return dict(self.kept)

    def loss(self, batch):
        value = self.model["critic"](batch["x"])[:, 0]
        advantage = batch["goal"] - value.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        policy = Categorical(logits=self.model["actor"](batch["x"]), validate_args=False)
        change = policy.log_prob(batch["a"]) - batch["logp"]
        ratio = change.exp()
        gain = ratio * advantage
        if self.s.model == "ppo":
            gain = torch.minimum(gain, ratio.clamp(0.8, 1.2) * advantage)
        entropy = policy.entropy().mean()
        value_loss = functional.mse_loss(value, batch["goal"])
        loss = -gain.mean() + self.value_weight * value_loss - self.s.entropy_weight * entropy
        return loss, {
            "policy_loss": -gain.mean().item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
            "approx_kl": (ratio - 1 - change).mean().item(),
            "reward": float(np.mean(self.returns[-20:])) if self.returns else 0.0,
        }

    def clean_measure(self):
        rng = np.random.default_rng(9)
        state, alive, age = rng.uniform(-0.05, 0.05, (20, 4)), np.ones(20, bool), np.zeros(20)
        gen = torch.Generator().manual_seed(9)
        for _ in range(self.limit):
            logits = self.model["actor"](torch.as_tensor(state, dtype=torch.float32))
            chances = torch.nan_to_num(logits.softmax(1), nan=0.5).clamp(min=0) + 1e-9
            action = torch.multinomial(chances, 1, generator=gen)[:, 0]
            state, fell = self.physics(state, action.numpy())
            age += alive
            alive &= ~fell
            if not alive.any():
                break
        return float(age.mean())

    def config(self):
        return {
            "env": "cartpole",
            "gamma": self.s.gamma,
            "entropy_coef": self.s.entropy_weight,
            "value_coef": self.value_weight,
            "n_steps": self.horizon,
            "n_envs": self.s.batch,
        }


class Bandit(Rl):
    """Contextual bandit by REINFORCE with a running baseline."""

    words = "policy RL (contextual bandit)"
    models = ("reinforce",)
    tags = frozenset({"rl", "policy", "bandit"})
    steps, batches = (200, 800), (16, 32, 64)
    lr_scale = 2.0

    def make_data(self):
        super().make_data()
        self.table = np.random.default_rng(self.s.seed + 3).uniform(0, 0.7, (8, 5))
        self.table[np.arange(8), self.rng.integers(0, 5, 8)] = 1.0
        self.chance, self.best = float(self.table.mean()), 1.0
        self.baseline = 0.0

    def make_model(self):
        self.model = Mlp(8, 32, 1, 5, activation="tanh")

    def next_batch(self):
        context = self.world_rng.integers(0, 8, self.s.batch)
        return {"x": torch.eye(8)[torch.as_tensor(context)], "c": context}

    def loss(self, batch):
        policy = Categorical(logits=self.model(batch["x"]), validate_args=False)
        with torch.no_grad():
            action = policy.sample()
        true = self.table[batch["c"], action.numpy()] + self.world_rng.normal(0, 0.2, len(action))
        reward = self.shape_reward(true)
        self.baseline = 0.95 * self.baseline + 0.05 * float(reward.mean())
        gain = torch.as_tensor(reward - self.baseline, dtype=torch.float32)
        entropy = policy.entropy().mean()
        loss = -(policy.log_prob(action) * gain).mean() - self.s.entropy_weight * entropy
        return loss, {"reward": float(reward.mean()), "reward_std": float(reward.std()), "entropy": entropy.item()}

    def clean_measure(self):
        chances = self.model(torch.eye(8)).softmax(1).numpy()
        return float((chances * self.table).sum(1).mean())

    def config(self):
        return {"env": "bandit-8x5", "entropy_coef": self.s.entropy_weight}


class Grpo(Rl):
    """A tiny policy writes up to `max_length` tokens after a digit; 1/2 for each of the two digits that follow it."""

    words = "GRPO on a tiny language model"
    models = ("gru",)
    optimizers = ("adamw", "adam")
    tags = frozenset({"rl", "grpo"})
    steps, batches = (100, 160), (8,)
    lr_scale = 1.3
    generations, end = 8, 10
    measure_name = "reward"

    def make_data(self):
        super().make_data()
        self.chance, self.best = 0.25, 1.0
        self.length_reward = 0.0

    def make_model(self):
        self.model = nn.ModuleDict({"tok": nn.Embedding(11, 16), "body": nn.GRUCell(16, 32), "head": nn.Linear(32, 11)})
        self.warm_up()
        self.reference = copy.deepcopy(self.model).requires_grad_(False)

    def warm_up(self):
        """Half-right text first, so that the reward starts above zero."""
        optimizer = torch.optim.Adam(self.model.parameters(), 1e-2)
        rng = np.random.default_rng(self.s.seed)
        for _ in range(50):
            prompt = rng.integers(0, 10, 64)
            noise = rng.random((2, 64)) < 0.6
            first = np.where(noise[0], rng.integers(0, 10, 64), (prompt + 1) % 10)
            second = np.where(noise[1], rng.integers(0, 10, 64), (prompt + 2) % 10)
            rows = torch.as_tensor(np.stack([prompt, first, second, np.full(64, 10)], 1))
            logits = self.logits(self.model, rows)
            loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            self.chance = self.clean_measure()

    @staticmethod
    def logits(model, rows):
        state, out = None, []
        for t in range(rows.shape[1] - 1):
            state = model["body"](model["tok"](rows[:, t]), state)
            out.append(model["head"](state))
        return torch.stack(out, 1)

    def sample(self, prompts, generator=None):
        rows, state, token = [prompts], None, prompts
        over = torch.zeros(len(prompts), dtype=torch.bool)
        for _ in range(self.s.max_length):
            state = self.model["body"](self.model["tok"](token), state)
            chances = torch.nan_to_num((self.model["head"](state) / self.s.temperature).softmax(1), nan=0.1) + 1e-9
            token = torch.multinomial(chances, 1, generator=generator)[:, 0]
            token = torch.where(over, self.end, token)
            over |= token == self.end
            rows.append(token)
        return torch.stack(rows, 1)

    def true_reward(self, rows):
        prompt = rows[:, 0]
        ok = 0.5 * (rows[:, 1] == (prompt + 1) % 10).float()
        if rows.shape[1] > 2:
            ok = ok + 0.5 * (rows[:, 2] == (prompt + 2) % 10).float()
        return ok.numpy()

    def next_batch(self):
        prompts = torch.as_tensor(self.world_rng.integers(0, 10, self.s.batch)).repeat_interleave(self.generations)
        with torch.no_grad():
            rows = self.sample(prompts)
            ended = (rows[:, 1:] == self.end).int()
            length = torch.where(ended.any(1), ended.argmax(1) + 1, self.s.max_length)
        reward = self.true_reward(rows)
        if self.length_reward:
            reward = (1 - self.length_reward) * reward + self.length_reward * length.numpy() / self.s.max_length
        reward = self.shape_reward(reward)
        group = reward.reshape(-1, self.generations)
        std = group.std(1, keepdims=True)
        gain = ((group - group.mean(1, keepdims=True)) / (std + 1e-4)).ravel()
        self.last = {
            "reward": float(reward.mean()),
            "reward_std": float(std.mean()),
            "frac_reward_zero_std": float((std < 1e-6).mean()),
            "completions/mean_length": float(length.float().mean()),
            "completions/clipped_ratio": float((~ended.any(1)).float().mean()),
        }
        return {"rows": rows, "length": length, "gain": torch.as_tensor(gain, dtype=torch.float32)}

    def loss(self, batch):
        rows = batch["rows"]
        logp = (self.logits(self.model, rows) / self.s.temperature).log_softmax(-1)
        with torch.no_grad():
            ref = self.logits(self.reference, rows).log_softmax(-1).gather(-1, rows[:, 1:, None])[..., 0]
        mine = logp.gather(-1, rows[:, 1:, None])[..., 0]
        mask = (torch.arange(rows.shape[1] - 1) < batch["length"][:, None]).float()
        away = ref - mine
        kl = away.exp() - away - 1
        each = -(mine - mine.detach()).exp() * batch["gain"][:, None] + self.s.beta * kl
        loss = (each * mask).sum() / mask.sum()
        entropy = (-(logp.exp() * logp).sum(-1) * mask).sum() / mask.sum()
        return loss, {**self.last, "entropy": entropy.item(), "kl": ((kl * mask).sum() / mask.sum()).item()}

    def clean_measure(self):
        gen = torch.Generator().manual_seed(9)
        return float(self.true_reward(self.sample(torch.arange(10).repeat(10), gen)).mean())

    def config(self):
        return {
            "num_generations": self.generations,
            "max_completion_length": self.s.max_length,
            "beta": self.s.beta,
            "temperature": self.s.temperature,
            "vocab_size": 11,
        }
