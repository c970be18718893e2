"""Every example runs as it stands, with a short training given by words of its own."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from agonist.cli import main

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
SMALL = ("rollout=16", "envs=4", "hidden=[8]", "eval_every=1", "eval_episodes=4", "epochs=1", "shards=1", "steps=320")


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("AGONIST_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)


def run(example, words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(example), *words])
    runpy.run_path(str(example), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize("example", EXAMPLES[:4], ids=lambda path: path.stem)
def test_training_examples(example, monkeypatch, capsys):
    told = run(example, SMALL, monkeypatch, capsys)
    assert re.search(SAYS[example.name[:2]], told), told


SAYS = {
    "01": r"\d{8}-\d{6}-\w+-\w+ \S+ \[",
    "02": r"policy [0-9a-f]{20} foraged \d",
    "03": r"row against heads: shows (heads|tails), .*\ncolumn against that row: shows",
    "04": r"320 steps: together \d",
}


def test_reading_a_run(monkeypatch, capsys):
    assert main(["train", "ppo", "matrix:rps", *SMALL[:-1], "--steps", "320", "--json"]) == 0
    capsys.readouterr()
    told = run(EXAMPLES[4], [], monkeypatch, capsys)
    assert "ppo on matrix:rps" in told
    assert re.findall(r"^ +(\d+) ", told, re.MULTILINE)[:3] == ["0", "64", "128"]
    assert re.search(r"policy [0-9a-f]{20} of step 320", told)


def test_examples_are_numbered_and_short():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf8").splitlines()
        assert len(lines) < 60, path.name
        assert lines[0].startswith('"""'), path.name
