"""The Python API as a reference: what may be called, with signatures and docstrings, and the records that cross rooms.

Declarations are shown as their source has them, without what they do: a record's fields with the remarks beside them, a
function's parameters and the first words about it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

WIDTH = 88  # columns of a declaration, so that it fits a page


def functions() -> str:
    """What `agonist` exports."""
    import agonist

    return "\n\n".join(_exported(f"agonist.{name}", getattr(agonist, name)) for name in agonist.__all__ if name[0].islower())


def records() -> str:
    """What `agonist` exports that is no function."""
    import agonist

    return "\n\n".join(_exported(f"agonist.{name}", getattr(agonist, name)) for name in agonist.__all__ if name[0].isupper())


def statistics() -> str:
    from agonist import stats

    return "\n\n".join(_exported(f"agonist.stats.{name}", getattr(stats, name)) for name in stats.__all__)


def types() -> str:
    from agonist import types

    kinds = [kind for kind in vars(types).values() if inspect.isclass(kind) and kind.__module__ == types.__name__]
    return "\n\n".join([*(_exported(kind.__name__, kind) for kind in kinds), _exported("option", types.option)])


def suites() -> str:
    """Every suite of `agonist.testing` with its rules, which are the names of its tests."""
    return "\n\n".join(_suite(module, kind) for module, kind in every_suite())


def every_suite() -> Iterator[tuple[str, type[Any]]]:
    import agonist.testing

    for found in pkgutil.iter_modules(agonist.testing.__path__, "agonist.testing."):
        module = importlib.import_module(found.name)
        yield from ((found.name, kind) for name, kind in vars(module).items() if name.endswith("Suite") and kind.__module__ == found.name)


def rules(suite: type[Any]) -> list[str]:
    return [name.removeprefix("test_").replace("_", " ") for name in dir(suite) if name.startswith("test_")]


def _suite(module: str, kind: type[Any]) -> str:
    listed = "\n".join(f"- {rule}" for rule in rules(kind))
    return f"### {module}.{kind.__name__}\n\n{_words(kind)}\n\n{listed}"


def _exported(name: str, what: Any) -> str:
    shown = declaration(what) if inspect.isclass(what) else signature(what)
    return f"### {name}\n\n{_words(what)}\n\n```py\n{shown}\n```".replace("\n\n\n\n", "\n\n")


def _words(what: Any) -> str:
    return inspect.cleandoc(what.__doc__) if what.__doc__ and not what.__doc__.startswith(f"{what.__name__}(") else ""


def signature(function: Callable[..., Any]) -> str:
    """`name(parameters) -> type`, a parameter a line where it is long."""
    found = inspect.signature(function)
    whole = function.__name__ + _unquoted(str(found))
    if len(whole) <= WIDTH:
        return whole
    lines = [_unquoted(str(one)) for one in found.parameters.values()]
    kinds = [one.kind for one in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        lines.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    inside = "".join(f"    {line},\n" for line in lines)
    return f"{function.__name__}(\n{inside}) -> {found.return_annotation}"


def _unquoted(text: str) -> str:
    """Annotations are texts; they are shown as they were written."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


def declaration(kind: type[Any]) -> str:
    """A class's own source without its docstring, without what is private, and without what its methods do."""
    source = textwrap.dedent(inspect.getsource(kind))
    [tree] = ast.parse(source).body
    lines: list[str | None] = list(source.splitlines())
    assert isinstance(tree, ast.ClassDef)
    for number, node in enumerate(tree.body):
        first, last = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1, node.end_lineno or 0
        if number == 0 and isinstance(node, ast.Expr):
            last += last < len(lines) and not lines[last]
            lines[first:last] = [None] * (last - first)
        elif isinstance(node, ast.FunctionDef):
            told = isinstance(node.body[0], ast.Expr) and node.body[0].end_lineno
            shown = first if node.name.startswith("_") else int(told or node.body[0].lineno - 1)
            if shown > first and not told and last > shown:
                lines[shown - 1] = f"{lines[shown - 1]} ..."
            lines[shown:last] = [None] * (last - shown)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line is not None)).rstrip()


PARTS: dict[str, Callable[[], str]] = {
    "functions": functions,
    "records": records,
    "statistics": statistics,
    "types": types,
    "suites": suites,
}
