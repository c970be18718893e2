"""`agonist runs import`: other people's files become runs that list and show; archives come back."""

import json

STEPS = {f"step_{k}": {"step_count": 100 * k, "elapsed_time": float(k), "mean_episode_return": [float(k), k + 1.0]} for k in range(3)}
TREE = {"lbf": {"x": {"qmix": {"seed_0": STEPS, "seed_1": STEPS}}}}


def test_a_file_of_mavas(agonist, tmp_path):
    (tmp_path / "metrics.json").write_text(json.dumps(TREE))
    dry = agonist("runs", "import", "metrics.json", "--dry-run", "--json").json
    assert (len(dry["imported"]), dry["dry_run"], dry["imported"][0]["run"]) == (2, True, None)
    assert agonist("runs", "list", "--json").json["runs"] == []
    said = agonist("runs", "import", "metrics.json", "--as", "theirs")
    assert said.code == 0
    assert "2 new, 0 there already in" in said.out
    rows = agonist("runs", "list", "--json").json["runs"]
    assert [(row["kind"], row["algo"], row["env"], row["seed"], row["steps"]) for row in rows] == [
        ("foreign", "theirs", "lbf:x", 0, 200),
        ("foreign", "theirs", "lbf:x", 1, 200),
    ]
    assert [row["eval/return"] for row in rows] == [2.5, 2.5]
    again = agonist("runs", "import", "metrics.json", "--json").json
    assert (again["imported"], [row["run"] for row in again["known"]]) == ([], [row["run"] for row in rows])
    assert "eval/return" in agonist("runs", "show", "latest").out


def test_a_table_with_keys(agonist, tmp_path):
    (tmp_path / "a.csv").write_text("episode,reward\n1,0.5\n2,0.75\n")
    words = ["runs", "import", "a.csv", "--as", "vdn", "env=rware:tiny-4ag", "seed=3", "step=episode", "return=reward", "--json"]
    [row] = agonist(*words).json["imported"]
    assert (row["spec"], row["steps"], row["points"]) == ({"algo": "vdn", "env": "rware:tiny-4ag", "seed": 3}, 2, 2)
    assert agonist("runs", "list", "--json").json["runs"][0]["eval/return"] == 0.75


def test_an_exported_run_comes_back(agonist, trained, tmp_path):
    store, run = trained
    assert agonist("runs", "export", run["run"], "--out", "a.zip", "--store", store).code == 0
    [row] = agonist("runs", "import", "a.zip", "--json").json["imported"]
    assert (row["run"], row["points"]) == (run["run"], None)
    assert agonist("runs", "show", run["run"], "--json").json["summary"]["policy"] == run["policy"]
    assert "there already" in agonist("runs", "import", "a.zip").out


def test_words_that_are_wrong(agonist, tmp_path):
    (tmp_path / "a.csv").write_text("step,a\n1,0.5\n")
    for words, sentence in [
        (["none.json"], "there is no file none.json"),
        (["a.csv", "sed=3"], "an import has no key 'sed'; did you mean seed"),
        (["a.csv", "seed=x"], "seed needs a whole number"),
        (["env=x"], "need a file to import"),
        ([], "Missing argument"),
    ]:
        said = agonist("runs", "import", *words)
        assert (said.code, said.out) == (2, ""), words
        assert sentence in said.err
        assert said.err.count("\n") == 1
    assert agonist("runs", "list", "--json").json["runs"] == []


def test_nobodys_file_speaks_to_the_terminal(agonist, tmp_path):
    """Escapes are taken out as they come in, and again as they are shown: an archive's runs come as they were."""
    from agonist.runs import create, marks, open_store

    step = {"step_count": 1, "elapsed_time": 1.0, "mean_episode_return": [1.0]}
    (tmp_path / "m.json").write_text(json.dumps({"e": {"t\x9b": {"\x1b]0;pwned\x07": {"seed_0": {"s": step}}}}}))
    said = agonist("runs", "import", "m.json", "--store", "s")
    assert "_]0;pwned_" in said.out
    assert agonist("runs", "list", "--store", "s", "--json").json["runs"][0]["env"] == "e:t_"
    run = create(open_store("s"), "train", {"algo": "\x1b[2J", "env": "\x9b2J", "\x1bkey": "\u202ex"}, argv=[], run_id="r-a-evil").id
    marks.change(open_store("s"), run, marks.note("one\n\x1b[31mtwo"))
    for words in (("list",), ("list", "--columns", "run,note,\x1bkey"), ("show", run), ("note", run, "\x07"), ("list", "--json")):
        said = agonist("runs", *words, "--store", "s")
        assert said.code == 0, said.err
        assert (said.out + said.err).replace("\n", "").isprintable(), words
    assert "?[31mtwo" in agonist("runs", "show", run, "--store", "s").out
    assert not {"\x1b", "\x9b"} & {*agonist("runs", "show", "\x1b[31m\x9b", "--store", "s").err}
