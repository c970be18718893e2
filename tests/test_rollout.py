"""Playing, against a slow loop in plain Python that takes one environment after the other."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import algos, rollout
from agonist.algos.scripted import make_script
from agonist.rollout import Worker
from agonist.testing import stairs
from agonist.types import Algorithm, Group, Players, TimeStep

SPEC = stairs.SPEC
CLIMBERS, GUIDE = SPEC.roles
B, T = 3, 9


def ppo(role, **keys):
    keys = {"hidden": (8,), "rollout": T, "minibatches": 1, **keys}
    return algos.make("ppo", algos.configure("ppo", keys), role)


def params_of(algorithm, seed, whole=False):
    state = algorithm.init(jax.random.key(seed))
    return jax.tree.map(lambda leaf: 3 * np.asarray(leaf)[None], algorithm.actor(state) if whole else algorithm.policy(state))


def mixed(recurrent):
    """A trainee on two seats of a role, a frozen policy of another architecture between them, and a script in the other role."""
    trainee = ppo(CLIMBERS.holding((0, 2)), recurrent=recurrent, memory=5)
    frozen = ppo(CLIMBERS.holding((1,)), recurrent=not recurrent, memory=4, hidden=(6, 7), activation="tanh")
    script = make_script("random", GUIDE)
    line_up = (Group("team", trainee, trains=True), Group("old", frozen), Group("guide", script))
    params = (params_of(trainee, 1, whole=True), params_of(frozen, 2), ())
    return line_up, Players(params, (np.ones(1, np.float32),) * 3)


def lone(role, timestep, b):
    """One environment's moment as a group of the role's seats sees it."""
    seats = list(role.seats)

    def own(value):
        return np.asarray(value[role.name])[b : b + 1, seats]

    fields = {name: own(getattr(timestep, name)) for name in ("obs", "reward", "discount", "legal", "alive")}
    return TimeStep(last=np.asarray(timestep.last)[b : b + 1], state=np.asarray(timestep.state)[b : b + 1], **fields)


def chosen(where, new, old):
    """Environment by environment, the new or the old."""

    def one(a, b):
        return np.stack([np.asarray(a)[i] if take else np.asarray(b)[i] for i, take in enumerate(where)])

    return jax.tree.map(one, new, old)


class Slow:
    """Episode after episode by hand: everybody's view, key and memory, and a reset where an episode has ended."""

    def __init__(self, line_up, players, batch):
        self.env, self.line_up, self.players, self.batch = stairs.compiled(), line_up, players, batch
        self.acts, self.env_step = [jax.jit(group.algorithm.act) for group in line_up], jax.jit(self.env.step)
        self.value = jax.jit(line_up[0].algorithm.value)
        self.fresh()
        self.over = np.ones(batch, bool)

    def fresh(self):
        self.state, self.timestep = self.env.reset(jax.random.split(jax.random.key(0), self.batch))
        self.carries = [group.algorithm.carry(self.batch) for group in self.line_up]

    def begin(self):
        """Where an episode is over: a first moment and a first memory. The game's beginning is always the same."""
        old, carries = (self.state, self.timestep), self.carries
        self.fresh()
        self.state, self.timestep = chosen(self.over, (self.state, self.timestep), old)
        self.carries = chosen(self.over, self.carries, carries)

    def act(self, keys):
        """role -> actions, and the trainee's extras."""
        joint = {role.name: np.zeros((self.batch, role.agents), np.int32) for role in SPEC.roles}
        told = {}
        for g, group in enumerate(self.line_up):
            params = jax.tree.map(lambda leaf: leaf[0], self.players.params[g])
            whole = [lone(group.role, self.timestep, b) for b in range(self.batch)]
            view = jax.tree.map(lambda *leaves: np.concatenate(leaves), *whole)
            actions, extras, self.carries[g] = self.acts[g](params, view, self.carries[g], keys[g])
            for i, seat in enumerate(group.role.seats):
                joint[group.role.name][:, seat] = np.asarray(actions)[:, i]
            if group.trains:
                told[group.name] = extras
        return joint, told

    def next_value(self, after):
        group = self.line_up[0]
        view = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[lone(group.role, after, b) for b in range(self.batch)])
        return self.value(jax.tree.map(lambda leaf: leaf[0], self.players.params[0]), view, self.carries[0])

    def step(self, keys, ends):
        if self.over.any():
            self.begin()
        before = self.timestep
        actions, extras = self.act(keys)
        self.state, after = self.env_step(self.state, actions)
        self.over = np.asarray(after.last)
        cut = self.over & (np.asarray(after.discount["guide"])[:, 0] > 0)
        value = self.next_value(after) if ends or cut.any() else jnp.zeros((self.batch, 2))
        self.timestep = after
        return before, actions, {"team": {**extras["team"], "next_value": value}}, after


