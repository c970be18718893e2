"""A film -> an MP4 (H.264, yuv420p, which every browser and telephone plays): raw pictures piped to ffmpeg."""

from __future__ import annotations

import errno
import math
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from agonist.cli.film import HOLD, Film
from agonist.cli.film.pictures import PAPER, captioned


def write(path: Path, film: Film) -> None:
    held = max(1, math.ceil(HOLD * film.fps))
    (first, _) = next(captioned(film))
    width, height = (-(-side // 2) * 2 for side in first.size)  # yuv420p has a colour for 2 x 2 pixels
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(words(path, width, height, film.fps), stdin=subprocess.PIPE, stderr=said) as run,
    ):
        try:
            assert run.stdin is not None
            _feed(run.stdin, film, (width, height), held)
            code = run.wait()
        except BaseException:
            run.kill()
            raise
        said.seek(0)
        why = said.read().decode(errors="replace").strip().splitlines()
    if code:
        raise OSError(errno.EIO, f"ffmpeg could not make the film: {why[-1] if why else f'exit code {code}'}")


def words(path: Path, width: int, height: int, fps: float) -> list[str]:
    """The command, as a list: no shell reads it."""
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    film = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", "-f", "mp4"]
    return ["ffmpeg", "-v", "error", "-nostdin", "-y", *source, *film, f"file:{path}"]


def _feed(pipe: IO[bytes], film: Film, size: tuple[int, int], held: int) -> None:
    from PIL import Image

    page = Image.new("RGB", size, PAPER)
    try:
        for picture, last in captioned(film):
            page.paste(picture, (0, 0))
            for _ in range(held if last else 1):
                pipe.write(page.tobytes())
        pipe.close()
    except BrokenPipeError:  # ffmpeg has ended, and says why by itself
        return
