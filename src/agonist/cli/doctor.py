"""`agonist doctor`: what this machine and this installation offer, on one screen."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import agonist
from agonist import devices
from agonist.cli import output, words

LEAST_DISK = 1e9  # bytes below which a long run may end early
MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "broken": ("broken", "bold red")}


class Check(NamedTuple):
    what: str
    state: str  # ok; warn: it works without; broken: needed, and not there
    says: str


def doctor(store: words.StoreUrl = None, as_json: words.Json = False) -> None:
    """Check this installation: versions, devices, cache, store, extras.

    Exit code 1 where something that training needs is broken.

    agonist doctor
    agonist doctor --store /data/runs --json
    """
    with output.working(as_json, "looking around"):
        checks = list(_checks(store))
    result = {"ok": all(check.state != "broken" for check in checks), "checks": [check._asdict() for check in checks]}
    output.show(result, as_json, lambda out: _picture(out, checks))
    if not result["ok"]:
        raise typer.Exit(1)


def _checks(store: str | None) -> Iterator[Check]:
    yield Check("agonist", "ok", f"{agonist.__version__} in {Path(agonist.__file__).parent}")
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Check("cores", "ok", f"{devices.cores()} that this process may use")
    for what, check in (("jax", _jax), ("compile cache", _cache)):
        yield _tried(what, check)
    yield _tried("store", lambda: _store(store))
    yield from _extras()


def _tried(what: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # whatever is wrong with it is what we are here to say
        return Check(what, "broken", f"{type(error).__name__}: {error}".splitlines()[0])


def _jax() -> Check:
    devices.prepare()
    import jax

    found = jax.devices()
    kinds = ", ".join(f"{sum(d.device_kind == kind for d in found)} x {kind}" for kind in dict.fromkeys(d.device_kind for d in found))
    hosts = f", {jax.process_count()} hosts" if jax.process_count() > 1 else ""
    return Check("jax", "ok", f"{jax.__version__} (jaxlib {_version('jaxlib')}), devices: {kinds} on {jax.default_backend()}{hosts}")


def _cache() -> Check:
    folder = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR") or devices.cache_folder() / "programs")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return Check("compile cache", "warn", f"{folder} cannot be written: every run compiles anew; set AGONIST_CACHE")
    sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()]
    return Check("compile cache", "ok", f"{folder}, {len(sizes)} files, {output.size(sum(sizes))}")


def _store(url: str | None) -> Check:
    from agonist.runs import list_runs, open_store

    opened = open_store(url)
    probe = f"doctor/{os.getpid()}"
    opened.replace(probe, b"can this be written?")
    opened.delete(probe)
    free = shutil.disk_usage(opened.url).free
    says = f"{opened.url}, {len(list_runs(opened))} runs, can be written, {output.size(free)} free"
    return Check("store", "ok" if free > LEAST_DISK else "warn", says)


def _extras() -> Iterator[Check]:
    for extra in metadata("agonist").get_all("Provides-Extra") or []:
        wanted = [need for need in requires("agonist") or [] if f"extra == '{extra}'" in need.replace('"', "'")]
        names = [re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in wanted]
        missing = [name for name in names if _version(name) is None]
        if missing:
            yield Check(f"extra {extra}", "warn", f"without {', '.join(missing)}: pip install 'agonist[{extra}]'")
        else:
            yield Check(f"extra {extra}", "ok", ", ".join(f"{name} {_version(name)}" for name in names))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _picture(out: Console, checks: list[Check]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for check in checks:
        mark, style = MARKS[check.state]
        table.add_row(Text(mark, style=style), Text(check.what, style="bold"), Text(check.says, overflow="fold"))
    out.print(table)
    broken = [check.what for check in checks if check.state == "broken"]
    out.print(Text(f"\nbroken: {', '.join(broken)}", style="bold red") if broken else Text("\nready to train", style="green"))
