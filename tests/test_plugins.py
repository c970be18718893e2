"""One door for ours and theirs."""

import importlib
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from agonist import algos, envs, plugins


class Installed(EntryPoint):
    """An entry point of a package that somebody installed."""

    dist = None


def entry(name, value, package, group="agonist.test", version="1.2", requires=()):
    made = Installed(name, value, group)
    object.__setattr__(made, "dist", SimpleNamespace(name=package, version=version, requires=list(requires)) if package else None)
    return made


@pytest.fixture
def offered(monkeypatch):
    """offered(entries...) are what is installed."""

    def offer(*entries):
        plugins.installed.cache_clear()
        monkeypatch.setattr(plugins, "entry_points", lambda group: [found for found in entries if found.group in (group, "agonist.test")])

    yield offer
    plugins.installed.cache_clear()


def test_what_pyproject_says_is_offered():
    told = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, entries in told.items():
        ours = {name: found.value for name, found in plugins.offers(group).items() if plugins.package(found) is None}
        assert ours == entries
        for name in entries:
            assert plugins.load(group, name) is not None


def test_ours_win_over_a_plugin_of_the_same_name_which_can_be_asked_for(offered):
    offered(entry("one", "json:loads", "agonist"), entry("one", "json:dumps", "zz"), entry("two", "json:dump", "aa"))
    assert plugins.load("agonist.test", "one").__name__ == "loads"
    assert plugins.load("agonist.test", "zz/one").__name__ == "dumps"
    assert {name: plugins.package(found) for name, found in plugins.offers("agonist.test").items()} == {"one": None, "two": "aa"}


def test_of_two_packages_neither_has_the_name(offered):
    offered(entry("one", "json:loads", "aa"), entry("one", "json:dumps", "zz"))
    assert set(plugins.offers("agonist.test")) == {"aa/one", "zz/one"}
    with pytest.raises(ValueError, match=r"^one is offered by aa and zz: say aa/one or zz/one$"):
        plugins.load("agonist.test", "one")
    assert plugins.load("agonist.test", "zz/one").__name__ == "dumps"


@pytest.mark.parametrize(
    ("requires", "wanted"),
    [
        (["agonist>=99"], ">=99"),
        (["numpy", "Agonist <0.0.1"], "<0.0.1"),
        (["agonist>=0.0.1"], None),
        (["agonist>=99; extra == 'gpu'"], None),
        (["agonist>=99; python_version < '3'"], None),
        (["what is this"], None),
    ],
)
def test_a_plugin_for_another_agonist_is_refused(offered, requires, wanted):
    offered(entry("one", "json:loads", "theirs", requires=requires))
    if wanted is None:
        assert plugins.load("agonist.test", "one").__name__ == "loads"
        return
    with pytest.raises(ValueError, match=f"^one of the package theirs 1.2 wants agonist{wanted}, and this is [0-9.]+: install versions"):
        plugins.load("agonist.test", "one")


