"""`agonist doctor`: what this machine and this installation offer, on one screen."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import agonist
from agonist import devices, plugins
from agonist.cli import output, repeats, words

LEAST_DISK = 1e9  # bytes below which a long run may end early
SKEW = 5.0  # seconds by which a shared disk's clock may differ: heartbeats on it tell who lives
SCHEDULERS = {"SLURM_JOB_ID": "a job of Slurm", "KUBERNETES_SERVICE_HOST": "a pod of Kubernetes"}
MARKS = {"ok": ("ok", "green"), "absent": ("-", "dim"), "warn": ("warn", "yellow"), "broken": ("broken", "bold red")}


class Check(NamedTuple):
    what: str
    state: str  # ok; absent: not there, and not needed; warn: it works, but; broken: training needs it
    says: str
    facts: dict[str, Any] = {}  # noqa: RUF012  the same as numbers, for programs


def doctor(
    full: Annotated[bool, typer.Option("--full", help="Also train a tiny run three times, in half a minute, and compare.")] = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Check this installation: what there is and lacks, and whether results repeat.

    Exit code 1 where something that training needs is broken; what is merely
    missing says how to get it.

    agonist doctor
    agonist doctor --full
    agonist doctor --store /data/runs --json
    """
    with output.working(as_json, "looking around"):
        checks = list(_checks(store, full))
    result = {"ok": all(check.state != "broken" for check in checks), "checks": [check._asdict() for check in checks]}
    output.show(result, as_json, lambda out: _picture(out, checks))
    if not result["ok"]:
        raise typer.Exit(1)


def _checks(store: str | None, full: bool) -> Iterator[Check]:
    yield Check("agonist", "ok", f"{agonist.__version__} in {_short(Path(agonist.__file__).parent)}")
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {devices.cores()} cores")
    working = _tried("jax", _jax)
    yield working
    yield _tried("hosts", _hosts)
    yield _tried("compile cache", _cache)
    if working.state == "ok":
        yield _tried("repeats", lambda: _repeats(full))
    found = _tried("store", lambda: _store(store))
    yield found
    if found.state != "broken":
        yield _tried("runs", lambda: _runs(store))
        yield _tried("its disk", lambda: _disk(Path(found.facts["url"])))
    yield from _extras()
    yield _ffmpeg()
    yield from _plugins()


