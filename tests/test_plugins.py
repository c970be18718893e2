"""One door for ours and theirs."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from agonist import algos, envs, plugins


class Installed(EntryPoint):
    """An entry point of a package that somebody installed."""

    dist = None


def entry(name, value, package):
    made = Installed(name, value, "agonist.test")
    object.__setattr__(made, "dist", SimpleNamespace(name=package) if package else None)
    return made


@pytest.fixture
def offered(monkeypatch):
    """offered(entries...) are what is installed."""

    def offer(*entries):
        plugins.offers.cache_clear()
        monkeypatch.setattr(plugins, "entry_points", lambda group: list(entries))

    yield offer
    plugins.offers.cache_clear()


def test_what_pyproject_says_is_offered():
    told = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, entries in told.items():
        ours = {name: found.value for name, found in plugins.offers(group).items() if plugins.package(found) is None}
        assert ours == entries
        for name in entries:
            assert plugins.load(group, name) is not None


def test_ours_win_over_a_plugin_of_the_same_name(offered):
    offered(entry("one", "json:loads", "agonist"), entry("one", "json:dumps", "zz"), entry("two", "json:dump", "aa"))
    assert plugins.load("agonist.test", "one").__name__ == "loads"
    assert {name: plugins.package(found) for name, found in plugins.offers("agonist.test").items()} == {"one": None, "two": "aa"}


def test_a_package_without_a_name_is_unknown(offered):
    offered(entry("one", "json:loads", None))
    assert plugins.package(plugins.offers("agonist.test")["one"]) == "unknown"


@pytest.mark.parametrize(("value", "error"), [("no_such_module_at_all:x", "ModuleNotFoundError"), ("json:no_such_name", "AttributeError")])
def test_a_broken_plugin_raises_only_when_it_is_asked_for(offered, value, error):
    offered(entry("good", "json:loads", "nice"), entry("bad", value, "sloppy"))
    assert set(plugins.offers("agonist.test")) == {"good", "bad"}
    assert plugins.load("agonist.test", "good") is not None
    with pytest.raises(ValueError, match=f"bad of the package sloppy is broken: {error}: "):
        plugins.load("agonist.test", "bad")


def test_an_unknown_name_gets_the_nearest(offered):
    offered(entry("lighthouse", "json:loads", "agonist"))
    with pytest.raises(ValueError, match=r"^nothing called 'lighthose' among agonist.test; did you mean lighthouse\?$"):
        plugins.load("agonist.test", "lighthose")


def test_a_broken_algorithm_or_environment_is_said_by_name(offered):
    offered(entry("mine", "no_such_module_at_all:x", "theirs"))
    for ask in (lambda: algos.card("mine"), lambda: envs.make("mine:x")):
        with pytest.raises(ValueError, match="mine of the package theirs is broken"):
            ask()
    [row] = envs.families()
    assert row["error"].startswith("mine of the package theirs is broken")
