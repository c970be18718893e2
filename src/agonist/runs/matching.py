"""How a filter's test meets a run's value: numbers as numbers, truth as truth, times as times, all else as text.

In: a field, a sign and the value's text. Out: a test of flat rows; where such a value can never be right for the field, a sentence.
"""

from __future__ import annotations

import json
import operator
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

TIMES = ("created", "updated")
SPANS = ("age", "wall_seconds")
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Row = Mapping[str, Any]
Test = Callable[[Any], bool]


def complaint(field: str, sign: str, value: str) -> str:
    """What is wrong with this value for that field; empty where nothing is."""
    if sign == "~":
        return ""
    try:
        if field in TIMES:
            moment(value)
        elif field in SPANS:
            span(value)
    except ValueError as error:
        return f"{field} needs {error}"
    return ""


def moment(text: str) -> tuple[float, float]:
    """(first, last) in unix seconds: of a day its whole, of a time that instant."""
    try:
        try:
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC).timestamp()
            return day, day + 86399.999999
        except ValueError:
            at = datetime.fromisoformat(text)
            instant = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
            return instant, instant
    except (ValueError, OverflowError):
        raise ValueError("a day or a time such as 2026-11-01 or 2026-11-01T09:30") from None


def span(text: str) -> float:
    """Seconds of `90`, `90s`, `10m`, `2h`, `7d`, `1w`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?) ?([a-z]*)", text, re.IGNORECASE)
    if not found or (found[2] and found[2].lower() not in UNITS):
        raise ValueError("seconds or a time such as 90s, 10m, 2h or 7d")
    return float(found[1]) * UNITS[found[2].lower() or "s"]


def comparison(field: str, sign: str, value: str) -> Callable[[Row], bool]:
    if sign == "~":
        test = _holds(value)
    elif field in TIMES:
        test = _in_time(sign, *moment(value))
    elif field in SPANS:
        seconds = span(value)
        if field == "age":
            newest = time.time()
            return lambda row: (born := _stamp(row.get("created"))) is not None and _meets(sign, newest - born, seconds)
        test = _like(sign, repr(seconds))
    else:
        test = _like(sign, value)
    return lambda row: (found := row.get(field)) is not None and test(found)


def is_there(row: Row, field: str) -> bool:
    return row.get(field) not in (None, [], "")


def _meets(sign: str, found: Any, value: Any) -> bool:
    if sign in ORDERS:
        return ORDERS[sign](found, value)
    return bool(found == value) == (sign == "=")


def _stamp(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _in_time(sign: str, first: float, last: float) -> Test:
    def test(found: Any) -> bool:
        at = _stamp(found)
        if at is None:
            return sign == "!="
        if sign in ("=", "!="):
            return (first <= at <= last) == (sign == "=")
        return ORDERS[sign](at, first if sign in ("<", ">=") else last)

    return test


def _holds(value: str) -> Test:
    """The pieces between `*`, found one behind another: linear, whatever the text."""
    pieces = [piece for piece in value.lower().split("*") if piece]

    def test(found: Any) -> bool:
        text, at = text_of(found).lower(), 0
        for piece in pieces:
            at = text.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return True

    return test


def _like(sign: str, value: str) -> Test:
    """By the kind of what is found; what is of another kind is unequal and in no order."""
    number = _number(value)
    truth = {"true": True, "false": False}.get(value.lower())
    packed = re.sub(r"\s", "", value)

    def test(found: Any) -> bool:
        if isinstance(found, bool):
            return sign == ("=" if found is truth else "!=")
        if isinstance(found, int | float):
            return _meets(sign, found, number) if number is not None else sign == "!="
        if isinstance(found, str):
            return _meets(sign, found, value)
        return sign == ("=" if text_of(found) == packed else "!=")

    return test


def _number(text: str) -> int | float | None:
    try:
        return int(text) if text.isdecimal() and len(text) < 20 else float(text)
    except ValueError:
        return None


def text_of(value: Any) -> str:
    """A value as a filter and a table say it: lists without spaces, truth in small letters."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return f"[{','.join(map(text_of, value))}]"
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
