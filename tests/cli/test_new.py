"""`agonist new`: a package with another name. That it installs, passes its tests and trains: tests/examples/test_packages.py."""

import ast
import tomllib

import pytest

from agonist.cli import new


@pytest.mark.parametrize(("kind", "group"), [("env", "agonist.envs"), ("algo", "agonist.algos")])
def test_a_package_is_written_under_its_name(agonist, tmp_path, kind, group):
    told = agonist("new", kind, "tug_of_war", "--json").json
    root = tmp_path / "agonist-tug-of-war"
    assert told == {"kind": kind, "name": "tug_of_war", "folder": "agonist-tug-of-war", "files": told["files"], "written": True}
    assert sorted(told["files"]) == sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    assert {"README.md", "pyproject.toml", "tests/test_tug_of_war.py", "src/agonist_tug_of_war/card.py"} < set(told["files"])
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["name"] == "agonist-tug-of-war"
    assert project["entry-points"] == {group: {"tug_of_war": "agonist_tug_of_war.card:tug_of_war"}}
    text = "".join(path.read_text() for path in root.rglob("*") if path.is_file())
    assert "class TestTugOfWar" in text
    assert not any(word in text.lower() for word in ("seesaw", "plugin-", "agonist-reinforce", "make_reinforce"))
    for path in root.rglob("*.py"):
        ast.parse(path.read_text())


def test_a_dry_run_writes_nothing(agonist, tmp_path):
    said = agonist("new", "env", "pond", "--to", "there", "--dry-run")
    assert said.code == 0
    assert said.out.startswith("would write there\n  README.md\n")
    assert not (tmp_path / "there").exists()


def test_what_to_type_next_is_said(agonist, tmp_path):
    (tmp_path / "empty").mkdir()
    said = agonist("new", "algo", "mine", "--to", "empty").out
    assert "cd empty" in said
    assert "agonist train mine matrix:climbing --steps 1e5" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("env Pond", "'Pond' cannot be the name of a Python module: small letters, digits and _, a letter first, such as pond"),
        ("env 2pond", "'2pond' cannot be the name of a Python module: small letters, digits and _, a letter first"),
        (
            "env tug-of-war",
            "'tug-of-war' cannot be the name of a Python module: small letters, digits and _, a letter first, such as tug_of_war",
        ),
        ("env class", "class is a word of Python's: take another name"),
        ("algo match", "match is a word of Python's: take another name"),
        ("env lbf", "there is an environment lbf of agonist: take another name"),
        ("algo ppo", "there is an algorithm ppo of agonist: take another name"),
        ("env pond --to full", "full is there already: name another folder with --to"),
        ("env pond --to full/file", "full/file is there already: name another folder with --to"),
    ],
)
def test_bad_names_and_folders_are_refused(agonist, tmp_path, words, sentence):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    said = agonist("new", *words.split())
    assert (said.code, said.err) == (2, f"agonist: {sentence}\n")


def test_the_examples_name_is_in_no_other_word():
    """So that another name can be put for it."""
    for kind, old in new.EXAMPLES.items():
        for path, text in new.files(kind, "zz").items():
            assert old not in text.lower(), path
