"""Foreign runs in a store: kind, figures, names, and none of them twice."""

import json

from agonist.importers import bring
from agonist.runs import list_runs, open_store, read_metrics, read_run

RUN = {f"step_{k}": {"step_count": 64 * k, "elapsed_time": 2.0 * k, "mean_episode_return": [k, k + 1.0]} for k in range(3)} | {
    "absolute_metrics": {"mean_episode_return": [5.0] * 20}
}


def write(path, tree):
    path.write_text(json.dumps(tree))
    return path


def test_a_run_of_kind_foreign(tmp_path):
    store = open_store(tmp_path / "store")
    [one] = bring(store, write(tmp_path / "metrics.json", {"lbf": {"x": {"qmix": {"seed_4": RUN}}}}))
    assert (one.new, one.spec["seed"], one.steps, one.points) == (True, 4, 128, 9)
    head = read_run(store, one.run)
    assert (head["kind"], head["spec"]) == ("foreign", {"algo": "qmix", "env": "lbf:x", "seed": 4, "steps": 128})
    assert head["extra"]["imported"]["file"] == "metrics.json"
    summary = head["summary"]
    assert (summary["status"], summary["steps"], summary["wall_seconds"]) == ("finished", 128, 4.0)
    assert (summary["final"]["eval/return"], summary["last"]["eval/return"]) == (5.0, 2.5)
    steps, times, values = read_metrics(store, one.run)["eval/return"]
    assert (steps.tolist(), values.tolist()) == ([0, 64, 128], [0.5, 1.5, 2.5])
    assert (times - times[0]).tolist() == [0, 2, 4]


def test_none_twice_and_what_is_new_of_a_file_that_grew(tmp_path):
    store, path = open_store(tmp_path / "store"), tmp_path / "metrics.json"
    write(path, {"lbf": {"x": {"qmix": {"seed_0": RUN, "seed_1": RUN}}}})
    assert [one.new for one in bring(store, path, dry=True)] == [True, True]
    assert not list_runs(store)
    first = bring(store, path)
    assert [one.new for one in first] == [True, True]
    write(path, {"lbf": {"x": {"qmix": {"seed_1": RUN, "seed_0": RUN, "seed_2": RUN}}}})
    again = bring(store, path, name="other")
    assert [one.new for one in again] == [False, False, True]
    assert {one.run for one in again[:2]} == {one.run for one in first}
    assert [one.spec["algo"] for one in again] == ["qmix", "qmix", "other"]
    assert len(list_runs(store)) == 3


def test_names(tmp_path):
    store = open_store(tmp_path / "store")
    path = write(tmp_path / "metrics.json", {"lbf": {"x": {"qmix": {"seed_0": RUN}, "vdn": {"seed_0": RUN}}}})
    assert [one.spec["algo"] for one in bring(store, path, name="theirs", dry=True)] == ["theirs qmix", "theirs vdn"]
    (tmp_path / "a.csv").write_text("step,time,a\n1,10,1\n2,13,2\n")
    [one] = bring(store, tmp_path / "a.csv", "vdn", {"env": "e:t", "seed": "3"})
    head = read_run(store, one.run)
    assert head["spec"] == {"algo": "vdn", "env": "e:t", "seed": 3, "steps": 2}
    assert head["summary"]["wall_seconds"] == 3.0


def test_one_that_was_cut_short_is_brought_again(tmp_path):
    store, path = open_store(tmp_path / "store"), write(tmp_path / "metrics.json", {"e": {"t": {"a": {"s0": RUN}}}})
    [one] = bring(store, path)
    name = f"runs/{one.run}/summary.json"
    store.replace(name, json.dumps({**json.loads(store.get(name)), "status": "interrupted"}).encode())
    assert bring(store, path)[0].new
