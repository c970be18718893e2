"""`agonist doctor`."""

import agonist as package
from agonist import devices


def test_a_healthy_machine(agonist, tmp_path):
    said = agonist("doctor", "--store", tmp_path / "s", "--json")
    assert said.code == 0
    assert said.json["ok"]
    checks = {check["what"]: check for check in said.json["checks"]}
    assert {"agonist", "python", "cores", "jax", "compile cache", "store"} <= set(checks)
    assert package.__version__ in checks["agonist"]["says"]
    assert str(devices.cores()) in checks["cores"]["says"]
    assert "cpu" in checks["jax"]["says"]
    assert str(tmp_path / "s") in checks["store"]["says"]
    assert "ready to train" in agonist("doctor", "--store", tmp_path / "s").out


def test_it_leaves_nothing_in_the_store(agonist, tmp_path):
    agonist("doctor", "--store", tmp_path / "s")
    assert [path for path in (tmp_path / "s").rglob("*") if path.is_file()] == []
    assert agonist("runs", "list", "--store", tmp_path / "s", "--json").json == {"runs": []}


def test_a_broken_store_is_exit_code_1(agonist, tmp_path):
    (tmp_path / "file").write_text("")
    said = agonist("doctor", "--store", tmp_path / "file", "--json")
    assert said.code == 1
    assert not said.json["ok"]
    [broken] = [check for check in said.json["checks"] if check["state"] == "broken"]
    assert broken["what"] == "store"
    assert "broken: store" in agonist("doctor", "--store", tmp_path / "file").out


def test_a_missing_extra_says_how_to_get_it(agonist, monkeypatch):
    from agonist.cli import doctor

    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "gymnasium" else "1.0")
    said = agonist("doctor", "--json")
    extra = next(check for check in said.json["checks"] if check["what"] == "extra gymnasium")
    assert extra["state"] == "warn"
    assert "pip install 'agonist[gymnasium]'" in extra["says"]
    assert said.code == 0
