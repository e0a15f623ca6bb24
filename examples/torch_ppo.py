"""PPO in PyTorch, 60 lines: all agents share one network; tensors share memory with cogrid's arrays (DLPack).

python examples/torch_ppo.py [--steps 1000000] [--backend numpy|jax]
"""

import argparse

import torch
from torch.distributions import Categorical
from torch.nn import Linear, Sequential, Tanh

import cogrid

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--id", default="Overcooked-CrampedRoom-V0")
parser.add_argument("--backend", default="numpy", choices=("numpy", "jax"))
parser.add_argument("--steps", type=lambda text: int(float(text)), default=1_000_000, help="also 1e6")
parser.add_argument("--num-envs", type=int, default=64)
options = parser.parse_args()
HORIZON, EPOCHS, MINIBATCHES, GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 100, 4, 4, 0.99, 0.95, 0.2, 0.01, 1e-3

torch.manual_seed(0)
vec = cogrid.make_vec(options.id, options.num_envs, options.backend, shaping=1.0)
size, n_actions = vec.single_observation_space.shape[-1], vec.rules.n_actions
actor = Sequential(Linear(size, 64), Tanh(), Linear(64, 64), Tanh(), Linear(64, n_actions))
critic = Sequential(Linear(size, 64), Tanh(), Linear(64, 64), Tanh(), Linear(64, 1))
parameters = [*actor.parameters(), *critic.parameters()]
optimiser = torch.optim.Adam(parameters, lr=RATE)
obs, updates, returns = (
    torch.from_dlpack(vec.reset(seed=0)[0]),
    options.steps // (HORIZON * options.num_envs),
    [],
)

for update in range(updates):
    rows = []
    for _ in range(HORIZON):
        with torch.no_grad():
            policy, value = Categorical(logits=actor(obs)), critic(obs)[..., 0]  # (B, n)
            action = policy.sample()
        after, reward, terminated, truncated, infos = vec.step(action.numpy())
        done = torch.from_dlpack(terminated | truncated)[:, None].float()  # (B, 1)
        rows.append((obs, action, policy.log_prob(action), value, torch.from_dlpack(reward), done))
        obs = torch.from_dlpack(after)
        if "episode" in infos:
            returns.append(float(infos["episode"]["r"][infos["_episode"]].mean()))
    seen, actions, log_probs, values, rewards, dones = (torch.stack(one) for one in zip(*rows, strict=True))
    advantages, following, last = torch.zeros_like(rewards), critic(obs)[..., 0].detach(), 0.0
    for t in reversed(range(HORIZON)):
        delta = rewards[t] + GAMMA * following * (1 - dones[t]) - values[t]
        advantages[t] = last = delta + GAMMA * LAMBDA * (1 - dones[t]) * last
        following = values[t]
    data = [one.flatten(0, 2) for one in (seen, actions, log_probs, advantages, advantages + values)]
    for _ in range(EPOCHS):
        for rows_of in torch.randperm(len(data[0])).chunk(MINIBATCHES):
            seen, actions, log_probs, gains, targets = (one[rows_of] for one in data)
            policy, gains = Categorical(logits=actor(seen)), (gains - gains.mean()) / (gains.std() + 1e-8)
            ratio = (policy.log_prob(actions) - log_probs).exp()
            surrogate = torch.min(ratio * gains, ratio.clamp(1 - CLIP, 1 + CLIP) * gains).mean()
            error = (critic(seen)[..., 0] - targets).square().mean()
            optimiser.zero_grad()
            (0.5 * error - surrogate - ENTROPY * policy.entropy().mean()).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 0.5)
            optimiser.step()
    weight = 1 - (update + 1) / updates  # shaping fades out
    vec.set_state(vec.replace(vec.env_state, shaping_weight=weight))
    if returns and (update % 10 == 0 or update == updates - 1):
        print(f"update {update + 1} of {updates}: return {returns[-1]:.1f}", flush=True)