def close(a, b):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-5, atol=2e-6), a, b)


@pytest.mark.parametrize("recurrent", [False, True])
def test_unroll_is_a_slow_loop(recurrent):
    """Two rollouts, the second going on where the first stopped."""
    line_up, players = mixed(recurrent)
    slow, env = Slow(line_up, players, B), stairs.compiled()
    worker = rollout.unbegun(env, line_up, players, B)
    unroll = jax.jit(lambda worker, key: rollout.unroll(env, line_up, players, worker, key, T))
    running = np.zeros((B, 3))  # length and the two returns, so far in each episode
    for seed in (5, 6):
        fresh = tuple(group.algorithm.carry(B) for group in line_up)
        memories = chosen(slow.over, fresh, tuple(slow.carries))
        worker, played = jax.tree.map(np.asarray, unroll(worker, jax.random.key(seed)))
        close(played.carries, memories)
        finished = np.zeros(4)
        for t, keys in enumerate(jax.random.split(jax.random.key(seed), (T, 4))):
            running[slow.over] = 0
            before, actions, extras, after = slow.step(keys, t == T - 1)
            check_step(jax.tree.map(lambda leaf, t=t: leaf[t], played.transition), before, actions, extras, after)
            gained = [np.ones(B), np.asarray(after.reward["climbers"])[:, 0], np.asarray(after.reward["guide"])[:, 0]]
            running += np.stack(gained, axis=1)
            for b in np.flatnonzero(after.last):
                finished += [1, *running[b]]
        names = ("episodes", "length", "return/team", "return/guide")
        close([played.finished[name] for name in names], finished.tolist())
        close((worker.length, worker.returns["team"]), (running[:, 0], running[:, 1]))
    last = np.asarray(played.transition.last)
    assert (last.any(axis=1) & ~last.all(axis=1)).any(), "no environment ended alone: the loop proves less than it should"


def check_step(at, before, actions, extras, after):
    np.testing.assert_array_equal(at.actions["climbers"], actions["climbers"])
    np.testing.assert_array_equal(at.actions["guide"], actions["guide"])
    close((at.obs, at.legal, at.state, at.alive), (before.obs, before.legal, before.state, before.alive))
    close((at.reward, at.discount, at.last), (after.reward, after.discount, after.last))
    close((at.next_obs, at.next_legal, at.next_state), (after.obs, after.legal, after.state))
    close(at.extras, extras)


def test_episodes_are_cut_at_the_limit_and_the_value_there_is_of_the_moment_before_the_reset():
    """The guide never pushes and the climbers never move: every episode is cut after six steps."""
    trainee, still = ppo(GUIDE, critic="state"), make_script("action:0", CLIMBERS)
    line_up = (Group("guide", trainee, trains=True), Group("still", still))
    players = Players((params_of(trainee, 1, whole=True), ()), (jnp.ones(1),) * 2)
    env = stairs.compiled()
    worker = rollout.unbegun(env, line_up, players, 2)
    _, played = jax.jit(lambda: rollout.unroll(env, line_up, players, worker, jax.random.key(0), 8))()
    t, extra = played.transition, played.transition.extras["guide"]
    ended = np.flatnonzero(np.asarray(t.last)[:, 0]).tolist()
    assert ended == [5]
    assert np.all(np.asarray(t.discount["guide"]) == 1)
    asked = [i for i in range(8) if np.any(np.asarray(extra["next_value"])[i])]
    assert asked == [5, 7]
    there = TimeStep(*(getattr(t, name) for name in ("next_obs", "reward", "discount", "last", "next_legal", "alive", "next_state")))
    view = rollout.seats_of(jax.tree.map(lambda leaf: leaf[5], there), line_up[0])
    close(extra["next_value"][5], trainee.value(rollout.first_of(players.params[0]), view, trainee.carry(2)))


