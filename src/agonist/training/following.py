"""Helping host 0: what the other hosts do while it trains.

`tell(spec, made, store)` on host 0 lets them assemble the same program; `follow()` on the others assembles what host 0 tells and calls
what it calls, until it is ended from without. They need no store: frozen players come along by content.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from agonist import assembly, specs
from agonist.algos.scripted import is_script
from agonist.assembly import Assembly
from agonist.checkpoints import canonical_json, decode_tensors, encode_tensors, parse_json, read_policy
from agonist.hosts import company
from agonist.runs.find import find_policy
from agonist.runs.store import Store
from agonist.specs import TRAINEE, Spec

SPEC = "spec.json"


def tell(store: Store, spec: Spec, made: Assembly) -> None:
    """On host 0, before the program is called."""
    if made.program.follow is None:
        return
    files = {SPEC: canonical_json(spec.flat())}
    seated = {text for who in spec.players.values() for text in (who if isinstance(who, list) else [who])}
    for text in (text for text in seated if text != TRAINEE and not is_script(text)):
        files |= {f"{text}/{name}": data for name, data in find_policy(store, text).files.items()}
    blob = encode_tensors({name: np.frombuffer(data, np.uint8) for name, data in files.items()})
    company.tell(company.ASSEMBLE, [made.program.follow.number], blob)


def follow() -> NoReturn:
    """On the others."""
    programs: dict[int, Assembly] = {}
    while True:
        order = company.hear()
        number = order.numbers[0]
        if order.what == company.ASSEMBLE:
            programs.clear()  # host 0 trains by one at a time: what was before gives its memory back
            programs[number] = _assembled(order.blobs[0])
        else:
            program = programs[number].program
            assert program.follow is not None
            program.follow.order(order, programs[number].frozen)


def _assembled(blob: bytes) -> Assembly:
    files = {name: data.tobytes() for name, data in decode_tensors(blob, "what host 0 tells").items()}
    spec = specs.resolve(parse_json(files[SPEC], "the spec that host 0 tells"))
    return assembly.assemble(
        spec, lambda text: read_policy({name.rpartition("/")[2]: data for name, data in files.items() if name.rpartition("/")[0] == text})
    )
