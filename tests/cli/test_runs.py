"""`agonist runs list`: finding runs."""

import json
import os
import sys

import pytest

from agonist.cli import output
from agonist.cli.runs import _fitting
from agonist.runs import create, marks, open_store

WORDS = ["calm-heron", "wise-otter", "bold-lynx", "shy-newt", "keen-kite"]


@pytest.fixture
def five(tmp_path):
    """Five finished runs; what each has scored."""
    store = open_store(str(tmp_path / "store"))
    for i, score in enumerate([0.5, 0.9, None, 0.7, 0.1]):
        spec = {"algo": ["ppo", "mappo"][i % 2], "env": "lbf:x", "seed": i, "lr": 10.0**-i, "hidden": [8, 8]}
        out = create(store, "train", spec, argv=[], run_id=f"2026110{i + 1}-000000-{WORDS[i]}")
        if score is not None:
            out.metrics(10, {"eval/return": score})
        out.finish("finished")
    marks.change(store, "20261101-000000-calm-heron", marks.tag("paper"))
    marks.change(store, "20261104-000000-shy-newt", marks.archive())
    return store


def names(said):
    assert said.code == 0, said.err
    return [row["run"].split("-", 2)[-1] for row in said.json["runs"]]


def test_list_tells_a_row_a_run(agonist, trained):
    store, run = trained
    [row] = agonist("runs", "list", "--store", store, "--json").json["runs"]
    assert (row["run"], row["kind"], row["algo"], row["env"], row["seed"]) == (run["run"], "train", "ppo", "matrix:rps", 0)
    assert (row["status"], row["steps"], row["policy"], row["hidden"]) == ("finished", 320, run["policy"], [8])
    assert row["eval/return"] == run["eval/return"]
    assert row["eval/interval"] == run["eval/interval"]
    assert "loss/policy" in row


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], [0, 1, 2, 4]),
        (["--all"], [0, 1, 2, 3, 4]),
        (["--limit", 2], [2, 4]),
        (["algo = ppo"], [0, 2, 4]),
        (["algo", "=", "ppo", "and", "seed", "!=", "2"], [0, 4]),
        (["--where", "tag:paper or lr < 1e-3"], [0, 4]),
        (["seed > 0", "--where", "algo = ppo or seed = 1"], [1, 2, 4]),
        (["archived = true"], [3]),
        (["run >= 20261102 and hidden = [8,8]", "--limit", 1], [4]),
        (["--sort", "-eval/return"], [1, 0, 4, 2]),
        (["--sort", "eval/return", "--limit", 2, "--all"], [4, 0]),
        (["--sort", "-age", "--limit", 1], [0]),
        (["seed = 77"], []),
    ],
)
def test_filters_order_and_limit(agonist, five, words, found):
    assert names(agonist("runs", "list", *words, "--json")) == [WORDS[i] for i in found]


def test_columns(agonist, five):
    said = agonist("runs", "list", "--columns", "seed,lr,hidden,missing-no", "--json")
    assert (said.code, "no run has a field 'missing-no'" in said.err) == (2, True)
    rows = agonist("runs", "list", "--columns", "seed,lr", "--limit", 1, "--json").json["runs"]
    assert rows == [{"run": "20261105-000000-keen-kite", "seed": 4, "lr": 1e-4}]
    out = agonist("runs", "list", "seed < 2", "--columns", "seed,lr,hidden,return,tags,age").out.splitlines()
    assert out[0].split() == ["seed", "lr", "hidden", "return", "tags", "age"]
    assert out[1].split()[:5] == ["0", "1", "[8,8]", "0.50", "paper"]
    assert out[2].split()[:3] == ["1", "0.1", "[8,8]"]


def test_a_filter_with_an_error_has_a_caret_under_the_spot(agonist, five):
    said = agonist("runs", "list", "algo = ppo env = lbf", "--json")
    assert (said.code, said.out) == (2, "")
    first, shown, caret = said.err.splitlines()
    assert "this is no filter" in first
    assert shown[caret.index("^") :] == "env = lbf"
    for words in (["--where", ""], ["--where", " "], ["("]):
        assert agonist("runs", "list", *words).code == 2