def test_a_loop_over_episodes_gives_the_returns_of_evaluate():
    line_up, players = mixed(recurrent=True)
    line_up = (line_up[0]._replace(trains=False), *line_up[1:])
    env, key = stairs.compiled(), jax.random.key(8)
    played = jax.jit(lambda key: rollout.evaluate(env, line_up, players, key, 7, 100))(key)
    slow = Slow(line_up, players, 7)
    _, key_act = jax.random.split(key)
    over, returns, length = np.zeros(7, bool), {"climbers": np.zeros(7), "guide": np.zeros(7)}, np.zeros(7)
    t = 0
    while not over.all():
        actions, _ = slow.act(jax.random.split(jax.random.fold_in(key_act, t), 3))
        slow.state, slow.timestep = slow.env_step(slow.state, actions)
        returns["climbers"] += ~over * np.asarray(slow.timestep.reward["climbers"])[:, 0]
        returns["guide"] += ~over * np.asarray(slow.timestep.reward["guide"])[:, 0]
        length += ~over
        over |= np.asarray(slow.timestep.last)
        t += 1
    close(played.returns, {"team": returns["climbers"], "old": returns["climbers"], "guide": returns["guide"]})
    close(played.length, length)
    assert len(set(length.tolist())) > 1, "all episodes were of one length: that the first one counts was not seen"


def test_a_group_gets_what_its_role_shares_or_what_its_own_seats_got():
    reward = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert rollout.team_reward(CLIMBERS, reward).tolist() == [1, 4]
    assert rollout.team_reward(replace(CLIMBERS, rewards="individual"), reward[:, [0, 2]]).tolist() == [4, 10]


def test_an_evaluation_stops_at_its_limit():
    line_up, players = mixed(recurrent=False)
    played = jax.jit(lambda: rollout.evaluate(stairs.compiled(), line_up, players, jax.random.key(0), 4, 2))()
    assert played.length.tolist() == [2] * 4


def test_a_greedy_group_plays_its_likeliest_actions():
    line_up, players = mixed(recurrent=False)
    greedy = (line_up[0]._replace(greedy=True, trains=False), *line_up[1:])
    timestep = stairs.compiled().reset(jax.random.split(jax.random.key(0), B))[1]
    carries, drawn = tuple(group.algorithm.carry(B) for group in greedy), (jnp.zeros(B, jnp.int32),) * 3
    wanted, _ = line_up[0].algorithm.greedy(
        rollout.first_of(players.params[0]), rollout.seats_of(timestep, greedy[0]), line_up[0].algorithm.carry(B)
    )
    act = jax.jit(lambda keys: rollout.act(greedy, players, timestep, carries, drawn, keys))
    for seed in range(5):
        actions, extras, _ = act(jax.random.split(jax.random.key(seed), 3))
        np.testing.assert_array_equal(actions["climbers"][:, [0, 2]], wanted)
        assert extras == {}


# opponents


def always(role):
    """Plays the action that is its parameter: whom an environment met can be read from what was done."""

    def act(params, timestep, carry, key):
        return jnp.full((timestep.last.shape[0], len(role.seats)), params, jnp.int32), (), carry

    def same(state):
        return state

    return Algorithm(
        "always", role, lambda key: jnp.int32(0), same, same, lambda batch: (), act, lambda p, t, c: (act(p, t, c, None)[0], c)
    )


def test_an_opponent_is_drawn_where_an_episode_begins_and_stays():
    odds, env, steps, batch = [0.5, 0.2, 0.3], stairs.compiled(), 1500, 8
    line_up = (Group("climbers", always(CLIMBERS)), Group("guide", make_script("action:0", GUIDE)))
    players = Players((jnp.arange(3), ()), (jnp.asarray(odds), jnp.ones(1)))
    worker = rollout.unbegun(env, line_up, players, batch)
    unroll = jax.jit(lambda worker, key: rollout.unroll(env, line_up, players, worker, key, steps)[1].transition)
    played = unroll(worker, jax.random.key(2))
    met, last = np.asarray(played.actions["climbers"])[:, :, 0], np.asarray(played.last)
    assert np.all(np.asarray(played.actions["climbers"]) == met[:, :, None])
    changed = met[1:] != met[:-1]
    assert not np.any(changed & ~last[:-1]), "an opponent changed within an episode"
    begins = np.concatenate([np.ones((1, batch), bool), last[:-1]])
    counts = np.bincount(met[begins], minlength=3)
    n = counts.sum()
    assert n > 2000
    for count, p in zip(counts, odds, strict=True):
        assert abs(count - n * p) < 4 * np.sqrt(n * p * (1 - p)), (counts / n, odds)