def _tried(what: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # whatever is wrong with it is what we are here to say
        from agonist.runs import StoreError

        said = str(error) if isinstance(error, StoreError | ValueError) else f"{type(error).__name__}: {error}"
        return Check(what, "broken", said.partition("\n")[0])


# computing


def _jax() -> Check:
    devices.prepare()
    import jax

    found = jax.devices()
    kinds = Counter(device.device_kind for device in found)
    told = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    hosts = f", {jax.process_count()} hosts" if jax.process_count() > 1 else ""
    facts = {"version": jax.__version__, "backend": jax.default_backend(), "devices": dict(kinds), "hosts": jax.process_count()}
    return Check("jax", "ok", f"{jax.__version__}, devices: {told} on {jax.default_backend()}{hosts}", facts)


def _hosts() -> Check:
    from agonist.hosts import detect

    try:
        found = detect.asked(None, None, None) or detect.detected()
    except ValueError as error:
        return Check("hosts", "warn", str(error))
    if found:
        says = f"this is host {found.host} of {found.hosts}, by {found.says}; coordinator {found.coordinator}"
        return Check("hosts", "ok", says, found._asdict())
    where = next((f", in {name}; see --hosts" for variable, name in SCHEDULERS.items() if variable in os.environ), "")
    return Check("hosts", "ok", f"this one alone{where}")


def _cache() -> Check:
    folder = Path(os.environ.get("JAX_COMPILATION_CACHE_DIR") or devices.cache_folder() / "programs")
    try:
        probe = folder / f"doctor-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        why = f"{_short(folder)} cannot be written ({error.strerror}): every run compiles anew; set AGONIST_CACHE"
        return Check("compile cache", "warn", why, {"folder": str(folder), "writable": False})
    sizes = [entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()]
    facts = {"folder": str(folder), "writable": True, "files": len(sizes), "bytes": sum(sizes)}
    if os.name == "posix" and (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o022:
        return Check("compile cache", "warn", f"others may write into it ({mode:o}), and it is code: chmod 700 {_short(folder)}", facts)
    return Check("compile cache", "ok", f"{_short(folder)}, {len(sizes)} files, {output.size(sum(sizes))}", facts)


def _repeats(full: bool) -> Check:
    found = repeats.trained() if full else repeats.computed()
    return Check("repeats", "ok" if found.sound else "warn", found.says("trained" if full else "computed"), found._asdict())


# where runs are kept


def _store(url: str | None) -> Check:
    from agonist.runs import open_store

    opened = open_store(url)
    probe = f"doctor/{os.getpid()}"
    began = time.perf_counter()
    opened.replace(probe, b"can this be written?")
    took = time.perf_counter() - began
    opened.delete(probe)
    free = shutil.disk_usage(opened.url).free
    says = f"{_short(Path(opened.url))}, {output.size(free)} free, a durable write takes {took * 1e3:.0f} ms"
    state = "ok" if free > LEAST_DISK else "warn"
    return Check("store", state, says, {"url": opened.url, "free": free, "write_seconds": round(took, 6)})


def _runs(url: str | None) -> Check:
    """How many of which status. Who was killed could not say so: its summary still says that it runs."""
    import json

    from agonist.runs import list_runs, open_store

    opened = open_store(url)
    found = list_runs(opened)
    counts = dict(Counter(str(summary.get("status")) for summary in found))
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    stopped = [summary["id"] for summary in found if summary.get("status") == "interrupted"]
    killed = [run for run in stopped if json.loads(opened.get(f"runs/{run}/summary.json")).get("status") == "running"]
    facts = {"runs": len(found), "status": counts, "killed": killed}
    if killed:
        return Check("runs", "warn", f"{told}; {len(killed)} of them killed: agonist train --resume {killed[-1]}", facts)
    return Check("runs", "warn" if counts.get("damaged") else "ok", told or "none yet", facts)


def _disk(folder: Path) -> Check:
    """What the store asks of a disk: names that one alone can create, and a clock like ours where several hosts share it."""
    probe, linked = folder / f".tmp-doctor-{os.getpid()}", folder / f".tmp-doctor-{os.getpid()}-linked"
    try:
        probe.write_bytes(b"")
        skew = probe.stat().st_mtime - time.time()
        try:
            os.link(probe, linked)
            links = True
        except OSError:
            links = False
    finally:
        linked.unlink(missing_ok=True)
        probe.unlink(missing_ok=True)
    facts = {"hard_links": links, "clock_skew_seconds": round(skew, 3)}
    if abs(skew) > SKEW:
        return Check(
            "its disk", "warn", f"its clock is {skew:+.0f} s from this machine's: set both by NTP, or runs seem dead or alive", facts
        )
    if not links:
        return Check("its disk", "warn", "has no hard links: a kill at a bad instant may leave an empty file in a run", facts)
    return Check("its disk", "ok", "hard links, its clock agrees", facts)


# what else is installed


def _extras() -> Iterator[Check]:
    for extra in metadata("agonist").get_all("Provides-Extra") or []:
        wanted = [need for need in requires("agonist") or [] if f"extra == '{extra}'" in need.replace('"', "'")]
        found = {name: _version(name) for name in (re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in wanted)}
        missing = [name for name, number in found.items() if number is None]
        if missing:
            yield Check(f"extra {extra}", "absent", f"without {', '.join(missing)}: pip install 'agonist[{extra}]'", found)
        else:
            yield Check(f"extra {extra}", "ok", ", ".join(f"{name} {number}" for name, number in found.items()), found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ffmpeg() -> Check:
    path = shutil.which("ffmpeg")
    how = {"darwin": "brew install ffmpeg", "win32": "winget install ffmpeg"}.get(sys.platform, "apt install ffmpeg, or your system's way")
    return Check("ffmpeg", "ok" if path else "absent", path or f"no MP4, only GIF and HTML: {how}", {"path": path})


def _plugins() -> Iterator[Check]:
    theirs = [row for row in plugins.listing() if row["package"]]
    broken = [row for row in theirs if row["problem"]]
    if theirs:
        names = ", ".join(sorted({f"{row['package']} {row['version']}" for row in theirs}))
        yield Check("plugins", "ok", names, {"plugins": len(theirs)})
    for row in broken:
        yield Check(f"plugin {row['name']}", "warn", row["problem"], {"package": row["package"]})


# the screen


def _short(path: Path) -> str:
    """A path as people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)


def _picture(out: Console, checks: list[Check]) -> None:
    whole = [check.what.removeprefix("extra ") for check in checks if check.what.startswith("extra ") and check.state == "ok"]
    shown = [check for check in checks if not (check.what.startswith("extra ") and check.state == "ok")]
    if whole:
        shown.append(Check("extras", "ok", ", ".join(whole)))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for check in shown:
        mark, style = MARKS[check.state]
        table.add_row(Text(mark, style=style), Text(check.what, style="bold"), Text(check.says, overflow="fold"))
    out.print(table)
    broken = [check.what for check in checks if check.state == "broken"]
    out.print(Text(f"\nbroken: {', '.join(broken)}", style="bold red") if broken else Text("\nready to train", style="green"))
