"""The compiled loop: devices and chunks change nothing, randomness is a function of the step, everybody gets what is theirs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agonist import algos, loop, placement, rollout
from agonist.algos.scripted import make_script
from agonist.buffers import make_buffer
from agonist.loop import TrainConfig
from agonist.testing import stairs
from agonist.types import Group, Players

CLIMBERS, GUIDE = stairs.SPEC.roles
KEYS = {"hidden": (8,), "rollout": 8, "epochs": 1, "minibatches": 1}
TWO, SEED, ODDS = {"eval_every": 2, "eval_episodes": 8}, jax.random.key(11), (np.ones(1, np.float32),) * 2


def ppo(role, axes=(), **keys):
    return algos.make("ppo", algos.configure("ppo", {**KEYS, **keys}), role, axes)


GUIDES = ppo(GUIDE, hidden=(6,))
OLD, OLDER = (
    Players(((), jax.tree.map(lambda leaf: 3 * np.asarray(leaf)[None], GUIDES.policy(GUIDES.init(jax.random.key(i))))), ODDS)
    for i in (1, 2)
)


def team(axes=(), **keys):
    """The climbers learn, the guide is a frozen policy of another architecture."""
    return (Group("climbers", ppo(CLIMBERS, axes, **keys), trains=True), Group("guide:old", GUIDES))


def program_of(make=team, devices=1, **train):
    config = TrainConfig(**{"envs": 8, "shards": 1, **TWO, **train})
    lay = placement.layout(config.shards, tuple(jax.devices()[:devices]))
    line_up = make(lay.axes)
    buffers = tuple(make_buffer(group.algorithm.plan) if group.trains else None for group in line_up)
    return loop.make_program(stairs.compiled(), line_up, buffers, config, lay)


def numbers(tree):
    def of(leaf):
        return np.asarray(jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)

    return jax.tree.map(of, tree)


def same(a, b):
    assert jax.tree.structure(numbers(a)) == jax.tree.structure(numbers(b))
    jax.tree.map(np.testing.assert_array_equal, numbers(a), numbers(b))


def gone(program, until, state=None, seed=SEED, frozen=OLD):
    """The reports up to there."""
    return list(program.learn(program.init(seed, frozen) if state is None else state, frozen, seed, until))


@pytest.fixture(scope="module")
def both():
    """The climbers and the guide learn, in one shard."""
    return program_of(lambda axes: (Group("climbers", ppo(CLIMBERS, axes), True), Group("guide", ppo(GUIDE, axes, lr=0.0), True)))


@pytest.fixture(scope="module")
def alone():
    """The climbers learn, in one shard; and the compiled function that the program is."""
    made, real = [], jax.jit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "jit", lambda f, **keys: made.append(real(f, **keys)) or made[-1])
        program = program_of()
    return program, made[-1]


# devices


@pytest.fixture(scope="module")
def four():
    """Four shards, on one device and on two: the reports of seven updates."""
    assert len(jax.devices()) == 2, "these tests need two devices"
    many = {"envs": 16, "shards": 4}
    return [gone(program_of(devices=devices, **many), 7) for devices in (1, 2)]


def test_two_devices_are_one_within_float_error(four):
    one, two = four
    assert {len(leaf.devices()) for leaf in jax.tree.leaves(two[-1].state.workers)} == {2}
    assert [report.update for report in one] == [report.update for report in two] == [0, 2, 4, 6, 7]
    for a, b in zip(one, two, strict=True):
        jax.tree.map(
            lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, atol=2e-5), numbers(a.state.learners), numbers(b.state.learners)
        )
        assert set(a.metrics) == set(b.metrics)
        for name, value in a.metrics.items():
            np.testing.assert_allclose(value, b.metrics[name], rtol=1e-3, atol=1e-4, err_msg=name)
        if a.evaluation is not None:
            np.testing.assert_allclose(a.evaluation.returns["climbers"], b.evaluation.returns["climbers"])
    start, end = (jax.tree.leaves(numbers(one[i].state.learners[0].params)) for i in (0, -1))
    assert max(np.abs(a - b).max() for a, b in zip(start, end, strict=True)) > 1e-3, "nothing was learned: the comparison proves nothing"


def test_shards_play_by_themselves(four):
    """No two shards have the same episodes, no two evaluations the same actions."""
    workers = numbers(four[0][-1].state.workers)
    assert workers.timestep.obs["climbers"].shape[:2] == (4, 4)
    returns = [report.evaluation.returns["climbers"].reshape(4, 2) for report in four[0] if report.evaluation is not None]
    assert any(np.any(evaluation != evaluation[:1]) for evaluation in returns)
    assert np.any(returns[0] != returns[1])


def test_all_purposes_have_keys_of_their_own():
    seen = set()
    for update in (0, 1, 2**20):
        for what in range(6):
            for shard, nth in ((0, 0), (1, 0), (0, 1), (3, 9), (65535, 4095)):
                seen.add(tuple(np.asarray(jax.random.key_data(loop.purpose(SEED, update, what, shard, nth))).tolist()))
    assert len(seen) == 3 * 6 * 5


# chunks


def test_a_run_in_pieces_is_one_in_one_piece(both):
    """Seven updates; three, then on to seven; one at a time: to the bit, with the same metrics and evaluations."""
    straight = gone(both, 7)
    pieces = gone(both, 3)
    pieces += gone(both, 7, pieces[-1].state)
    single = gone(both, 1)
    for until in range(2, 8):
        single += gone(both, until, single[-1].state)
    for other in (pieces, single):
        same(other[-1].state, straight[-1].state)
        assert int(other[-1].state.update) == 7
        for name in straight[1].metrics:
            np.testing.assert_array_equal(
                *(np.concatenate([report.metrics[name] for report in reports if name in report.metrics]) for reports in (straight, other))
            )
        evaluations = [{report.update: report.evaluation for report in reports if report.evaluation} for reports in (straight, other)]
        assert list(evaluations[0]) == list(evaluations[1]) == [0, 2, 4, 6]
        same(*evaluations)


def test_points_of_evaluation_depend_on_the_step_alone(both):
    for until in (0, 1, 2, 5, 8):
        reports = gone(both, until)
        assert [report.update for report in reports if report.evaluation] == [u for u in (0, 2, 4, 6, 8) if u <= until]
        assert [len(next(iter(report.metrics.values()))) for report in reports][:1] == [0]
        assert reports[-1].update == until
    assert gone(both, 5, reports[-1].state) == []  # it has come further


def test_the_program_is_the_same_whatever_is_asked_of_it(alone):
    program, chunk = alone
    reports = gone(program, 3)
    gone(program, 7, reports[-1].state)
    gone(program, 4, seed=jax.random.key(12), frozen=OLDER)
    program.absolute(reports[-1].state, loop._policies(team(), reports[-1].state.learners), OLD, SEED, 2)
    gone(program, 5, program.place(jax.tree.map(np.asarray, reports[-1].state)))
    assert chunk._cache_size() == 1


# evaluation


def test_an_evaluation_is_of_exactly_the_policies_of_its_state(both):
    """The same play by hand: the state's policies, this purpose's key."""
    report = gone(both, 2)[-1]
    line_up = (Group("climbers", ppo(CLIMBERS)), Group("guide", ppo(GUIDE)))
    policies = tuple(group.algorithm.policy(learner) for group, learner in zip(line_up, report.state.learners, strict=True))
    players = Players(tuple(map(rollout.stacked, policies)), ODDS)
    play = jax.jit(lambda players, key: rollout.evaluate(stairs.compiled(), line_up, players, key, 8, stairs.LIMIT))
    wanted = play(players, loop.purpose(SEED, 2, loop.EVALUATE))
    np.testing.assert_array_equal(report.evaluation.length, wanted.length)
    for role in ("climbers", "guide"):
        np.testing.assert_allclose(report.evaluation.returns[role], wanted.returns[role], rtol=1e-6)


def test_the_absolute_metric_is_of_the_policies_that_it_is_given(both):
    """Ten rounds of evaluation, each by hand, of policies that are not the state's."""
    reports = gone(both, 2)
    line_up = (Group("climbers", ppo(CLIMBERS)), Group("guide", ppo(GUIDE)))
    early, late = (
        tuple(group.algorithm.policy(learner) for group, learner in zip(line_up, report.state.learners, strict=True)) for report in reports
    )
    given = jax.tree.map(lambda leaf: 4 * leaf, early)
    got = both.absolute(reports[-1].state, given, OLD, SEED, 5)
    assert got.length.shape == (10 * 8,)
    play = jax.jit(lambda players, key: rollout.evaluate(stairs.compiled(), line_up, players, key, 8, stairs.LIMIT))
    players = Players(tuple(map(rollout.stacked, given)), ODDS)
    wanted = [play(players, loop.purpose(SEED, 5, loop.ABSOLUTE, 0, nth)) for nth in range(10)]
    np.testing.assert_array_equal(got.length, np.concatenate([one.length for one in wanted]))
    np.testing.assert_allclose(got.returns["climbers"], np.concatenate([one.returns["climbers"] for one in wanted]))
    other = both.absolute(reports[-1].state, late, OLD, SEED, 5)
    assert np.any(other.returns["climbers"] != got.returns["climbers"])


