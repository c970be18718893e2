"""What people write on a run: tags, notes, archived, deleted. By several at once, and while another process writes the run.

`runs/<id>/annotations/000001.json`, `000002.json` ...: each holds all marks as they then were, the highest counts. A change is made on
the highest, and written as the next number by `put_if_absent`: of two that try one wins, the other makes its change again on what won. So
none is lost, nobody waits, and the run's writer is not disturbed. Segments are never removed while the run is there: a number that came
free would let a slow writer slip in behind.
"""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agonist.checkpoints import Damaged, check_format, parse_json, pretty_json
from agonist.options import nearest
from agonist.runs import shapes
from agonist.runs.store import Missing, Store, number_of

FORMAT = 1  # of an annotation
SUFFIX = ".json"
UNDO = 7 * 86400.0  # seconds for which a deleted run can be restored


@dataclass(frozen=True)
class Marks:
    tags: tuple[str, ...] = ()
    notes: tuple[Mapping[str, str], ...] = ()  # {time, by, text}, oldest first
    archived: str | None = None  # since when
    deleted: Mapping[str, Any] | None = None  # {time, until (unix seconds), by, along: the run deleted with which it went}

    def summary(self) -> dict[str, Any]:
        """As a listing has them."""
        note = self.notes[-1]["text"] if self.notes else None
        return {"tags": [*self.tags], "note": note, "archived": self.archived, "deleted": self.deleted}


NONE = Marks()


def read(store: Store, run_id: str) -> Marks:
    return _newest(store, run_id)[1]


def _newest(store: Store, run_id: str) -> tuple[int, Marks]:
    """(the highest number, the marks of the highest that can be read)"""
    names = [name for name in store.list(f"runs/{run_id}/annotations/") if number_of(name, SUFFIX)]
    for name in reversed(names):
        try:
            return number_of(names[-1], SUFFIX), _decoded(store.get(name), name)
        except (Damaged, Missing):
            continue
    return (number_of(names[-1], SUFFIX) if names else 0), NONE


def _decoded(data: bytes, what: str) -> Marks:
    document = parse_json(data, what)
    check_format(document, FORMAT, what)
    shapes.check(document, shapes.MARKS, what)
    shapes.check_depth(document, what)
    try:
        return Marks(tuple(document["tags"]), tuple(document["notes"]), document["archived"], document["deleted"])
    except KeyError as error:
        raise Damaged(f"{what} is damaged: it has no {error}") from None


def change(store: Store, run_id: str, edit: Callable[[Marks], Marks]) -> Marks:
    """Make a change on whatever the marks are now, and return what they became. One that changes nothing writes nothing."""
    while True:
        number, before = _newest(store, run_id)
        after = edit(before)
        if after == before:
            return after
        name = f"runs/{run_id}/annotations/{number + 1:06d}{SUFFIX}"
        if store.put_if_absent(name, pretty_json({"format": FORMAT, **asdict(after)})):
            return after


# the changes


def tag(*names: str) -> Callable[[Marks], Marks]:
    return lambda marks: replace(marks, tags=tuple(dict.fromkeys([*marks.tags, *names])))


def untag(*names: str) -> Callable[[Marks], Marks]:
    return lambda marks: replace(marks, tags=tuple(name for name in marks.tags if name not in names))


def check_tag(name: str) -> str:
    """A tag that a filter can name as it is: `tag:paper`."""
    from agonist.runs.filter import Tag, show

    if show(Tag(name)) != f"tag:{name}" or "," in name or name.startswith("-"):
        raise ValueError(f"{name!r} cannot be a tag: use one word without quotes, commas, parentheses or = ! < > ~, as in paper or to-do")
    return name


def note(text: str) -> Callable[[Marks], Marks]:
    stamp = {**_stamp(), "text": text}
    return lambda marks: replace(marks, notes=(*marks.notes, stamp))


def archive() -> Callable[[Marks], Marks]:
    stamp = _stamp()["time"]
    return lambda marks: replace(marks, archived=marks.archived or stamp)


def unarchive() -> Callable[[Marks], Marks]:
    return lambda marks: replace(marks, archived=None)


def delete(undo: float = UNDO, along: str | None = None) -> Callable[[Marks], Marks]:
    """`undo`: seconds for which it can be restored, which a second deletion can only shorten; `along`: the run with which it goes."""
    until = time.time() + undo
    first: Mapping[str, Any] = {**_stamp(), "until": until, "along": along}
    return lambda marks: replace(marks, deleted={**(marks.deleted or first), "until": min(until, (marks.deleted or first)["until"])})


def restore() -> Callable[[Marks], Marks]:
    return lambda marks: replace(marks, deleted=None)


def _stamp() -> dict[str, str]:
    from agonist.runs.folder import now

    try:
        by = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's nameless user, Windows without its variables
        by = ""
    return {"time": now(), "by": by}


def unknown_tags(names: Sequence[str], marks: Marks, run_id: str) -> None:
    """Refuse the removal of tags that a run does not have."""
    for name in names:
        if name not in marks.tags:
            raise ValueError(f"run {run_id} has no tag {name!r}{nearest(name, marks.tags) or '; it has none'}")