def test_a_field_that_no_run_has_is_told_and_not_refused(agonist, five):
    said = agonist("runs", "list", "alog = ppo", "--json")
    assert (said.code, said.json) == (0, {"runs": []})
    assert "no run has a field 'alog'; did you mean algo" in said.err
    assert agonist("runs", "list", "seed = 77").err == ""
    said = agonist("runs", "list", "--sort", "-alog")
    assert (said.code, said.err.count("\n")) == (2, 1)


def test_a_picture_says_how_many_there_are(agonist, five):
    assert "2 of 4 runs in" in agonist("runs", "list", "--limit", 2).out
    assert "4 runs in" in agonist("runs", "list").out
    assert "no run in" in agonist("runs", "list", "seed = 77").out


def test_an_empty_store_says_how_to_begin(agonist):
    said = agonist("runs", "list")
    assert said.code == 0
    assert "no runs in" in said.out
    assert "agonist train" in said.out
    assert agonist("runs", "list", "a = 1", "--sort", "b", "--columns", "c", "--json").json == {"runs": []}


def test_a_damaged_run_and_one_of_a_newer_version_are_listed_with_a_remark(agonist, five):
    home = f"{five.url}/runs/20261101-000000-calm-heron"
    for name in ("summary.json", "run.json"):
        with open(f"{home}/{name}", "w") as file:
            file.write("{")
    with open(f"{five.url}/runs/20261102-000000-wise-otter/summary.json", "r+") as file:
        newer = json.load(file) | {"format": 7, "created": 12}
        file.seek(0)
        file.truncate(file.write(json.dumps(newer)))
    said = agonist("runs", "list")
    assert said.code == 0
    for part in ("damaged", "newer", "format 7", "4 runs in"):
        assert part in said.out
    assert set(names(agonist("runs", "list", "status = damaged or status = newer", "--json"))) == {"calm-heron", "wise-otter"}


def test_a_narrow_terminal_loses_columns_not_letters(agonist, trained, monkeypatch):
    store, run = trained
    wide = agonist("runs", "list", "--store", store).out
    assert run["run"] in wide
    for part in ("matrix:rps", "finished", "320", "1 run in"):
        assert part in wide
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = agonist("runs", "list", "--store", store).out.splitlines()
        assert max(len(line.rstrip()) for line in narrow[:-1]) <= width
        assert run["run"].split("-", 2)[-1] in narrow[1]
        assert "…" not in "".join(narrow)


def test_which_columns_fit():
    cell = {"run": "20261119-214342-fast-hoopoe", "kind": "train", "algo": "ppo", "env": "matrix:rps", "seed": "0"}
    cell |= {"return": "0.97 [0.95, 0.99]", "tags": ""}
    untagged = [name for name in cell if name != "tags"]
    assert _fitting([cell], 200) == (untagged, True)
    assert _fitting([{**cell, "tags": "a,b"}], 200) == ([*cell], True)
    assert _fitting([cell], 70) == (untagged, False)
    assert _fitting([cell], 55) == (["run", "algo", "env", "return"], False)


def test_watching_needs_a_terminal(agonist, five):
    for words in ([], ["--json"]):
        said = agonist("runs", "list", "--watch", *words)
        assert (said.code, said.out) == (2, "")
        assert "--watch draws on a terminal" in said.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal, which Windows has none of")
def test_watching_looks_again_until_it_is_stopped(agonist, five, monkeypatch):
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 1:
            marks.change(five, "20261102-000000-wise-otter", marks.tag("seen-later"))
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("agonist.cli.runs.time.sleep", sleep)
    real = output.console

    def terminal(stream=None):
        made = real(stream)
        made._force_terminal = stream in (None, sys.stdout) or None
        return made

    monkeypatch.setattr(output, "console", terminal)
    said = agonist("runs", "list", "--watch")
    assert (said.code, looks) == (0, [2.0, 2.0])
    before, after = said.out.split("seen-later", 1)
    assert "wise-otter" in before
    assert "keen-kite" in after


def test_ten_thousand_runs_are_drawn_without_rich_tables(five):
    import time

    from agonist.cli.tables import table

    rows = [{"run": f"r{i}", "status": "finished", "steps": str(i)} for i in range(10_000)]
    began = time.process_time()
    drawn = table(["run", "status", "steps"], rows, right=["steps"], style=lambda column, cell: "green" if column == "status" else "")
    assert time.process_time() - began < 2.0
    assert drawn.plain.count("\n") == 10_000