@pytest.mark.parametrize(
    ("sampled", "stochastic", "greedy"), [(None, True, False), (None, False, True), (True, False, False), (False, True, True)]
)
def test_trainees_are_evaluated_as_they_play_or_as_is_said(sampled, stochastic, greedy):
    algorithm = algos.make("ppo", algos.configure("ppo", KEYS), GUIDE)
    group = Group("guide", jax.tree.map(lambda x: x, algorithm) if stochastic else make_script("action:1", GUIDE), trains=True)
    other = Group("climbers", make_script("random", CLIMBERS))
    evaluated = loop.evaluated((group, other), sampled)
    assert evaluated == (group._replace(trains=False, greedy=greedy), other)


# who learns


def test_each_role_learns_by_itself_with_metrics_of_its_own(both):
    reports = gone(both, 4)
    names = set(reports[-1].metrics)
    assert {"loss/value/climbers", "loss/value/guide", "rate/lr/climbers", "train/return/climbers", "train/return/guide"} <= names
    assert not {"loss/value", "rate/lr"} & names
    assert np.all(reports[-1].metrics["rate/lr/guide"] == 0)
    assert np.all(reports[-1].metrics["rate/lr/climbers"] > 0)
    np.testing.assert_array_equal(reports[-1].metrics["train/return"], reports[-1].metrics["train/return/climbers"])
    first, last = (numbers(report.state.learners) for report in (reports[0], reports[-1]))
    assert any(np.any(a != b) for a, b in zip(jax.tree.leaves(first[0].params), jax.tree.leaves(last[0].params), strict=True))
    same(first[1].params, last[1].params)  # lr = 0
    assert int(last[1].updates) == 4