def test_opponents_and_odds_are_data():
    """Other parameters and other odds are played by the program that is there."""
    trainee, frozen = ppo(CLIMBERS), ppo(GUIDE, hidden=(6,))
    line_up, env = (Group("team", trainee, trains=True), Group("guide", frozen)), stairs.compiled()
    two = [jax.tree.map(lambda *leaves: jnp.concatenate(leaves), params_of(frozen, i), params_of(frozen, i + 1)) for i in (5, 7)]
    unroll = jax.jit(lambda players, worker, key: rollout.unroll(env, line_up, players, worker, key, 4))
    seen = []
    for stack, odds in ((two[0], [0.5, 0.5]), (two[1], [0.5, 0.5]), (two[1], [1.0, 0.0])):
        players = Players((params_of(trainee, 1, whole=True), stack), (jnp.ones(1), jnp.asarray(odds)))
        worker, played = unroll(players, rollout.unbegun(env, line_up, players, 64), jax.random.key(3))
        seen.append(np.asarray(played.transition.actions["guide"]))
    assert unroll._cache_size() == 1
    assert np.all(np.asarray(worker.drawn[1]) == 0)
    assert np.any(seen[0] != seen[1])


def test_each_environment_plays_with_the_parameters_that_it_drew():
    frozen = ppo(GUIDE, recurrent=True, memory=4)
    line_up = (Group("climbers", make_script("random", CLIMBERS)), Group("guide", frozen, greedy=True))
    both = [params_of(frozen, 1), params_of(frozen, 2)]
    stack = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *both)
    players, batch = Players(((), stack), (jnp.ones(1), jnp.full(2, 0.5))), 6
    timestep = stairs.compiled().reset(jax.random.split(jax.random.key(0), batch))[1]
    timestep = timestep._replace(obs={**timestep.obs, "guide": jnp.arange(batch).reshape(-1, 1, 1) * 3.0})
    carries, drawn = tuple(group.algorithm.carry(batch) for group in line_up), jnp.asarray([0, 1, 1, 0, 1, 0])
    keys = jax.random.split(jax.random.key(0), 2)
    act, greedy = jax.jit(lambda *args: rollout.act(line_up, *args)), jax.jit(frozen.greedy)
    actions, _, after = act(players, timestep, carries, (jnp.zeros(batch, jnp.int32), drawn), keys)
    view = rollout.seats_of(timestep, line_up[1])
    alone = [greedy(rollout.first_of(one), view, frozen.carry(batch)) for one in both]
    wanted = np.where(drawn[:, None] == 0, alone[0][0], alone[1][0])
    np.testing.assert_array_equal(actions["guide"], wanted)
    np.testing.assert_allclose(
        after[1]["actor"], np.where(drawn.reshape(-1, 1, 1) == 0, alone[0][1]["actor"], alone[1][1]["actor"]), rtol=1e-5, atol=1e-6
    )


# line-ups


def refused(line_up):
    with pytest.raises(ValueError, match=r".") as error:
        rollout.check_line_up(SPEC, line_up)
    return str(error.value)


def test_every_seat_is_held_exactly_once():
    guide, all_climb = Group("guide", make_script("random", GUIDE)), Group("climbers", make_script("random", CLIMBERS))
    rollout.check_line_up(SPEC, (guide, all_climb))
    split = [Group(str(seat), make_script("random", CLIMBERS.holding((seat,)))) for seat in (2, 0, 1)]
    rollout.check_line_up(SPEC, (*split, guide))
    wanted = "[('climbers', 0), ('climbers', 1), ('climbers', 2), ('guide', 0)]"
    held = wanted.replace(", ('guide', 0)", "")
    assert refused((all_climb,)) == f"stairs has the seats {wanted}; this line-up holds {held}"
    assert "('climbers', 1), ('climbers', 1)" in refused((all_climb, split[2], guide))


@pytest.mark.parametrize(
    ("other", "theirs", "ours"),
    [
        (replace(GUIDE, obs=replace(GUIDE.obs, shape=(4,))), "observations (4,)", "observations (1,)"),
        (replace(GUIDE, action=CLIMBERS.action), "actions Discrete(n=3)", "actions Discrete(n=2)"),
    ],
)
def test_a_group_of_another_shape_is_refused_with_both(other, theirs, ours):
    sentence = refused((Group("guest", make_script("random", other)), Group("climbers", make_script("random", CLIMBERS))))
    assert sentence.startswith("guest plays 'guide' x 1, ")
    assert theirs in sentence
    assert re.search(f"stairs asks for 'guide' x 1.*{re.escape(ours)}", sentence)


def test_a_role_knows_its_seats():
    with pytest.raises(ValueError, match=r"role 'climbers' has seats 0\.\.2, got \(3,\)"):
        CLIMBERS.holding((3,))
    with pytest.raises(KeyError, match="climbers"):
        SPEC.role("climber")


# from the host


