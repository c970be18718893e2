"""One door for ours and theirs: what an installed package offers under an entry-point group, loaded when asked for by name.

    agonist.envs      a `Family` card      agonist.algos     a `Card`
    agonist.sinks     a sink's `Card`      agonist.commands  a function or a typer app: `agonist NAME`

A name that two packages offer means neither: `package/name` says which. Ours wins over theirs, who can be asked for in the same way.
What is wrong with a plugin (it raises, it exits, it is written for another Agonist, it is not what its group takes) is said when
it is asked for by name, or by `listing`, and breaks nothing else. Nor does a package whose own records cannot be read: `listing` names it.

`offers(group)` -> name -> entry point, importing nothing; `load(group, name)` -> the object, or a ValueError in a sentence.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions, version
from pathlib import PurePath
from typing import Any

from agonist.options import nearest

OURS = "agonist"
PATIENCE = 10.0  # seconds that a listing waits for somebody's module; who asks for it by name waits as long as it takes
EXPECTED = {  # group -> the type of what it takes, and how to call that; by name, so that nothing is imported to know it
    "agonist.envs": ("agonist.envs.families:Family", "an agonist.envs.families.Family"),
    "agonist.algos": ("agonist.algos:Card", "an agonist.algos.Card"),
    "agonist.sinks": ("agonist.sinks.records:Card", "an agonist.sinks.Card"),
    "agonist.commands": ("", "a function or a typer.Typer"),
}
NAMING = ("make", "options", "config", "open")  # fields of a card that name "module:attribute"


@dataclass(frozen=True)
class Offer:
    group: str
    name: str
    entry: EntryPoint
    package: str | None  # None for our own
    version: str
    rivals: tuple[str | None, ...] = ()  # other packages that offer the same name

    @property
    def asked(self) -> str:
        """By which name it is had."""
        return f"{self.package}/{self.name}" if self.package and self.rivals else self.name


@dataclass(frozen=True)
class Unread:
    """A package whose own records cannot be read: nothing that it offers is taken."""

    package: str
    why: str


@cache
def _scan(path: tuple[str, ...]) -> tuple[tuple[EntryPoint, ...], tuple[Unread, ...]]:
    """What all packages on the path offer us, and those that cannot be read."""
    seen: set[str] = set()
    every: list[EntryPoint] = []
    taken: list[EntryPoint] = []
    unread: list[Unread] = []
    for dist in distributions(path=list(path)):
        folder = PurePath(str(getattr(dist, "_path", "") or "unknown")).name
        name = folder.removesuffix(".dist-info").removesuffix(".egg-info").partition("-")[0].lower().replace("_", "-")
        if name in seen:  # of two versions on the path, the first is what an import finds
            continue
        seen.add(name)
        try:
            every += (found := [*dist.entry_points])
        except Exception as error:
            _pass_over(every)
            unread.append(Unread(name, f"{folder}: its entry_points.txt cannot be read ({_said(error)}); install it again"))
            continue
        entries = [entry for entry in found if entry.group in EXPECTED]
        if entries and (why := _nameless(dist)):
            said = ", ".join(entry.name for entry in entries)
            unread.append(Unread(name, f"{folder}: {why}, so what it offers ({said}) is not taken; install it again"))
            continue
        taken += entries
    return tuple(taken), tuple(unread)


def _pass_over(readable: list[EntryPoint]) -> None:
    """jax asks all packages as well, and one that cannot be read would stop it: then it is told what the others offer."""
    asked = metadata.entry_points

    def answered(**of: Any) -> Any:
        try:
            return asked(**of)
        except Exception:
            return EntryPoints(readable).select(**of)

    metadata.entry_points = answered


def _nameless(dist: Distribution) -> str:
    """Why a package cannot say what it is called; empty where it can. What is missing raises or not by who reads: the standard
    library, or the backport that some package brings."""
    with suppress(Exception):
        if dist.metadata["Name"] and dist.metadata["Version"]:
            return ""
    return "its METADATA is missing or broken, or names no package and version"


def entry_points(group: str) -> list[EntryPoint]:
    return [entry for entry in _scan(tuple(sys.path))[0] if entry.group == group]


def unread() -> tuple[Unread, ...]:
    """The packages that cannot be read."""
    return _scan(tuple(sys.path))[1]


@cache
def installed(group: str) -> tuple[Offer, ...]:
    """All that is offered under a group, ours first."""
    found: dict[tuple[str, str | None], EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault((entry.name, package(entry)), entry)  # of two versions on the path, the first is what an import finds
    by_name: dict[str, list[str | None]] = {}
    for name, owner in found:
        by_name.setdefault(name, []).append(owner)
    out = []
    for (name, owner), entry in found.items():
        rivals = tuple(other for other in by_name[name] if other != owner)
        out.append(Offer(group, name, entry, owner, _version(entry), rivals))
    return tuple(sorted(out, key=lambda offer: (offer.package is not None, offer.package or "", offer.name)))


def offers(group: str) -> dict[str, EntryPoint]:
    """What is installed under a group, by the name that has it. Ours win over a plugin of the same name."""
    return {offer.asked: offer.entry for offer in installed(group) if offer.package is None or None not in offer.rivals}


def package(entry: EntryPoint) -> str | None:
    """The distribution that an entry point comes from; None for our own."""
    name = entry.dist.name if entry.dist is not None else "unknown"
    return None if name == OURS else name


def load(group: str, name: str, patience: float | None = None) -> Any:
    """The object that a name stands for. A broken plugin raises here and nowhere else. `patience`: seconds that are waited for it."""
    offer = find(group, name)
    where = f"{offer.name} of the package {offer.package or OURS}"
    if offer.package and (wanted := wants(offer)):
        raise ValueError(f"{where} {offer.version} wants agonist{wanted}, and this is {_ours()}: install versions that fit")
    made, error = _imported(offer, patience)
    if error is not None:
        raise ValueError(f"{where} is broken: {_said(error)}") from error
    if not _fits(group, made):
        raise ValueError(f"{where} is a {type(made).__name__}, and {group} takes {EXPECTED[group][1]}")
    return made


def find(group: str, name: str) -> Offer:
    """Whose offer a name means."""
    same = [offer for offer in installed(group) if name in (offer.name, f"{offer.package}/{offer.name}")]
    if not same:
        lost = f"; {', '.join(one.package for one in unread())} cannot be read: see agonist plugins" if unread() else ""
        raise ValueError(f"nothing called {name!r} among {group}{nearest(name, offers(group))}{lost}")
    if len(same) > 1 and same[0].package is not None:
        packages = " and ".join(str(offer.package) for offer in same)
        raise ValueError(f"{name} is offered by {packages}: say {' or '.join(offer.asked for offer in same)}")
    return same[0]  # ours come first


def wants(offer: Offer) -> str:
    """The versions of Agonist that a plugin's package needs, where ours is none of them."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in (getattr(offer.entry.dist, "requires", None) or []) if offer.entry.dist else []:
        try:
            need = Requirement(text)
        except InvalidRequirement:
            continue
        applies = need.marker is None or need.marker.evaluate({"extra": ""})
        if need.name.lower() == OURS and applies and not need.specifier.contains(_ours(), prereleases=True):
            return str(need.specifier)
    return ""


