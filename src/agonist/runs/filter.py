"""The one language in which runs are asked for, on the command line and by a server alike.

    algo = ppo and env ~ "lbf" and eval/return > 0.9 and tag:paper
    (status = failed or status = interrupted) and created >= 2026-11-01 and not tag:broken
    lr >= 1e-3 and env.sight = 2 and hidden = [128,128] and age < 2d and has:policy

A test is FIELD = != < <= > >= ~ VALUE, `tag:NAME`, or `has:FIELD`; tests are joined by `and`, `or`, `not` and parentheses, `and` before
`or`. Words need quotes ("..." or '...', a backslash before a quote) where they hold spaces, quotes, parentheses, one of = ! < > ~, or
are `and`, `or`, `not`; quotes change nothing else.

- What a value means, the run's own value says: a number is compared as a number (`1e-3` is `0.001`), `true` as truth, text as text.
  What cannot be compared is unequal, and in no order.
- `~`: the value holds this text, upper and lower case alike; `*` stands for anything between (`env ~ lbf*coop`). It is no regular
  expression, so no filter can hang.
- `created`, `updated`: a day or a time, of UTC where it names no zone. A day is the whole of it: `>=` from its first moment, `>` after it.
- `age`, `wall_seconds`: seconds, or 90s, 10m, 2h, 7d, 1w.
- A field that a run does not have makes every comparison false, `!=` too; `not` turns that round; `has:FIELD` asks for it.

In: the text -> a frozen tree (`parse`), which prints as text again (`show`: to parse that gives the same tree) -> a test of flat rows
(`agonist.runs.rows`). What is wrong with a text is a `FilterError` that points at the spot.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agonist.runs import matching

DEEPEST = 50  # parentheses and `not` within one another
WINDOW = 70  # characters of a long filter that an error shows
KEYWORDS = ("and", "or", "not")
TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign><=|>=|!=|[=<>~])|(?P<bracket>[()])|(?P<word>[^\s"'()=!<>~]+)|(?P<end>\Z))""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Compare:
    field: str
    sign: str  # one of = != < <= > >= ~
    value: str


@dataclass(frozen=True)
class Tag:
    name: str


@dataclass(frozen=True)
class Has:
    field: str


@dataclass(frozen=True)
class Not:
    part: Node


@dataclass(frozen=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Node, ...]


Node = Compare | Tag | Has | Not | And | Or
Row = Mapping[str, Any]


class FilterError(ValueError):
    """A text that is no filter: what was expected, and where."""

    def __init__(self, text: str, at: int, expected: str) -> None:
        shown, column = _window(text, at)
        super().__init__(f"this is no filter:\n  {shown}\n  {' ' * column}^ {expected}")
        self.text, self.at, self.expected = text, at, expected


def _window(text: str, at: int) -> tuple[str, int]:
    """The part of `text` around a spot, on one line, and the spot's column in it."""
    start = max(0, min(at - WINDOW // 2, len(text) - WINDOW))
    before, after = ("".join(c if c.isprintable() else " " for c in part) for part in (text[start:at], text[at : start + WINDOW]))
    dots = "..." if start else ""
    width = sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in dots + before)
    return f"{dots}{before}{after}{'...' if start + WINDOW < len(text) else ''}", width


# text -> tree


class Token(NamedTuple):
    kind: str  # string, sign, bracket, word or end
    text: str  # without quotes
    at: int
    joined: bool  # nothing between it and the one before


def parse(text: str) -> Node:
    reader = _Reader(text)
    node = reader.either(0)
    if reader.here.kind != "end":
        raise FilterError(text, reader.here.at, "expected `and`, `or` or the end here; a value of several words stands in quotes")
    return node


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while True:
        found = TOKEN.match(text, at)
        if not found:
            at += len(text[at:]) - len(text[at:].lstrip())
            quote = text[at] in "\"'"
            raise FilterError(text, at, "this quote is not closed" if quote else "expected != here: `!` stands for nothing by itself")
        kind = str(found.lastgroup)
        inside = found[kind]
        yield Token(
            kind,
            re.sub(r"\\(.)", r"\1", inside[1:-1], flags=re.DOTALL) if kind == "string" else inside,
            found.start(kind),
            found.start(kind) == at,
        )
        if kind == "end":
            return
        at = found.end()


class _Reader:
    """The tokens of a text, one after another."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, [*_tokens(text)]
        self.at = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, word: str) -> bool:
        """Whether this keyword or bracket comes next; if so, it is taken."""
        found = self.here.kind in ("word", "bracket") and self.here.text.lower() == word
        self.at += found
        return found

    def either(self, depth: int) -> Node:
        parts = [self.all(depth)]
        while self.takes("or"):
            parts.append(self.all(depth))
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def all(self, depth: int) -> Node:
        parts = [self.one(depth)]
        while self.takes("and"):
            parts.append(self.one(depth))
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def one(self, depth: int) -> Node:
        start = self.here
        if depth > DEEPEST:
            raise FilterError(self.text, start.at, f"this is nested more than {DEEPEST} deep; write it flatter")
        if self.takes("not"):
            return Not(self.one(depth + 1))
        if self.takes("("):
            node = self.either(depth + 1)
            if not self.takes(")"):
                raise FilterError(self.text, self.here.at, f"expected `and`, `or`, or a ) for the ( at {start.at + 1}")
            return node
        return self.test()

    def test(self) -> Node:
        first = self.here
        if first.kind not in ("word", "string") or _is_keyword(first):
            raise FilterError(self.text, first.at, "expected a test such as algo = ppo, eval/return > 0.9 or tag:paper")
        self.take()
        for mark, kind in (("tag:", Tag), ("has:", Has)):
            if first.kind == "word" and first.text.startswith(mark) and self.here.kind != "sign":
                return kind(self.named(first, mark))
        sign = self.here
        if sign.kind != "sign":
            raise FilterError(self.text, sign.at, "expected one of = != < <= > >= ~ here, as in algo = ppo")
        self.take()
        value = self.here
        if value.kind not in ("word", "string") or _is_keyword(value):
            raise FilterError(self.text, value.at, 'expected a value here, such as 0.9, ppo or "two words"')
        self.take()
        wrong = matching.complaint(first.text, sign.text, value.text)
        if wrong:
            raise FilterError(self.text, value.at, wrong)
        return Compare(first.text, sign.text, value.text)

    def named(self, first: Token, mark: str) -> str:
        """What follows `tag:`, which may stand in quotes."""
        if len(first.text) > len(mark):
            return first.text[len(mark) :]
        if self.here.kind != "string" or not self.here.joined:
            raise FilterError(self.text, self.here.at, f"expected a name right behind {mark}, as in tag:paper or has:policy")
        return self.take().text


def _is_keyword(token: Token) -> bool:
    return token.kind == "word" and token.text.lower() in KEYWORDS


# tree -> text


def show(node: Node) -> str:
    """The filter as text, which `parse` reads as the same tree."""
    match node:
        case Compare(field, sign, value):
            return f"{_word(field)} {sign} {_word(value)}"
        case Tag(name):
            return f"tag:{_word(name)}"
        case Has(field):
            return f"has:{_word(field)}"
        case Not(part):
            return f"not {_within(part)}"
        case And(parts):
            return " and ".join(map(_within, parts))
        case Or(parts):
            return " or ".join(show(part) if isinstance(part, And) else _within(part) for part in parts)


def _within(node: Node) -> str:
    return f"({show(node)})" if isinstance(node, And | Or) else show(node)


def _word(text: str) -> str:
    found = TOKEN.match(text)
    bare = found and found["word"] == text and text.lower() not in KEYWORDS and not text.startswith(("tag:", "has:"))
    return text if bare else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# tree -> test


def compile_filter(text: str) -> Callable[[Row], bool]:
    """A test of flat rows, made from the text once."""
    return tester(parse(text))


def tester(node: Node) -> Callable[[Row], bool]:
    match node:
        case Compare(field, sign, value):
            return matching.comparison(field, sign, value)
        case Tag(name):
            return lambda row: name in row.get("tags", ())
        case Has(field):
            return lambda row: matching.is_there(row, field)
        case Not(part):
            test = tester(part)
            return lambda row: not test(row)
        case And(parts):
            tests = [tester(part) for part in parts]
            return lambda row: all(test(row) for test in tests)
        case Or(parts):
            tests = [tester(part) for part in parts]
            return lambda row: any(test(row) for test in tests)


def fields_of(node: Node) -> set[str]:
    """The fields that a filter asks about."""
    match node:
        case Compare(field) | Has(field):
            return {field}
        case Tag():
            return {"tags"}
        case Not(part):
            return fields_of(part)
        case And(parts) | Or(parts):
            return set[str]().union(*map(fields_of, parts))