def test_what_was_played_is_told(alone):
    """Episodes, their mean length and return, of each update; nan where no episode ended."""
    for report in gone(alone[0], 5)[1:]:
        told = {name: report.metrics[f"train/{name}"] for name in ("episodes", "length", "return", "return/climbers")}
        assert np.all(told["episodes"] >= 8)
        assert np.all((told["length"] >= 2) & (told["length"] <= stairs.LIMIT))
        assert np.all((told["return"] >= 0) & (told["return"] <= 36))
        np.testing.assert_array_equal(told["return"], told["return/climbers"])
    sums = {"episodes": jnp.int32(4), "length": jnp.float32(10), "return/climbers": jnp.float32(3), "return/guide:old": jnp.float32(-2)}
    told = loop.told_of(team(), sums)
    wanted = {"episodes": 4, "length": 2.5, "return": 0.75, "return/climbers": 0.75, "return/guide:old": -0.5}
    assert {name: float(value) for name, value in told.items()} == {f"train/{name}": value for name, value in wanted.items()}
    nothing = loop.told_of(team(), {name: value * 0 for name, value in sums.items()})
    assert float(nothing.pop("train/episodes")) == 0
    assert all(np.isnan(value) for value in nothing.values())


def test_a_frozen_role_stays_as_it_is_and_is_data(alone):
    """A policy that does not learn is no part of the state, and another one is played by the same program."""
    ends = []
    for players in (OLD, OLDER):
        kept = jax.tree.map(np.copy, players.params)
        reports = gone(alone[0], 4, frozen=players)
        same(players.params, kept)
        assert reports[-1].state.learners[1] == ()
        assert "loss/value" in reports[-1].metrics  # one trainee: its names are plain
        ends.append(numbers(reports[-1].state.learners[0].params))
    assert any(np.any(a != b) for a, b in zip(*map(jax.tree.leaves, ends), strict=True))
    assert alone[1]._cache_size() == 1


def test_rates_are_data(alone):
    """A state that is told another rate goes on with it, and nothing is compiled."""
    program, chunk = alone
    state = gone(program, 2)[-1].state
    learner = state.learners[0]
    slower = learner._replace(rates={**learner.rates, "actor_lr": jnp.float32(0.0), "critic_lr": jnp.float32(0.0)})
    after = gone(program, 4, program.place(state._replace(learners=(slower, ()))))[-1]
    same(after.state.learners[0].params, learner.params)
    assert np.all(after.metrics["rate/lr"] == 0)
    assert chunk._cache_size() == 1


# what is refused


def refused(make=team, **train):
    with pytest.raises(ValueError, match=r".") as error:
        program_of(make, **train)
    return str(error.value)


def test_numbers_that_do_not_divide_are_named():
    assert refused(envs=9, shards=2) == "need shards to divide envs, got shards=2, envs=9"
    assert refused(eval_episodes=7, shards=2) == "need shards to divide eval_episodes, got shards=2, eval_episodes=7"
    sentence = refused(lambda axes: team(axes, minibatches=3), envs=4, shards=2)
    assert "minibatches=3, sequences=16 (4 envs / 2 shards x 8 sequences a rollout)" in sentence


