"""A film -> a GIF that any page shows; an episode's last picture is held a moment."""

from __future__ import annotations

from pathlib import Path

from agonist.cli.film import HOLD, Film
from agonist.cli.film.pictures import captioned, painted, palette_of


def write(path: Path, film: Film) -> None:
    shown = list(captioned(film))
    pictures = [picture for picture, _ in shown]
    times = [round(1000 * HOLD) if last else round(1000 / film.fps) for _, last in shown]
    first, *rest = painted(pictures, palette_of(pictures))
    first.save(path, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=False)
