"""`agonist plugins`, and commands that packages add."""

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from agonist import plugins

HELLO = """
import sys
import typer
from typing import Annotated


def hello(name: Annotated[str, typer.Argument(help="Whom.")], loud: bool = False) -> None:
    '''Greet somebody.

    agonist hello world
    '''
    print(name.upper() if loud else name)


def ends() -> None:
    sys.exit(3)


app = typer.Typer(help="Several things at once.")


@app.command()
def one() -> None:
    print("one")


@app.command()
def two() -> None:
    raise ValueError("two is not enough")
"""


class Installed(EntryPoint):
    dist = None


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """installed({name: value}) are commands of the package `greetings`."""
    (tmp_path / "plugin_hello.py").write_text(HELLO)
    (tmp_path / "plugin_broken.py").write_text("raise RuntimeError('not today')\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def offer(commands, package="greetings"):
        entries = []
        for name, value in commands.items():
            entries.append(Installed(name, value, "agonist.commands"))
            object.__setattr__(entries[-1], "dist", SimpleNamespace(name=package, version="1.0", requires=[]))
        plugins.installed.cache_clear()
        found = plugins.entry_points
        monkeypatch.setattr(plugins, "entry_points", lambda group: entries if group == "agonist.commands" else found(group=group))

    yield offer
    plugins.installed.cache_clear()
    for name in ("plugin_hello", "plugin_broken"):
        sys.modules.pop(name, None)


def test_a_command_of_a_package_is_one_of_ours(agonist, installed):
    installed({"hello": "plugin_hello:hello", "several": "plugin_hello:app", "sick": "plugin_broken:x", "ends": "plugin_hello:ends"})
    assert agonist("hello", "world", "--loud").out == "WORLD\n"
    told = agonist("hello", "--help").out
    assert told.splitlines()[0] == "agonist hello name [OPTIONS]"
    assert "agonist hello world" in told
    assert agonist("several", "one").out == "one\n"
    said = agonist("several", "two")
    assert (said.code, said.err) == (2, "agonist: two is not enough\n")
    assert agonist("ends").code == 3
    assert agonist("hello").code == 2


def test_help_lists_them_and_a_broken_one_stops_nothing(agonist, installed):
    installed({"hello": "plugin_hello:hello", "several": "plugin_hello:app", "sick": "plugin_broken:x"})
    told = agonist("--help").out
    panel = told[told.index("Plugins\n") :].splitlines()
    assert [line.split() for line in panel[1:4]] == [
        ["hello", "Greet", "somebody."],
        ["several", "Several", "things", "at", "once."],
        ["sick", "broken;", "agonist", "plugins", "says", "why"],
    ]
    said = agonist("sick")
    assert (said.code, said.err) == (2, "agonist: sick of the package greetings is broken: RuntimeError: not today\n")
    assert agonist("algos").code == 0


def test_nothing_is_imported_for_other_commands(agonist, installed):
    installed({"hello": "plugin_hello:hello"})
    assert agonist("algos", "--json").code == 0
    assert agonist("no-such-command").code == 2
    assert "plugin_hello" not in sys.modules


def test_a_command_that_would_hide_ours_does_not(agonist, installed):
    installed({"algos": "plugin_hello:ends"})
    assert agonist("algos", "--json").json["algos"]
    assert agonist("greetings/algos").code == 3
    said = agonist("plugins")
    assert "algos is agonist's own; this one is had as greetings/algos" in said.out
    assert "Plugins" not in agonist("--help").out


def test_the_listing(agonist, installed):
    installed({"hello": "plugin_hello:hello", "sick": "plugin_broken:x"})
    found = {(row["package"], row["name"]): row for row in agonist("plugins", "--json").json["plugins"]}
    assert found["greetings", "hello"]["about"] == "Greet somebody."
    assert "RuntimeError: not today" in found["greetings", "sick"]["problem"]
    assert (found[None, "lbf"]["group"], found[None, "lbf"]["problem"]) == ("agonist.envs", None)
    told = agonist("plugins").out
    assert "greetings 1.0" in told
    assert "broken" in told
    assert "lbf" not in told
    assert "lbf" in agonist("plugins", "--all").out


def test_without_plugins_it_says_how_to_make_one(agonist, installed):
    installed({})
    assert "agonist new env NAME" in agonist("plugins").out
