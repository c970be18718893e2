"""Frames -> pictures of one size, with a caption of step and return below; and one palette for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw

from agonist.cli.output import number

if TYPE_CHECKING:
    from agonist.cli.film import Film
    from agonist.rollout import Frame

STRIP = 26  # pixels of the caption
LEAST = 240  # pixels of width, so that the caption fits
PAPER, INK, QUIET = (250, 250, 248), (40, 40, 40), (140, 140, 140)
SAMPLED = 9  # pictures of which a palette is made


def captioned(film: Film) -> Iterator[tuple[Image.Image, bool]]:
    """Every frame above a strip that says where we are, and whether it is its episode's last one."""
    size = largest(film)
    for episode, reel in enumerate(film.reels):
        name = f"episode {episode + 1} of {len(film.reels)}  " if len(film.reels) > 1 else ""
        for step, frame in enumerate(reel.frames):
            yield _captioned(frame, size, f"{name}step {step}"), step == len(reel.frames) - 1


def largest(film: Film) -> tuple[int, int]:
    """Width and height that every frame fits in."""
    shapes = [frame.image.shape for reel in film.reels for frame in reel.frames]
    return max(shape[1] for shape in shapes), max(shape[0] for shape in shapes)


def picture(frame: Frame, size: tuple[int, int]) -> Image.Image:
    """The environment's own picture, on paper where others of the film are larger."""
    shown = Image.fromarray(frame.image)
    if shown.size == size:
        return shown
    page = Image.new("RGB", size, PAPER)
    page.paste(shown, (0, 0))
    return page


def told(returns: Mapping[str, float]) -> str:
    if len(returns) == 1:
        return f"return {number(next(iter(returns.values())))}"
    return "  ".join(f"{group} {number(value)}" for group, value in returns.items())


def _captioned(frame: Frame, size: tuple[int, int], caption: str) -> Image.Image:
    shown = picture(frame, size)
    if shown.width < LEAST:
        factor = -(-LEAST // shown.width)
        shown = shown.resize((shown.width * factor, shown.height * factor), Image.Resampling.NEAREST)
    page = Image.new("RGB", (shown.width, shown.height + STRIP), PAPER)
    page.paste(shown, (0, 0))
    pen: Any = ImageDraw.Draw(page)
    middle = shown.height + STRIP // 2
    pen.text((8, middle), caption, fill=QUIET, font_size=13, anchor="lm")
    pen.text((page.width - 8, middle), told(frame.returns), fill=INK, font_size=13, anchor="rm")
    return page


def palette_of(pictures: Sequence[Image.Image], colours: int = 255) -> Image.Image:
    """The colours of some pictures from all over a film, so that nothing flickers."""
    chosen = pictures[:: max(1, len(pictures) // (SAMPLED - 1))][:SAMPLED]
    sheet = Image.new("RGB", (chosen[0].width, sum(one.height for one in chosen)))
    top = 0
    for one in chosen:
        sheet.paste(one, (0, top))
        top += one.height
    return sheet.quantize(colours)


def painted(pictures: Sequence[Image.Image], palette: Image.Image) -> list[Image.Image]:
    """The pictures in these colours alone, each pixel an index."""
    return [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
