"""Areas of painted shapes against geometry."""

from __future__ import annotations

import numpy as np
import pytest

from agonist.envs import draw


def painted(paint, size: int = 60) -> float:
    """How many pixels' worth of black a shape leaves on white."""
    on = draw.canvas(size, size, "#ffffff")
    paint(on)
    return float((255 - on[..., 0]).sum() / 255)


@pytest.mark.parametrize(
    ("paint", "area"),
    [
        (lambda on: draw.disc(on, (30, 30), 11.3, "#000000"), np.pi * 11.3**2),
        (lambda on: draw.ring(on, (29.4, 30.2), 12, 4, "#000000"), np.pi * (14**2 - 10**2)),
        (lambda on: draw.box(on, (10, 12, 30, 47), "#000000"), 20 * 35),
        (lambda on: draw.box(on, (10, 10, 40, 40), "#000000", 8), 900 - (4 - np.pi) * 64),
        (lambda on: draw.line(on, (10, 10), (40, 50), 3, "#000000"), 50 * 3 + np.pi * 1.5**2),
        (lambda on: draw.disc(on, (0, 0), 20, "#000000"), np.pi * 100),  # a quarter, the rest is off the canvas
        (lambda on: draw.disc(on, (30, 30), 10, "#000000", 0.5), np.pi * 50),
    ],
)
def test_areas(paint, area: float) -> None:
    assert painted(paint) == pytest.approx(area, rel=0.02)


def test_print_is_centred_and_fits() -> None:
    on = draw.canvas(60, 120, "#ffffff")
    draw.text(on, (30, 60), "8H8", 21, "#000000")
    ys, xs = np.nonzero(on[..., 0] < 128)
    assert abs((ys.min() + ys.max() + 1) / 2 - 30) <= 1
    assert abs((xs.min() + xs.max() + 1) / 2 - 60) <= 1
    assert ys.max() - ys.min() + 1 == pytest.approx(21, abs=1)
    assert draw.text_width("long words", draw.fitting("long words", 21, 60)) <= 60 + 1e-9


def test_letters_differ_and_the_unknown_is_a_gap() -> None:
    shapes = {draw._dots(letter) for letter in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-.+/?%"}
    assert len(shapes) == 42
    assert draw._dots("é") == ()


def test_image_is_bytes() -> None:
    picture = draw.image(draw.canvas(4, 6, "#102030"))
    assert picture.dtype == np.uint8
    assert picture[0, 0].tolist() == [16, 32, 48]