@pytest.mark.parametrize("group", [group for group in plugins.EXPECTED if group != "agonist.commands"])
def test_what_its_group_does_not_take_is_refused(offered, group):
    offered(entry("one", "json:loads", "theirs", group))
    with pytest.raises(ValueError, match=f"^one of the package theirs is a function, and {group} takes an agonist"):
        plugins.load(group, "one")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """module(name, source): somebody's module, importable."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        names.append(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_a_plugin_that_exits_or_prints_or_hangs_spoils_nothing(offered, module, monkeypatch, capsys):
    module("plugin_exits", "import sys\nprint('bye')\nsys.exit(3)\n")
    module("plugin_prints", "print('hello')\ndef x(): 'what it does'\n")
    module("plugin_hangs", "import time\ntime.sleep(2)\ndef x(): pass\n")
    offered(*[entry(name, f"plugin_{name}:x", "theirs", "agonist.commands") for name in ("exits", "prints", "hangs")])
    monkeypatch.setattr(plugins, "PATIENCE", 0.2)
    rows = {row["name"]: row for row in plugins.listing(["agonist.commands"])}
    assert "it ends the program when it is imported (exit 3)" in rows["exits"]["problem"]
    assert (rows["prints"]["problem"], rows["prints"]["about"]) == (None, "what it does")
    assert "not imported within 0.2 s" in rows["hangs"]["problem"]
    with pytest.raises(ValueError, match=r"^exits of the package theirs is broken: it ends the program"):
        plugins.load("agonist.commands", "exits")
    assert capsys.readouterr().out == ""


def test_the_listing_says_who_has_a_name(offered):
    family = "agonist.envs.families:lbf"
    offered(
        entry("lbf", family, "agonist", "agonist.envs"),
        entry("lbf", family, "theirs", "agonist.envs"),
        entry("pond", family, "aa", "agonist.envs"),
        entry("pond", family, "zz", "agonist.envs"),
        entry("runs", "json:loads", "aa", "agonist.commands"),
    )
    rows = {(row["package"], row["name"]): row for row in plugins.listing(taken={"runs": ""})}
    assert rows[None, "lbf"]["clash"] is None
    assert rows["theirs", "lbf"]["clash"] == "lbf is agonist's own; this one is had as theirs/lbf"
    assert rows["zz", "pond"]["clash"] == "pond is also offered by aa; this one is had as zz/pond"
    assert rows["aa", "runs"]["clash"] == "runs is agonist's own; this one is had as aa/runs"
    assert rows["aa", "pond"]["about"].startswith("Level-Based Foraging")
    assert not any(row["problem"] for row in rows.values())
    assert envs.make("theirs/lbf:2s-8x8-2p-2f-coop").spec.roles[0].agents == 2


def test_looking_imports_no_jax():
    program = "import sys; from agonist import plugins; plugins.listing(); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


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


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """packages(name, entry_points, metadata) puts somebody's package on the path, as an installer would."""
    monkeypatch.syspath_prepend(str(tmp_path))
    asked = metadata.entry_points

    def put(name, entry_points, told=None):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "entry_points.txt").write_bytes(entry_points)
        if told is not False:
            (folder / "METADATA").write_bytes(told or f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode())
        importlib.invalidate_caches()
        plugins.installed.cache_clear()
        plugins._scan.cache_clear()

    yield put
    metadata.entry_points = asked
    plugins.installed.cache_clear()
    plugins._scan.cache_clear()


OFFER = b"[agonist.sinks]\npond = no_such_module_at_all:card\n"


@pytest.mark.parametrize(
    ("entry_points", "told", "why"),
    [
        (b"[agonist.sinks]\nx = \xff\xfe\n", None, "its entry_points.txt cannot be read .UnicodeDecodeError"),
        (b"[agonist.sinks]\nx\n", None, "its entry_points.txt cannot be read"),
        (OFFER, False, r"its METADATA is missing or broken, .* so what it offers \(pond\) is not taken"),
        (OFFER, b"Name: \xff\n", "its METADATA"),
        (OFFER, b"Name: broken_one\n", "its METADATA is missing or broken, or names no package and version"),
    ],
)
def test_a_package_that_cannot_be_read_is_listed_and_breaks_nothing(packages, entry_points, told, why):
    packages("broken_one", entry_points, told)
    [row] = [row for row in plugins.listing() if row["problem"]]
    assert (row["group"], row["package"]) == (None, "broken-one")
    assert re.match(f"broken_one-1.0.dist-info: {why}", row["problem"])
    assert plugins.load("agonist.algos", "ppo") is not None
    metadata.entry_points(group="jax_plugins")  # as jax asks, before it trains
    assert "pond" not in plugins.offers("agonist.sinks")
    with pytest.raises(ValueError, match="; broken-one cannot be read: see agonist plugins"):
        plugins.load("agonist.sinks", "pond")


def test_packages_that_are_no_plugins_are_passed_over(packages):
    packages("nameless", b"[console_scripts]\nx = json:loads\n", False)
    assert plugins.unread() == ()


def test_what_a_card_names_must_be_there(offered, module):
    card = "from agonist.sinks.records import Card\n{} = Card(open={!r}, about='x'{})\n"
    module("plugin_there", card.format("x", "json:loads", ""))
    module("plugin_nope", card.format("x", "json:nope", ""))
    module("plugin_lost", card.format("x", "no_such_module_at_all:x", ""))
    module("plugin_word", card.format("x", "json", ""))
    module("plugin_needs", card.format("x", "no_such_module_at_all:x", ", needs='no_such_module_at_all'"))
    offered(*[entry(name, f"plugin_{name}:x", "theirs", "agonist.sinks") for name in ("there", "nope", "lost", "word", "needs")])
    problems = {row["name"]: row["problem"] for row in plugins.listing(["agonist.sinks"])}
    assert (problems["there"], problems["needs"]) == (None, None)
    assert problems["nope"].startswith("nope of the package theirs is broken: its card says open='json:nope', and AttributeError: ")
    assert "ModuleNotFoundError" in problems["lost"]
    assert 'that is not "module:attribute"' in problems["word"]
