"""Pictures with NumPy alone: discs, boxes, lines and small print on a canvas, with smooth edges.

A shape is a signed distance to its rim; how far a pixel lies inside, up to half a pixel, is how much of it is painted.
Places are (y, x) in pixels, colours "#rrggbb". `canvas` -> paint on it -> `image` [H, W, 3] uint8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from agonist.types import HostArray

INK, PAPER, GOLD, RED, GREEN = "#2f3640", "#fbfaf6", "#f5b83d", "#d64545", "#4c9a52"
PLAYERS = ("#3b7dd8", "#e07b39", "#8e5bd0", "#1f9e93", "#d2477e", "#7a8b2f", "#5a6b7b", "#b0603a")

# Capitals, digits and signs in 5 x 7 dots, a row two hexadecimal digits.
_GLYPHS = """
0=0e11131519110e 1=040c040404040e 2=0e11010204081f 3=1f02040201110e 4=02060a121f0202 5=1f101e0101110e 6=0608101e11110e
7=1f010204080808 8=0e11110e11110e 9=0e11110f01020c -=0000001f000000 .=00000000000c0c +=0004041f040400 /=01010204081010
A=0e11111f111111 B=1e11111e11111e C=0e11101010110e D=1c12111111121c E=1f10101e10101f F=1f10101e101010 G=0e11101711110f
H=1111111f111111 I=0e04040404040e J=0702020202120c K=11121418141211 L=1010101010101f M=111b1515111111 N=11111915131111
O=0e11111111110e P=1e11111e101010 Q=0e11111115120d R=1e11111e141211 S=0f10100e01011e T=1f040404040404 U=1111111111110e
V=11111111110a04 W=1111111515150a X=11110a040a1111 Y=1111110a040404 Z=1f01020408101f ?=0e110102040004 %=18190204081303
"""


def canvas(height: int, width: int, colour: str = PAPER) -> HostArray:
    return np.broadcast_to(_rgb(colour), (height, width, 3)).astype(np.float32)


def image(painted: HostArray) -> HostArray:
    return np.clip(np.rint(painted), 0, 255).astype(np.uint8)


def disc(on: HostArray, at: tuple[float, float], radius: float, colour: str, alpha: float = 1.0) -> None:
    y, x = at
    _paint(on, (y - radius, x - radius, y + radius, x + radius), lambda v, u: np.hypot(v - y, u - x) - radius, colour, alpha)


def ring(on: HostArray, at: tuple[float, float], radius: float, width: float, colour: str, alpha: float = 1.0) -> None:
    y, x = at
    outer = radius + width / 2

    def far(v: Any, u: Any) -> Any:
        return np.abs(np.hypot(v - y, u - x) - radius) - width / 2

    _paint(on, (y - outer, x - outer, y + outer, x + outer), far, colour, alpha)


def box(on: HostArray, corners: tuple[float, float, float, float], colour: str, rounding: float = 0.0, alpha: float = 1.0) -> None:
    """Between (top, left, bottom, right), the corners rounded."""
    top, left, bottom, right = corners
    mid, half = ((top + bottom) / 2, (left + right) / 2), ((bottom - top) / 2 - rounding, (right - left) / 2 - rounding)

    def far(v: Any, u: Any) -> Any:
        dy, dx = np.abs(v - mid[0]) - half[0], np.abs(u - mid[1]) - half[1]
        return np.hypot(np.maximum(dy, 0), np.maximum(dx, 0)) + np.minimum(np.maximum(dy, dx), 0) - rounding

    _paint(on, corners, far, colour, alpha)


def line(on: HostArray, start: tuple[float, float], end: tuple[float, float], width: float, colour: str, alpha: float = 1.0) -> None:
    (y0, x0), (y1, x1) = start, end
    length = (y1 - y0) ** 2 + (x1 - x0) ** 2 or 1.0

    def far(v: Any, u: Any) -> Any:
        along = np.clip(((v - y0) * (y1 - y0) + (u - x0) * (x1 - x0)) / length, 0, 1)
        return np.hypot(v - y0 - along * (y1 - y0), u - x0 - along * (x1 - x0)) - width / 2

    w = width / 2
    _paint(on, (min(y0, y1) - w, min(x0, x1) - w, max(y0, y1) + w, max(x0, x1) + w), far, colour, alpha)


def text(on: HostArray, at: tuple[float, float], words: str, height: float, colour: str = INK, alpha: float = 1.0) -> None:
    """A line of print around a centre; what it has no letter for is a gap."""
    dot = height / 7
    top, left = at[0] - height / 2, at[1] - text_width(words, height) / 2
    for i, letter in enumerate(words.upper()):
        for row, col in _dots(letter):
            y, x = top + row * dot, left + (6 * i + col) * dot
            box(on, (y, x, y + dot * 1.04, x + dot * 1.04), colour, dot * 0.3, alpha)


def text_width(words: str, height: float) -> float:
    return (6 * len(words) - 1) * height / 7


def fitting(words: str, height: float, width: float) -> float:
    """The greatest height up to `height` at which the words are no wider than `width`."""
    return min(height, width * 7 / max(6 * len(words) - 1, 1))


@cache
def _dots(letter: str) -> tuple[tuple[int, int], ...]:
    glyphs = dict(glyph.split("=") for glyph in _GLYPHS.split())
    rows = bytes.fromhex(glyphs.get(letter, "00" * 7))
    return tuple((r, c) for r, bits in enumerate(rows) for c in range(5) if bits >> (4 - c) & 1)


@cache
def _rgb(colour: str) -> HostArray:
    return np.frombuffer(bytes.fromhex(colour.removeprefix("#")), np.uint8).astype(np.float32)


def _paint(on: HostArray, bounds: tuple[float, float, float, float], far: Callable[[Any, Any], Any], colour: str, alpha: float) -> None:
    top, left = max(int(bounds[0]) - 1, 0), max(int(bounds[1]) - 1, 0)
    bottom, right = min(int(bounds[2]) + 2, on.shape[0]), min(int(bounds[3]) + 2, on.shape[1])
    if top >= bottom or left >= right:
        return
    v, u = np.mgrid[top:bottom, left:right].astype(np.float32) + 0.5  # the pixels' middles
    cover = np.clip(0.5 - far(v, u), 0, 1)[..., None] * alpha
    part = on[top:bottom, left:right]
    part += cover * (_rgb(colour) - part)