def test_trainees_need_one_rollout_length_and_somebody_must_learn():
    lengths = refused(lambda axes: (Group("climbers", ppo(CLIMBERS), True), Group("guide", ppo(GUIDE, rollout=4), True)))
    assert lengths == "trainees of one run need one rollout length, got [4, 8]"
    nobody = refused(lambda axes: (Group("climbers", make_script("random", CLIMBERS)), Group("guide", make_script("random", GUIDE))))
    assert nobody == "nobody in this line-up learns: leave at least one role to a trainee"


def test_a_line_up_without_all_seats_is_refused():
    assert "this line-up holds [('climbers', 0)" in refused(lambda axes: team(axes)[:1])


# from the host


@pytest.fixture(scope="module")
def stepped():
    """A host program on two shards, with its two environments."""
    host, other, line_up = stairs.Hosted(), stairs.Hosted(), team(("shards",))
    buffers = (make_buffer(line_up[0].algorithm.plan), None)
    return loop.make_host_program(host, other, line_up, buffers, TrainConfig(**TWO, envs=4, shards=2)), host, other


def test_a_host_environment_is_learned_in_the_same_way(stepped, alone):
    """The same points, the same metrics; evaluation leaves the episodes of training alone, and nothing is played ahead."""
    program, host, other = stepped
    before, resets = host.steps, other.resets
    reports = program.learn(program.init(SEED, OLD), OLD, SEED, 5)
    taken = []
    for report in reports:
        taken.append(report)
        assert host.steps - before == report.update * 8
    assert [report.update for report in taken] == [0, 2, 4, 5]
    assert [report.evaluation is not None for report in taken] == [True, True, True, False]
    assert taken[1].evaluation.returns["climbers"].shape == (8,)
    assert other.resets - resets == 3
    compiled = gone(alone[0], 2)
    assert set(taken[1].metrics) == set(compiled[-1].metrics)
    assert jax.tree.structure(taken[-1].state.learners) == jax.tree.structure(compiled[-1].state.learners)
    played = program.absolute(taken[-1].state, loop._policies(team(), taken[-1].state.learners), OLD, SEED, 4)
    assert played.length.shape == (80,)


def test_a_host_run_does_not_know_of_the_one_before(stepped):
    """One program trains several seeds: the second run is what it would be alone."""
    program, _, _ = stepped
    first = gone(program, 3)[-1].state
    other = gone(program, 3, seed=jax.random.key(5))[-1].state
    again = gone(program, 3)[-1].state
    same(first.learners, again.learners)
    assert any(np.any(a != b) for a, b in zip(jax.tree.leaves(first.learners), jax.tree.leaves(other.learners), strict=True))


# several runs at once


def test_runs_stacked_as_an_axis_are_what_they_are_alone():
    """As an accelerator has them, up to float rounding; two of them have farther to go than the third, and one is given up."""
    lay, line_up = placement.layout(2, tuple(jax.devices()[:1])), team(("shards",))
    config = TrainConfig(envs=8, shards=2, **TWO)
    buffers = tuple(make_buffer(group.algorithm.plan) if group.trains else None for group in line_up)
    program = loop.make_program(stairs.compiled(), line_up, buffers, config, lay)
    parts = loop._Parts(stairs.compiled(), line_up, buffers, config, lay, KEYS["rollout"])
    many = loop._many(loop._chunk(parts), line_up, config.eval_every)
    seeds = {i: jax.random.key(i) for i in range(3)}
    starts = {i: loop.Start(program.init(seed, OLD), seed, 5 - i // 2, True) for i, seed in seeds.items()}
    alive, told = {0, 1, 2}, {i: [] for i in starts}
    for i, report in loop.together(program._replace(many=many), OLD, starts, alive):
        told[i].append(report)
        if i == 1 and report.update == 2:
            alive.discard(1)
    assert {i: [report.update for report in reports] for i, reports in told.items()} == {0: [0, 2, 4, 5], 1: [0, 2], 2: [0, 2, 4]}
    for i, reports in told.items():
        for report, other in zip(reports, program.learn(starts[i].state, OLD, seeds[i], starts[i].until, True), strict=False):
            for name, values in other.metrics.items():
                np.testing.assert_allclose(report.metrics[name], values, rtol=5e-3, atol=2e-3, err_msg=name)
            assert (report.evaluation is None) == (other.evaluation is None)
            assert jax.tree.map(np.shape, report.evaluation) == jax.tree.map(np.shape, other.evaluation)
        shapes = [jax.tree.map(np.shape, state) for state in (reports[-1].state, starts[i].state)]
        assert shapes[0] == shapes[1]
