"""Episodes -> a GIF: each picture with a caption of step and return below it, an episode's last one held a moment."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agonist.cli.output import number

if TYPE_CHECKING:
    from PIL.Image import Image

    from agonist.rollout import Frame

STRIP = 26  # pixels of the caption
LEAST = 240  # pixels of width, so that the caption fits
HOLD = 1500  # milliseconds that an episode's end is shown
PAPER, INK, QUIET = (250, 250, 248), (40, 40, 40), (140, 140, 140)


def check_path(out: str) -> None:
    """Refuse, before anything is played, what could not be written afterwards."""
    path = Path(out).expanduser()
    if path.suffix.lower() != ".gif":
        raise ValueError(f"--out writes a .gif, such as {path.with_suffix('.gif').name or 'x.gif'}; got {out!r}")
    if path.is_dir():
        raise ValueError(f"--out {out} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"--out {out} cannot be written: permission denied")


def write(out: str, reels: Sequence[Sequence[Frame]], fps: float) -> int:
    """Write the episodes and return the file's size in bytes."""
    pictures: list[Image] = []
    times: list[int] = []
    for episode, reel in enumerate(reels):
        name = f"episode {episode + 1} of {len(reels)}  " if len(reels) > 1 else ""
        pictures += [_picture(frame, f"{name}step {step}") for step, frame in enumerate(reel)]
        times += [round(1000 / fps)] * (len(reel) - 1) + [HOLD]
    first, *rest = _one_palette(pictures)
    data = io.BytesIO()
    first.save(data, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=False)
    path = Path(out).expanduser()
    partial = path.with_name(f".{path.name}.part")
    try:
        partial.write_bytes(data.getvalue())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return len(data.getvalue())


def _picture(frame: Frame, caption: str) -> Image:
    """The environment's own picture above a strip that says where we are."""
    from PIL import Image, ImageDraw

    shown = Image.fromarray(frame.image)
    if shown.width < LEAST:
        factor = -(-LEAST // shown.width)
        shown = shown.resize((shown.width * factor, shown.height * factor), Image.Resampling.NEAREST)
    page = Image.new("RGB", (shown.width, shown.height + STRIP), PAPER)
    page.paste(shown, (0, 0))
    pen: Any = ImageDraw.Draw(page)
    middle = shown.height + STRIP // 2
    pen.text((8, middle), caption, fill=QUIET, font_size=13, anchor="lm")
    returns = "  ".join(f"{role} {number(value)}" for role, value in frame.returns.items())
    if len(frame.returns) == 1:
        returns = f"return {number(next(iter(frame.returns.values())))}"
    pen.text((page.width - 8, middle), returns, fill=INK, font_size=13, anchor="rm")
    return page


def _one_palette(pictures: Sequence[Image]) -> list[Image]:
    """The same colours in every picture, so that nothing flickers: those of some pictures from all over the film."""
    from PIL import Image

    chosen = pictures[:: max(1, len(pictures) // 8)][:9]
    sheet = Image.new("RGB", (chosen[0].width, sum(picture.height for picture in chosen)))
    top = 0
    for picture in chosen:
        sheet.paste(picture, (0, top))
        top += picture.height
    palette = sheet.quantize(255)
    return [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
