"""One idea of configuration: a frozen dataclass a part, each field an `agonist.types.option` with its default, unit and a sentence.

Words people type (`lr=3e-4`), TOML and Python values -> checked dataclasses, or one sentence that says what, where and what instead.
`--help`, `--print-config` and the docs' tables are made of the same fields.
"""

from __future__ import annotations

import difflib
import math
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that refuses a word: the nearest right ones, or all of them where nothing is near."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; there is {', '.join(known)}" if known else ""


def read_words(words: Iterable[str]) -> dict[str, str]:
    """`["lr=3e-4", "env.sight=2"]` -> the keys and their texts."""
    out: dict[str, str] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{word!r} is no key=value, as in lr=3e-4")
        if key.strip() in out:
            raise ValueError(f"{key.strip()} is given twice: {out[key.strip()]!r} and {text.strip()!r}")
        out[key.strip()] = text.strip()
    return out


def read_file(path: str) -> dict[str, Any]:
    """A TOML file of keys; tables are keys with dots."""
    try:
        text = Path(path).read_text(encoding="utf8")
        return dotted(tomllib.loads(text))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}") from None


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables within tables as keys with dots."""
    out: dict[str, Any] = {}
    for key, value in tree.items():
        out |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return out


# several values of a key


def split_values(text: str) -> list[str]:
    """`a,b` -> [a, b]; commas within brackets are a list's own."""
    out, depth = [""], 0
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            out.append("")
        else:
            out[-1] += sign
    return [part.strip() for part in out]


def swept(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[str] | str]]:
    """Words as somebody typed them -> (keys with one value, keys with several or a range)."""
    alone: dict[str, Any] = {}
    over: dict[str, list[str] | str] = {}
    for key, value in given.items():
        parts = split_values(value) if isinstance(value, str) else [value]
        if isinstance(value, str) and ".." in value and not key.startswith(("env", "players.", "algo")) and len(parts) == 1:
            over[key] = value
        elif len(parts) > 1:
            if "" in parts:
                raise ValueError(f"{key}={value} has an empty value between its commas")
            over[key] = parts
        else:
            alone[key] = value
    return alone, over


def read_range(key: str, text: str) -> tuple[str, float, float]:
    """`1e-4..1e-2`, `lin:0.9..0.99` -> (log or lin, low, high); whole numbers where both ends are."""
    scale, _, rest = text.rpartition(":")
    ends = rest.split("..")
    try:
        low, high = (int(end) if end.strip().isdigit() else float(end) for end in ends)
        if scale not in ("", "log", "lin") or not low < high or (scale == "log" and low <= 0) or not math.isfinite(high - low):
            raise ValueError
    except ValueError:
        raise ValueError(f"{key}={text} is no range LOW..HIGH, log:LOW..HIGH (of positive numbers) or lin:LOW..HIGH") from None
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    return scale or ("log" if low > 0 and high >= 10 * low else "lin"), low, high


# parts


def fill(part: type[T], given: Mapping[str, Any], where: str) -> T:
    """A part's dataclass with the given values, converted and checked; `where` says in an error whose keys these are."""
    known = {field.name: field for field in fields(part)}  # type: ignore[arg-type]
    hints = get_type_hints(part)
    for key in given:
        if key not in known:
            raise ValueError(f"{where} has no key {key!r}{nearest(key, known)}")
    for key, field in known.items():
        if key not in given and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where} needs a value of {key}: it has no default")
    return part(**{key: convert(key, value, hints[key], known[key]) for key, value in given.items()})


def convert(key: str, value: Any, kind: Any, field: Field[Any]) -> Any:
    """A value of the field's type, from text or from Python."""
    several = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if type(None) in several and (value is None or value in ("none", "None", "")):
        return None
    out = _as(key, value, next(one for one in several if one is not type(None)))
    choices = field.metadata.get("choices")
    if choices and out not in choices and not (field.metadata.get("code") and ":" in str(out)):
        also = " or own code, ./file.py:function" if field.metadata.get("code") else ""
        raise ValueError(f"{key} is one of {', '.join(map(str, choices))}{also}, got {value!r}")
    low, high = field.metadata.get("span") or (None, None)
    for number in out if isinstance(out, tuple) else (out,):
        if (low is not None and not number >= low) or (high is not None and not number <= high):
            raise ValueError(f"{key} needs {_span(low, high)}, got {value}")
    return out


def _span(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"a value from {low} to {high}"
    return f"a value of {low} or more" if low is not None else f"a value of {high} or less"


def _as(key: str, value: Any, kind: Any) -> Any:
    if get_origin(kind) is tuple:
        return _as_tuple(key, value, get_args(kind)[0])
    try:
        if kind is bool:
            return _as_bool(value)
        if kind is int:
            return _as_int(value)
        if kind is float and not isinstance(value, bool) and math.isfinite(number := float(value)):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    else:
        if kind is str and isinstance(value, str):
            return value
    if kind not in WANTED:
        raise ValueError(f"{key} is a {getattr(kind, '__name__', kind)}; a key is a bool, int, float, str or a tuple of one of them")
    raise ValueError(f"{key} needs {WANTED[kind]}, got {value!r}")


WANTED = {
    bool: "true or false",
    int: "a whole number such as 128 or 1e6",
    float: "a number such as 0.99 or 3e-4",
    str: "a word",
}


def _as_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError


def _as_int(value: Any) -> int:
    number = float(value) if not isinstance(value, bool | int) else value
    if isinstance(value, bool) or number != int(number):
        raise ValueError
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.lstrip("+-").isdigit()) else int(number)


def _as_tuple(key: str, value: Any, kind: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = value.strip()
        if not (value.startswith("[") and value.endswith("]")):
            raise ValueError(f"{key} needs a list such as [128,128], got {value!r}")
        value = [part for part in value[1:-1].split(",") if part.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{key} needs a list such as [128,128], got {value!r}")
    return tuple(_as(key, part.strip() if isinstance(part, str) else part, kind) for part in value)


UNSAID = {"help": "", "unit": "", "traced": False, "acts": True, "source": "", "choices": (), "span": None, "code": False}
"""Of a field that is no `agonist.types.option`, as somebody's own may be: nobody knows whether it shapes play, so it does."""


def rows(part: type[Any]) -> list[dict[str, Any]]:
    """A part's fields for help pages: key, type, default, unit, sentence, source."""
    hints = get_type_hints(part)
    out = []
    for field in fields(part):
        kind = hints[field.name]
        name = kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind).replace(" | None", "?")
        default = None if field.default is MISSING else field.default
        told = {"key": field.name, "type": name.replace("tuple[int, ...]", "list of int"), "default": default}
        out.append(told | UNSAID | dict(field.metadata))
    return out
