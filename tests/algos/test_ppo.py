"""PPO against a re-computation in numpy, and the promises of its sequences, schedules and time limits."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from agonist.algos.ppo import PPOConfig, make_ppo
from agonist.nets import recurrent
from agonist.ops.shards import permutation
from agonist.testing.algorithms import close, differ, gather, random_moments, random_play, team
from agonist.types import Batch, Box, Discrete, TimeStep

T, B, N, F, A = 8, 4, 2, 3, 4
ROLE = team(Discrete(A), obs=(F,), agents=N)
TINY = PPOConfig(rollout=T, hidden=(6,), memory=5, epochs=1, minibatches=1, activation="tanh")
RECURRENT = replace(TINY, recurrent=True, hidden=(6, 6))


def played(algorithm, state, seed: int = 0, role=ROLE) -> Batch:
    play = random_play(role, np.random.default_rng(seed), T, B)
    return jax.tree.map(np.asarray, jax.jit(partial(gather, algorithm))(state, play, jax.random.key(seed)))


# ---- the first update, by hand in double precision


def forward(params, x):
    """x [F, rows] -> the hidden layer and the outputs."""
    hidden = np.tanh(params["net_0"]["layer_0"]["w"] @ x + params["net_0"]["layer_0"]["b"][:, None])
    return hidden, params["net_1"]["w"] @ hidden + params["net_1"]["b"][:, None]


def backward(params, x, hidden, d_out):
    d_hidden = (params["net_1"]["w"].T @ d_out) * (1 - hidden**2)
    return {
        "net_0": {"layer_0": {"w": d_hidden @ x.T, "b": d_hidden.sum(1)}},
        "net_1": {"w": d_out @ hidden.T, "b": d_out.sum(1)},
    }


def actor_gradient(config, params, rows):
    """The gradient of the clipped surrogate and of the entropy bonus; and the losses."""
    x, legal, w = rows["x"], rows["legal"].T, rows["weight"] / rows["weight"].sum()
    hidden, z = forward(params, x)
    odds = np.where(legal, np.exp(z - z.max(0)), 0.0)
    odds /= odds.sum(0)
    log_odds = np.log(np.where(legal, odds, 1.0))
    chosen = np.eye(A)[:, rows["actions"]]
    log_ratio = (chosen * log_odds).sum(0) - rows["log_prob"]
    ratio, entropy = np.exp(log_ratio), -(odds * log_odds).sum(0)
    mean = (w * rows["advantage"]).sum()
    adv = (rows["advantage"] - mean) / np.sqrt((w * (rows["advantage"] - mean) ** 2).sum())
    clipped = np.clip(ratio, 1 - config.clip, 1 + config.clip)
    d_log_prob = -w * adv * ratio * (ratio * adv <= clipped * adv)
    d_entropy = -odds * (log_odds + entropy)
    d_z = d_log_prob * (chosen - odds) - config.entropy * w * d_entropy
    told = {
        "loss/policy": -(w * np.minimum(ratio * adv, clipped * adv)).sum(),
        "policy/entropy": (w * entropy).sum(),
        "policy/kl": (w * (ratio - 1 - log_ratio)).sum(),
        "policy/clip_fraction": (w * (np.abs(ratio - 1) > config.clip)).sum(),
    }
    return backward(params, x, hidden, np.where(legal, d_z, 0.0)), told


def critic_gradient(config, params, rows):
    w = rows["weight"] / rows["weight"].sum()
    hidden, v = forward(params, rows["x"])
    held = rows["value"] + np.clip(v[0] - rows["value"], -config.clip, config.clip)
    error, held_error = v[0] - rows["target"], held - rows["target"]
    moves = (error**2 >= held_error**2) | (np.abs(v[0] - rows["value"]) < config.clip)
    d_v = config.value_coef * w * np.where(moves, error, 0.0)
    loss = config.value_coef * 0.5 * (w * np.maximum(error**2, held_error**2)).sum()
    return backward(params, rows["x"], hidden, d_v[None]), {"loss/value": loss}


def adam(config, params, grads, memory):
    norm = np.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * min(1.0, config.max_grad_norm / norm), grads)
    steps = memory["steps"] = memory.get("steps", 0) + 1
    zero = jax.tree.map(np.zeros_like, params)
    memory["mu"] = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, memory.get("mu", zero), grads)
    memory["nu"] = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, memory.get("nu", zero), grads)
    moved = jax.tree.map(
        lambda p, m, v: p - config.lr * m / (1 - 0.9**steps) / (np.sqrt(v / (1 - 0.999**steps)) + 1e-5), params, memory["mu"], memory["nu"]
    )
    return moved, norm


def advantages(config, t):
    """By the sum that defines them, agent by agent."""
    value, out = t.extras["value"].astype(np.float64), np.zeros((T, B, N))
    for start, b, n in np.ndindex(T, B, N):
        weight = 1.0
        for k in range(start, T):
            ends = t.last[k, b] or k == T - 1
            after = t.extras["next_value"][k, b, n] if ends else value[k + 1, b, n]
            out[start, b, n] += weight * (t.reward[k, b, n] + config.gamma * t.discount[k, b, n] * after - value[k, b, n])
            weight *= config.gamma * config.gae_lambda * t.discount[k, b, n]
            if ends:
                break
    return out


def recomputed(config, params, batch, key):
    """Parameters and metrics after one update."""
    t, told = batch.transition, []
    identity = np.broadcast_to(np.eye(N), (T, B, N, N))
    x = np.concatenate([t.obs, identity], -1).astype(np.float64)
    advantage = advantages(config, t)
    fields = {
        "actions": t.actions, "log_prob": t.extras["log_prob"], "value": t.extras["value"], "legal": t.legal,
        "advantage": advantage, "target": advantage + t.extras["value"], "weight": t.alive.astype(np.float64),
    }  # fmt: skip
    fields = {name: value.reshape(T * B, N, *value.shape[3:]) for name, value in fields.items()}
    params, memories = jax.tree.map(lambda p: np.asarray(p, np.float64), params), {"actor": {}, "critic": {}}
    for key_epoch in jax.random.split(key, config.epochs):
        for chosen in np.asarray(permutation(key_epoch, T * B)).reshape(config.minibatches, -1):
            rows = {name: value[chosen].reshape(-1, *value.shape[2:]) for name, value in fields.items()}
            rows["x"] = x.reshape(T * B, N, -1)[chosen].reshape(-1, F + N).T
            metrics = {}
            for name, gradient in (("actor", actor_gradient), ("critic", critic_gradient)):
                grads, losses = gradient(config, params[name], rows)
                params[name], metrics[f"grad/{name}"] = adam(config, params[name], grads, memories[name])
                metrics |= losses
            told.append(metrics)
    w = fields["weight"] / fields["weight"].sum()
    error, target = fields["target"] - fields["value"], fields["target"]
    missed, spread = ((w * (y - (w * y).sum()) ** 2).sum() for y in (error, target))
    means = {name: np.mean([metrics[name] for metrics in told]) for name in told[0]}
    return params, means | {"value/explained": 1 - missed / spread, "rate/lr": config.lr}


@pytest.mark.parametrize(("epochs", "minibatches"), [(1, 1), (2, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_first_update_is_that_of_numpy(epochs, minibatches, seed):
    numbers = {"lr": 0.01, "gamma": 0.9, "gae_lambda": 0.8, "clip": 0.15, "entropy": 0.05, "value_coef": 0.7, "max_grad_norm": 0.1}
    config = replace(TINY, epochs=epochs, minibatches=minibatches, **numbers)  # none of them a default
    algorithm = make_ppo(config, ROLE)
    state, rng = algorithm.init(jax.random.key(seed)), np.random.default_rng(seed)
    batch = played(algorithm, state, seed)
    t = batch.transition
    extras = dict(t.extras)  # as of an older policy, so that clips bite
    for name, size in (("log_prob", 0.3), ("value", 0.4)):
        extras[name] = (t.extras[name] + size * rng.normal(size=(T, B, N))).astype(np.float32)
    batch = batch._replace(transition=t._replace(extras=extras))
    after, metrics, _ = jax.jit(algorithm.update)(state, batch, jax.random.key(seed))
    params, told = recomputed(config, state.params, batch, jax.random.key(seed))
    assert told["policy/clip_fraction"] > 0.2
    assert told["grad/critic"] > config.max_grad_norm
    assert set(metrics) == set(told)
    for name, value in told.items():
        assert_allclose(metrics[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    close(after.params, params, rtol=1e-4, atol=config.lr * 1e-3)


# ---- sequences


@pytest.mark.parametrize(("chunk", "share"), [(0, True), (4, False)])
def test_learning_sees_the_odds_with_which_it_acted(chunk, share):
    """Recomputed over episodes' ends, a first minibatch's ratios are 1 and its values those stored."""
    config = replace(RECURRENT, chunk=chunk, share=share, clip=1e-5, gamma=0.0, value_clip=False)
    algorithm = make_ppo(config, ROLE)
    state = algorithm.init(jax.random.key(0))
    state = state._replace(params=jax.tree.map(lambda p: 3 * p, state.params))  # a memory that matters
    batch, update = played(algorithm, state), jax.jit(algorithm.update)
    t = batch.transition
    assert t.last[:-1].any()
    metrics = update(state, batch, jax.random.key(0))[1]
    assert metrics["policy/clip_fraction"] == 0.0  # of ratios beyond 1e-5
    error = np.square(t.reward - t.extras["value"])[t.alive]
    assert_allclose(metrics["loss/value"], config.value_coef * 0.5 * error.mean(), rtol=1e-5)
    endless = batch._replace(transition=t._replace(last=np.zeros_like(t.last)))
    assert update(state, endless, jax.random.key(0))[1]["policy/clip_fraction"] > 0.1


def test_recurrent_is_feed_forward_when_the_cell_is_the_identity(monkeypatch):
    plain = make_ppo(replace(TINY, hidden=(6, 5)), ROLE)
    monkeypatch.setattr(recurrent, "gru", lambda width: recurrent.identity())
    remembering = make_ppo(replace(RECURRENT, hidden=(6, 5), memory=6, chunk=1), ROLE)
    state = remembering.init(jax.random.key(0))

    def as_plain(params):
        before, after = params["before"]["layer_0"], params["after"]
        return {"net_0": {"layer_0": before, "layer_1": after["net_0"]["layer_0"]}, "net_1": after["net_1"]}

    same = plain.init(jax.random.key(0))._replace(params={name: as_plain(tree) for name, tree in state.params.items()})
    batch, batch_plain = played(remembering, state), played(plain, same)
    assert_array_equal(batch.transition.actions, batch_plain.transition.actions)
    (state, told, _), (same, told_plain, _) = (
        jax.jit(one.update)(start, given, jax.random.key(1))
        for one, start, given in ((remembering, state, batch), (plain, same, batch_plain))
    )
    close({name: as_plain(tree) for name, tree in state.params.items()}, same.params)
    close(told, told_plain)


# ---- time


def test_a_time_limit_bootstraps_and_a_death_does_not():
    algorithm = make_ppo(TINY, ROLE)
    state, update = algorithm.init(jax.random.key(0)), jax.jit(algorithm.update)
    batch = played(algorithm, state)
    t = batch.transition
    seen = t.alive & (t.discount > 0)
    places = {"cut": t.last[..., None] & seen, "death": t.alive & (t.discount == 0), "within": ~t.last[..., None] & seen}
    places["within"][-1] = False
    before = update(state, batch, jax.random.key(0))[0].params
    for name, where in places.items():
        assert where.any()
        extras = {**t.extras, "next_value": t.extras["next_value"] + where.astype(np.float32)}
        after = update(state, batch._replace(transition=t._replace(extras=extras)), jax.random.key(0))[0].params
        assert differ(after, before) == (name == "cut"), name


def test_rates_fall_to_zero_at_the_horizon_and_shards_count():
    algorithm, shards = make_ppo(replace(TINY, horizon=4.0 * T * B), ROLE), make_ppo(TINY, ROLE, ("shards",))
    start, update = algorithm.init(jax.random.key(0)), jax.jit(algorithm.update)
    state, batch = start, played(algorithm, start)
    for left in [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]:
        before, (state, metrics, _) = state, update(state, batch, jax.random.key(0))
        assert_allclose(metrics["rate/lr"], TINY.lr * left, rtol=1e-6)
        assert differ(state.params, before.params) == (left > 0)
    both = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), batch)
    told = jax.jit(jax.vmap(lambda b: shards.update(start._replace(updates=np.int32(1)), b, jax.random.key(0))[1], axis_name="shards"))(
        both
    )
    assert_allclose(told["rate/lr"], TINY.lr * 0.5, rtol=1e-6)


def test_actor_and_critic_may_have_rates_of_their_own():
    state = make_ppo(replace(TINY, lr=0.5, critic_lr=0.25), ROLE).init(jax.random.key(0))
    assert (state.rates["actor_lr"], state.rates["critic_lr"]) == (0.5, 0.25)


# ---- masks


@pytest.mark.parametrize("size", [1.0, 3e4])
def test_a_masked_action_is_not_taken_in_half_a_million_steps(size):
    """Of a first policy, which is nearly uniform, and of one that wants single actions much."""
    algorithm = make_ppo(TINY, ROLE)
    params = jax.tree.map(lambda leaf: size * leaf, algorithm.policy(algorithm.init(jax.random.key(0))))
    obs, *_, state = random_moments(ROLE, np.random.default_rng(0), 1000)

    def one(key):
        key_legal, key_act = jax.random.split(key)
        legal = jax.random.bernoulli(key_legal, 0.4, (1000, N, A)).at[..., 1].set(True)
        none = np.zeros((1000, N), np.float32)
        timestep = TimeStep(obs, none, none + 1, np.zeros(1000, bool), legal, none == 0, state)
        actions, _, _ = algorithm.act(params, timestep, algorithm.carry(1000), key_act)
        taken = jax.numpy.take_along_axis(legal, actions[..., None], -1)
        return taken.sum(), jax.numpy.bincount(actions.ravel(), length=A)

    legal, counts = jax.jit(lambda keys: jax.lax.map(one, keys))(jax.random.split(jax.random.key(1), 500))
    assert legal.sum() == 500 * 1000 * N
    assert (counts.sum(0) > 1000).all()


# ---- bad configs


@pytest.mark.parametrize(
    ("keys", "role", "said"),
    [
        ({"recurrent": True, "chunk": 3}, ROLE, "need chunk to divide rollout, got chunk=3, rollout=8"),
        ({"recurrent": True, "chunk": 16}, ROLE, "need chunk to divide rollout, got chunk=16, rollout=8"),
        ({"chunk": 4}, ROLE, "chunk=4 is for recurrent=true"),
        ({"critic": "state"}, team(state=()), "critic=state needs an environment with a state; role 'player' has none"),
        ({"torso": "cnn"}, ROLE, r"torso=cnn needs observations \[height, width, channels\].*role 'player' has \(3,\)"),
        ({"torso": "cnn", "critic": "state"}, team(obs=(4, 4, 1)), "torso=cnn needs observations"),
        ({}, team(Box(0.0, np.inf, (2,))), "bounded on both sides or on neither, got 0.0 to inf"),
        ({}, team(Box(0, 3, (2,), "int32")), "use Discrete or MultiDiscrete for whole numbers"),
        ({"activation": "rely"}, ROLE, "no activation 'rely': there are relu"),
    ],
)
def test_a_config_that_cannot_be_is_refused_with_its_numbers(keys, role, said):
    with pytest.raises(ValueError, match=said):
        make_ppo(replace(TINY, **keys), role)
