"""Plain tables, of thousands of lines in an instant: rich's own take seconds for those."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from agonist.cli.output import printable

Cells = Mapping[str, str]  # column -> what stands there

GAP = 2  # between two columns


def _wide(text: str) -> int:
    """Columns that it takes; most cells are ASCII, and counted at once."""
    return len(text) if text.isascii() else cell_len(text)


def width_of(column: str, rows: Sequence[Cells]) -> int:
    return max([_wide(column), *[_wide(_one_line(row[column])) for row in rows]]) + GAP


def _one_line(cell: str) -> str:
    return cell if cell.isprintable() else printable(cell).replace("\n", " ")


def table(columns: Sequence[str], rows: Sequence[Cells], right: Sequence[str] = (), style: Callable[[str, str], str] | None = None) -> Text:
    """`right`: the columns of numbers. `style`: (column, cell) -> how the cell is coloured."""
    rows = [{column: _one_line(row[column]) for column in columns} for row in rows]
    widths = {column: width_of(column, rows) - GAP for column in columns}
    out = Text()
    for row in [dict(zip(columns, columns, strict=True)), *rows]:
        is_head = not out
        plain = "" if is_head else "\n"
        for column in columns:
            cell = row[column]
            space = " " * (widths[column] - _wide(cell))
            plain += space if column in right else ""
            how = "bold" if is_head else style(column, cell) if style else ""
            if how:
                out.append(plain)
                out.append(cell, how)
                plain = ""
            else:
                plain += cell
            plain += ("" if column in right else space) + " " * GAP
        out.append(plain.rstrip(" "))
    return out
