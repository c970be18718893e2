"""`agonist runs export`, and that what was exported is imported again."""

import zipfile

import pandas as pd
import pytest

from agonist.runs import create, open_store


def test_a_run_goes_into_another_store(agonist, trained, tmp_path):
    store, run = trained
    said = agonist("runs", "export", "latest", "--store", store, "--out", "x.zip", "--json").json
    assert (said["out"], said["kind"], said["runs"]) == ("x.zip", "zip", [run["run"]])
    assert said["bytes"] == (tmp_path / "x.zip").stat().st_size
    assert agonist("runs", "import", "x.zip", "--store", "other").code == 0
    ours, theirs = open_store(store), open_store("other")
    files = [*ours.list(f"runs/{run['run']}/")]
    assert {name: ours.get(name) for name in files} == {
        name: theirs.get(name) for name in theirs.list("runs/") if not name.endswith("/imported.json")
    }


def test_tables(agonist, trained):
    store, _ = trained
    assert agonist("runs", "export", "--where", "kind = train", "--store", store, "--out", "x.csv").code == 0
    assert agonist("runs", "export", "latest", "--store", store, "--out", "x.parquet").code == 0
    one, two = pd.read_csv("x.csv"), pd.read_parquet("x.parquet")
    assert len(one) == len(two)
    assert one[one.name == "eval/return"].step.tolist() == [0, 64, 128, 192, 256, 320]


def test_nothing_is_replaced_unasked(agonist, trained, tmp_path):
    store, _ = trained
    (tmp_path / "x.zip").write_bytes(b"mine")
    said = agonist("runs", "export", "latest", "--store", store, "--out", "x.zip")
    assert (said.code, (tmp_path / "x.zip").read_bytes()) == (2, b"mine")
    assert "--force" in said.err
    assert agonist("runs", "export", "latest", "--store", store, "--out", "x.zip", "--force").code == 0
    assert zipfile.is_zipfile("x.zip")
    assert agonist("runs", "export", "latest", "--store", store, "--out", "y.zip", "--dry-run").code == 0
    assert not (tmp_path / "y.zip").exists()


@pytest.mark.parametrize(("words", "why"), [(["latest", "--out", "x.rar"], "end it in"), (["--out", "x.zip"], "which runs?")])
def test_wrong_words(agonist, trained, words, why):
    said = agonist("runs", "export", *words, "--store", trained[0])
    assert (said.code, said.out) == (2, "")
    assert why in said.err


def test_a_sweep_takes_its_runs_along(agonist):
    store = open_store("store")
    sweep = create(store, "sweep", {}, argv=[], run_id="20260201-000000-red-owl")
    for i in range(2):
        child = create(store, "train", {"algo": "ppo", "seed": i}, parents=[sweep.id], argv=[], run_id=f"2026020{i + 2}-000000-grey-owl")
        child.metrics(1, {"eval/return": 0.5})
        child.finish("finished")
    sweep.finish("finished")
    assert "3 runs, 2 of them part of a sweep" in agonist("runs", "export", "red-owl", "--out", "x.zip").out
    assert agonist("runs", "import", "x.zip", "--store", "other").code == 0
    assert len(agonist("runs", "show", "red-owl", "--store", "other", "--json").json["children"]) == 2
    assert len(agonist("runs", "export", "red-owl", "--out", "x.csv", "--json").json["runs"]) == 2
    assert pd.read_csv("x.csv").seed.tolist() == [0, 1]


def test_a_table_brings_the_result_back(agonist, trained):
    store, run = trained
    assert agonist("runs", "export", run["run"], "--store", store, "--out", "x.csv").code == 0
    assert agonist("runs", "import", "x.csv", "--store", "other").code == 0
    [back] = agonist("runs", "list", "--store", "other", "--json").json["runs"]
    for name in ("eval/return", "eval/interval", "eval/episodes"):
        assert back[name] == run[name]
    assert agonist("runs", "compare", "--store", "other").code == 0
    assert agonist("plot", "metrics", "--store", "other").code == 0
