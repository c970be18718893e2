"""`agonist bench`."""

from agonist import bench


def test_what_can_be_measured_is_listed(agonist):
    assert agonist("bench", "--json").json == {"benches": dict(bench.NAMES)}
    shown = agonist("bench").out
    assert all(name in shown for name in bench.NAMES)


def test_the_words_reach_the_measurement(agonist, monkeypatch):
    monkeypatch.setattr(bench, "run", lambda name, words: {"name": name, "words": words, "ratio": float("nan")})
    assert agonist("bench", "train", "rounds=2", "--json").json == {"name": "train", "words": ["rounds=2"], "ratio": None}


def test_an_unknown_one(agonist):
    said = agonist("bench", "trian")
    assert (said.code, said.out) == (2, "")
    assert "train" in said.err


def test_its_help_names_what_may_be_left_out(agonist):
    assert "agonist bench [NAME] [KEY=VALUE]..." in agonist("bench", "--help").out
