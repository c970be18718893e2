"""What the code knows is told as it knows it; what is written by hand keeps to its form."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from agonist.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LARGEST = 300_000  # bytes of a picture


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def generate():
    sys.path.insert(0, str(ROOT / "docs"))
    found = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    sys.path.remove(str(ROOT / "docs"))
    return module


def marks(generate, page):
    return generate.PART.findall(page.read_text(encoding="utf8"))


@pytest.mark.parametrize("page", [page for page in PAGES if "made by docs/generate.py" in page.read_text(encoding="utf8")], ids=name_of)
def test_generating_changes_nothing(generate, page):
    text = page.read_text(encoding="utf8")
    if "Not installed here" in generate.filled(text):
        pytest.fail(f"{name_of(page)} is made where all extras are installed: make develop")
    assert generate.filled(text) == text, f"{name_of(page)} is behind the code: make docs"


def test_every_part_stands_on_some_page(generate):
    assert {mark for page in PAGES for mark in marks(generate, page)} == set(generate.PARTS)


def test_every_help_page_is_shown(generate):
    shown = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf8")
    for words in ([], ["train"], ["runs", "list"], ["doctor"]):
        assert f"```text\n{generate.help_of(words)}\n```" in shown


def test_every_metric_is_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AGONIST_STORE", str(tmp_path / "store"))
    small = ("rollout=16", "envs=4", "hidden=[8]", "eval_every=1", "eval_episodes=4", "epochs=1", "shards=1")
    assert main(["train", "ppo", "matrix:climbing", *small, "--steps", "640", "--json"]) == 0
    capsys.readouterr()
    assert main(["runs", "show", "latest", "--json"]) == 0
    metrics = set(json.loads(capsys.readouterr().out)["metrics"])
    pages = [ROOT / "docs" / "algorithms" / "ppo.md", ROOT / "docs" / "concepts" / "run.md"]
    explained = {name for page in pages for name in re.findall(r"`([a-z_]+/[a-z_]+)`", page.read_text(encoding="utf8"))}
    assert len(metrics) > 10
    assert metrics <= explained, sorted(metrics - explained)


def test_metrics_are_read_from_a_docstring(generate):
    text = (
        "It learns.\n\nBatch -> metrics:\n    loss/a         less is more\n    grad/a, grad/b norms,\n                   before clipping\n"
    )
    assert generate.metrics_of(text) == [(["loss/a"], "less is more"), (["grad/a", "grad/b"], "norms, before clipping")]


def test_measurements_are_told_where_there_are_some(generate, tmp_path, monkeypatch):
    monkeypatch.setattr(generate.measured, "ROOT", tmp_path)
    (tmp_path / "bench").mkdir()
    assert generate.PARTS["bench-train"]() == "Not measured yet: `agonist bench train`."
    found = '{"env": "lbf:x", "median": 1200, "env_steps_per_second": [1000, 1200, 1300], "limit_env_steps_per_second": [1500],'
    found += ' "fraction_of_limit": 0.8, "machine": {"cpu": "a chip", "cores": 2}, "commit": "0123456789abcdef", "date": "2026-01-01"}'
    (tmp_path / "bench" / "train.json").write_text(found)
    told = generate.PARTS["bench-train"]()
    assert "| ours | 1,200 | 1,000 - 1,300 |" in told
    assert "**0.8**" in told
    assert "a chip, 2 cores, commit 0123456789, 2026-01-01" in told
    (tmp_path / "bench" / "scale.json").write_text('{"device": "H200", "rows": [{"envs": 2048, "median": 1e7, "all": [9e6, 11e6]}]}')
    assert "| 2,048 | 10,000,000 | 9,000,000 - 11,000,000 | - | - |" in generate.PARTS["bench-scale"]()


def test_a_declaration_is_the_source_without_what_it_does(generate):
    from agonist.types import Role, TimeStep

    shown = generate.declared.declaration(TimeStep)
    assert shown.startswith("class TimeStep(NamedTuple):\n    obs: Roles  # [B, N, ...]\n")
    assert "What an environment says" not in shown
    shown = generate.declared.declaration(Role)
    assert "__post_init__" not in shown
    assert shown.endswith("    def holding(self, seats: tuple[int, ...]) -> Role: ...")


def test_a_signature_fits_the_page(generate):
    def short(name: "str" = "a", *, deep: "int | None" = None) -> "bool": ...

    def long(a_rather_long_name: "int", *, another_rather_long_name: "str" = "x", **and_all_the_others: "float") -> "bool": ...

    assert generate.declared.signature(short) == "short(name: str = 'a', *, deep: int | None = None) -> bool"
    assert generate.declared.signature(long).splitlines() == [
        "long(",
        "    a_rather_long_name: int,",
        "    *,",
        "    another_rather_long_name: str = 'x',",
        "    **and_all_the_others: float,",
        ") -> bool",
    ]


def test_all_that_is_exported_is_explained(generate):
    import agonist

    shown = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf8")
    for name in agonist.__all__:
        assert re.search(rf"^### agonist\.{name}\n\n\w", shown, re.MULTILINE), f"agonist.{name} has no docstring"


def test_pictures_are_small():
    pictures = [path for path in (ROOT / "docs" / "pictures").iterdir() if path.is_file()]
    assert pictures
    assert all(picture.stat().st_size < LARGEST for picture in pictures)


def test_decisions_are_numbered_without_gaps_and_say_three_things():
    found = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [int(page.name[:4]) for page in found] == list(range(1, len(found) + 1))
    for page in found:
        heads = re.findall(r"^## (.+)$", page.read_text(encoding="utf8"), re.MULTILINE)
        assert heads == ["Context", "Decision", "Consequence"], name_of(page)