def listing(groups: Mapping[str, Any] = EXPECTED, taken: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every offer with what it is and what is wrong with it. `taken`: command names that are ours without an entry point."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        for offer in installed(group):
            began = time.perf_counter()
            problem = about = ""
            try:
                made = load(group, f"{offer.package}/{offer.name}" if offer.package else offer.name, PATIENCE)
                about = _about(made)
                problem = _lacking(offer, made) if offer.package else ""
            except ValueError as error:
                problem = str(error)
            seconds = round(time.perf_counter() - began, 3)
            clash = _clash(offer, taken or {})
            row = {"group": group, "name": offer.name, "package": offer.package, "version": offer.version, "ask_for": offer.asked}
            rows.append({**row, "about": about, "problem": problem or None, "clash": clash or None, "seconds": seconds})
    for one in unread():
        row = {"group": None, "name": one.package, "package": one.package, "version": "", "ask_for": one.package}
        rows.append({**row, "about": "", "problem": one.why, "clash": None, "seconds": 0.0})
    return rows


def _lacking(offer: Offer, card: Any) -> str:
    """What somebody's card names and is not there. Where a package that it needs is missing, that is said when it is asked for."""
    needs = getattr(card, "needs", "")
    if needs and importlib.util.find_spec(needs.partition(".")[0]) is None:
        return ""
    for field in NAMING:
        if isinstance(text := getattr(card, field, None), str):
            _, error = _patiently(partial(_at, text), PATIENCE)
            if error is not None:
                return f"{offer.name} of the package {offer.package} is broken: its card says {field}={text!r}, and {_said(error)}"
    return ""


def _at(text: str) -> Any:
    """What "module:attribute" names."""
    module, _, name = text.partition(":")
    if not name:
        raise ValueError('that is not "module:attribute"')
    made = importlib.import_module(module)
    for part in name.split("."):
        made = getattr(made, part)
    return made


def _clash(offer: Offer, taken: Mapping[str, str]) -> str:
    if offer.package is None:
        return ""
    if None in offer.rivals or (offer.group == "agonist.commands" and offer.name in taken):
        return f"{offer.name} is agonist's own; this one is had as {offer.package}/{offer.name}"
    if offer.rivals:
        return f"{offer.name} is also offered by {', '.join(map(str, offer.rivals))}; this one is had as {offer.asked}"
    return ""


def _imported(offer: Offer, patience: float | None) -> tuple[Any, BaseException | None]:
    """(the object, what kept us from it)"""
    return _patiently(offer.entry.load, patience if offer.package else None)


def _patiently(work: Callable[[], Any], patience: float | None) -> tuple[Any, BaseException | None]:
    """Somebody's module may raise, exit, hang, or print what would spoil our own output."""
    with redirect_stdout(sys.stderr):
        if patience is None:
            return _attempt(work)
        out: list[tuple[Any, BaseException | None]] = []
        worker = threading.Thread(target=lambda: out.append(_attempt(work)), daemon=True)
        worker.start()
        worker.join(patience)
    return out[0] if out else (None, TimeoutError(f"its module was not imported within {patience:g} s"))


def _attempt(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except (Exception, SystemExit) as error:
        return None, error


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it ends the program when it is imported (exit {error.code})"
    return f"{type(error).__name__}: {error}"


def _fits(group: str, made: Any) -> bool:
    if group not in EXPECTED:
        return True
    name, _ = EXPECTED[group]
    return any(f"{kind.__module__}:{kind.__qualname__}" == name for kind in type(made).__mro__) if name else callable(made)


def _about(made: Any) -> str:
    text = getattr(made, "about", None)
    if text is None:  # a command
        text = getattr(getattr(made, "info", None), "help", None) or getattr(made, "__doc__", None)
    return " ".join(str(text or "").strip().partition("\n\n")[0].split())


def _version(entry: EntryPoint) -> str:
    return str(getattr(entry.dist, "version", "") or "")


def _ours() -> str:
    return version(OURS)