def test_a_host_environment_is_unrolled_like_a_compiled_one():
    """The same keys, the same game: what is gathered is the same, step by step, over two rollouts."""
    line_up, players = mixed(recurrent=True)
    env, host = stairs.compiled(), stairs.Hosted()
    play = rollout.host_play(host, line_up)
    ahead: Worker = rollout.unbegun(env, line_up, players, B)
    hosted = rollout.start_host(play, players, jax.random.key(0), B)
    unroll = jax.jit(lambda worker, key: rollout.unroll(env, line_up, players, worker, key, T))
    for seed in (5, 6):
        key = jax.random.key(seed)
        ahead, compiled = unroll(ahead, key)
        hosted, stepped = rollout.unroll_host(play, players, hosted, key, T)
        np.testing.assert_array_equal(stepped.transition.actions["climbers"], compiled.transition.actions["climbers"])
        close(stepped, compiled)
    assert (host.steps, host.resets) == (2 * T, 1)
    assert compiled.transition.last.any()


def test_a_host_environment_is_evaluated_like_a_compiled_one():
    line_up, players = mixed(recurrent=False)
    line_up = (line_up[0]._replace(trains=False), *line_up[1:])
    host, key = stairs.Hosted(), jax.random.key(4)
    stepped = rollout.evaluate_host(rollout.host_play(host, line_up), players, key, 6, 100)
    close(stepped, jax.jit(lambda: rollout.evaluate(stairs.compiled(), line_up, players, key, 6, 100))())
    assert host.steps == int(np.max(stepped.length)), "it went on when all episodes were over"
    cut = rollout.evaluate_host(rollout.host_play(host, line_up), players, key, 6, 3)
    assert np.asarray(cut.length).tolist() == [3] * 6


@pytest.mark.parametrize("make", [stairs.compiled, stairs.Hosted])
def test_frames_are_one_episode_from_its_first_moment_to_its_last(make):
    line_up, players = mixed(recurrent=True)
    line_up = (line_up[0]._replace(trains=False), *line_up[1:])
    shown = list(rollout.frames(make(), line_up, players, jax.random.key(1), 100))
    assert [frame.last for frame in shown] == [False] * (len(shown) - 1) + [True]
    assert len(shown) - 1 <= stairs.LIMIT
    assert shown[0].returns == {"team": 0.0, "old": 0.0, "guide": 0.0}
    heights = [int((frame.image[:, :, 1] == 80).sum()) for frame in shown]
    assert heights[0] == 3
    assert heights == sorted(heights), "the next episode's beginning was shown"
    assert sum(1 for _ in rollout.frames(make(), line_up, players, jax.random.key(1), 2)) == 3


@pytest.mark.parametrize("make", [stairs.compiled, stairs.Hosted])
def test_frames_tell_what_everybody_did_and_got(make):
    line_up, players = mixed(recurrent=False)
    shown = list(rollout.frames(make(), line_up, players, jax.random.key(1), 100))
    assert shown[0].actions is None
    sums = np.zeros(4)
    for frame in shown[1:]:
        assert {role: value.shape for role, value in frame.actions.items()} == {"climbers": (3,), "guide": (1,)}
        assert {role: value.shape for role, value in frame.rewards.items()} == {"climbers": (3,), "guide": (1,)}
        assert frame.alive["climbers"].dtype == bool
        sums += [*frame.rewards["climbers"], *frame.rewards["guide"]]
        assert frame.returns == pytest.approx({"team": sums[0], "old": sums[1], "guide": sums[3]})
    assert shown[0].alive["climbers"].all()
    assert not shown[-1].alive["climbers"].all()


@pytest.mark.parametrize(
    ("drawn", "sentence"),
    [
        (None, "stairs draws no picture that can be shown: an image is [H, W, 3] uint8, got none"),
        (np.zeros((4, 4, 3)), "got [4, 4, 3] float64"),
        (np.zeros((4, 4), np.uint8), "got [4, 4] uint8"),
        (NotImplementedError, "stairs draws no pictures"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(drawn, sentence):
    def render(state, b):
        if drawn is NotImplementedError:
            raise NotImplementedError
        return drawn

    line_up, players = mixed(recurrent=False)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        next(rollout.frames(replace(stairs.compiled(), render=render), line_up, players, jax.random.key(1), 2))


def test_a_second_episode_compiles_nothing():
    env, (line_up, players) = stairs.compiled(), mixed(recurrent=False)
    list(rollout.frames(env, line_up, players, jax.random.key(1), 3))
    before = rollout._act_once._cache_size(), rollout._start_once._cache_size()
    list(rollout.frames(env, line_up, players, jax.random.key(2), 3))
    assert (rollout._act_once._cache_size(), rollout._start_once._cache_size()) == before
