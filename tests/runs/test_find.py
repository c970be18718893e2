import numpy as np
import pytest

from agonist import runs
from agonist.checkpoints import PolicyContent, write_policy
from agonist.runs import marks, writer
from agonist.runs.store import DirectoryStore

IDS = ["20260101-000000-calm-heron", "20260101-000001-wise-otter", "20260202-000000-calm-otter"]


def policy(value, role="agents"):
    return PolicyContent({"role": role}, {"x": np.full(3, value, np.float32)})


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Three runs; the first with two checkpoints, the second of two roles, the third without any."""
    ids = iter(IDS)
    monkeypatch.setattr(writer, "new_id", lambda: next(ids))
    store = DirectoryStore(tmp_path / "store")
    one, two, _ = (runs.create(store, "train", {}, argv=[]) for _ in IDS)
    for step in (10, 20):
        one.checkpoint(step, step, {}, {"best": {"step": 10}}, {"agents": policy(step)}, best={"agents": policy(10)})
    two.checkpoint(5, 5, {}, {}, {"prey": policy(1, "prey"), "predator": policy(2, "predator")})
    return store


@pytest.mark.parametrize("text", [IDS[0], "calm-heron", "20260101-000000", "20260101-000000-c"])
def test_a_run_is_found_by_any_text_that_means_one(store, text):
    assert runs.find_run(store, text) == IDS[0]


def test_the_latest_run_is_the_newest(store):
    assert runs.find_run(store, "latest") == IDS[2]


def test_a_run_is_found_by_the_path_of_its_folder(store, tmp_path, monkeypatch):
    assert runs.find_run(store, f"{store.url}/runs/{IDS[1]}") == IDS[1]
    monkeypatch.chdir(tmp_path / "store" / "runs")
    assert runs.find_run(store, f"./{IDS[1]}/") == IDS[1]
    with pytest.raises(ValueError, match=f"is not in the store .*; use --store {store.url}"):
        runs.find_run(DirectoryStore(tmp_path / "other"), IDS[1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("calm-heran", f"no run 'calm-heran' in the store .*did you mean {IDS[0]}"),
        ("2026", "means 3 runs: 2026.*say more"),
        ("zzzz", f"the newest is {IDS[2]}"),
        ("", "no run ''"),
    ],
)
def test_a_run_that_is_not_found_is_said_with_the_nearest(store, text, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        runs.find_run(store, text)


def test_an_empty_store_says_so(tmp_path):
    with pytest.raises(ValueError, match="holds no runs yet"):
        runs.find_run(DirectoryStore(tmp_path), "calm-heron")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("calm-heron", 10),
        ("calm-heron@best", 10),
        ("calm-heron@last", 20),
        ("calm-heron@20", 20),
        (f"{IDS[0]}@10:agents", 10),
        (policy(20).name, 20),
        (policy(20).name[:6], 20),
    ],
)
def test_a_policy_is_found(store, text, expected):
    assert runs.find_policy(store, text).name == policy(expected).name


def test_a_policy_is_found_by_path_also_outside_the_store(store, tmp_path):
    path = write_policy(tmp_path / "odd@dir:x", policy(99))
    assert runs.find_policy(store, str(path)).name == policy(99).name
    assert runs.find_policy(store, f"{store.url}/runs/{IDS[0]}").name == policy(10).name


def test_a_run_of_several_roles_wants_one_named(store):
    assert set(runs.run_policies(store, IDS[1])) == {"prey", "predator"}
    assert runs.find_policy(store, "wise-otter:prey").name == policy(1, "prey").name
    assert runs.find_policy(store, "wise-otter@last:predator").name == policy(2, "predator").name
    with pytest.raises(ValueError, match=f"policies for prey, predator; say which, as in {IDS[1]}@best:prey"):
        runs.find_policy(store, "wise-otter")
    with pytest.raises(ValueError, match="not for 'shark'"):
        runs.find_policy(store, "wise-otter:shark")


def test_a_policy_that_is_not_found_is_said(store):
    with pytest.raises(ValueError, match=r"no run 'abcdef1'.*A policy is a folder, a hash"):
        runs.find_policy(store, "abcdef1")
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        runs.find_policy(store, "calm-otter")
    with pytest.raises(ValueError, match="has no checkpoint 15"):
        runs.find_policy(store, "calm-heron@15")


def test_a_damaged_policy_in_the_store_is_said(store):
    name = next(name for name in store.list("runs/") if name.endswith(f"{policy(20).name}/tensors.safetensors"))
    store.replace(name, store.get(name)[:-2])
    with pytest.raises(ValueError, match="not what its name says"):
        runs.find_policy(store, policy(20).name)


def test_several_policies_of_one_beginning_are_said(store):
    for i in range(2):
        store.replace(f"runs/{IDS[2]}/checkpoints/c/policies/abcdef{i}0000000000000/spec.json", b"{}")
    with pytest.raises(ValueError, match="'abcdef' means 2 policies"):
        runs.find_policy(store, "abcdef")


def test_of_runs_of_one_second_the_latest_is_the_one_begun_last(store):
    moments = iter(["2026-03-01T00:00:00.100+00:00", "2026-03-01T00:00:00.900+00:00", "2026-03-01T00:00:00.500+00:00"])
    for words in ("a-a", "b-b", "c-c"):
        store.replace(f"runs/20260301-000000-{words}/run.json", b'{"created": "%s"}' % next(moments).encode())
    assert runs.find_run(store, "latest") == "20260301-000000-b-b"


def test_a_folder_that_is_no_run_is_not_the_latest(store):
    store.replace("runs/20270101-000000-a-a/media/x.gif", b"")
    assert runs.find_run(store, "latest") == IDS[2]


def test_several_runs_by_name_and_by_filter(store):
    assert runs.find_runs(store, [f"{IDS[1]},calm-heron", "latest", IDS[1]]) == [IDS[1], IDS[0], IDS[2]]
    assert runs.find_runs(store, where="run >= 202601 and run < 202602") == IDS[:2]
    assert runs.find_runs(store, ["calm-heron", "latest"], "run < 202602") == [IDS[0]]
    marks.change(store, IDS[0], marks.archive())
    assert runs.find_runs(store, where="kind = train") == IDS[1:]
    assert runs.find_runs(store, ["calm-heron"], "kind = train") == [IDS[0]]
    with pytest.raises(ValueError, match="which runs"):
        runs.find_runs(store)
    with pytest.raises(ValueError, match=r"no run of the store .* meets sed = 3: no run has a field 'sed'; did you mean seed"):
        runs.find_runs(store, where="sed = 3")


def test_policies_of_deleted_runs_are_not_found(store):
    name = runs.find_policy(store, "wise-otter:prey").name
    assert runs.find_policy(store, name).name == name
    marks.change(store, IDS[1], marks.delete())
    with pytest.raises(ValueError, match=name):
        runs.find_policy(store, name)


def test_a_sweep_has_no_policy_and_names_its_best_run(tmp_path):
    store = DirectoryStore(tmp_path / "store")
    sweep = runs.create(store, "sweep", {}, argv=[], run_id="20260101-000000-bold-lynx").id
    with pytest.raises(ValueError, match=rf"^run {sweep} is a sweep of 0 runs: .*none of them has been evaluated yet"):
        runs.run_policies(store, sweep)
    for i, (words, score, status) in enumerate(
        (("calm-owl", 0.25, "finished"), ("wise-owl", 0.75, "finished"), ("red-owl", 9.0, "failed"))
    ):
        out = runs.create(store, "train", {}, parents=[sweep], argv=[], run_id=f"2026010{i + 2}-000000-{words}")
        out.metrics(1, {"eval/return": score})
        out.heartbeat(1)
        out.finish(status)
    for ask in (lambda: runs.run_policies(store, sweep), lambda: runs.find_policy(store, "bold-lynx@best")):
        with pytest.raises(
            ValueError, match=r"is a sweep of 3 runs: they have the policies, not it; the best is wise-owl \(eval/return 0.75\)"
        ):
            ask()
