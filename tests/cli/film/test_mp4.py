"""A film as an MP4, by the real ffmpeg, read back by ffprobe; and by programs that only pretend to be it."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from agonist.cli import film as films
from agonist.cli.film import mp4


@pytest.fixture
def ffmpeg():
    if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
        why = "needs ffmpeg and ffprobe: apt-get install ffmpeg"
        pytest.fail(why, pytrace=False) if os.environ.get("AGONIST_REQUIRE") == "all" else pytest.skip(why)


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """Makes a program called ffmpeg that does as told."""

    def make(script):
        path = tmp_path / "bin" / "ffmpeg"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    return make


@pytest.mark.usefixtures("ffmpeg")
def test_every_picture_is_in_it(film, tmp_path):
    path = tmp_path / "-odd name's.mp4"
    assert films.write(str(path), film._replace(fps=2.5)) == path.stat().st_size
    told = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", f"file:{path}"]
    [stream] = json.loads(subprocess.run(told, capture_output=True, check=True).stdout)["streams"]
    assert (stream["codec_name"], stream["pix_fmt"], stream["r_frame_rate"]) == ("h264", "yuv420p", "5/2")
    assert (stream["width"], stream["height"]) == (240, 226)
    assert int(stream["nb_read_frames"]) == 6 + 2 * 4  # an end is held for 1.5 s
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", f"file:{path}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True)
    first = np.frombuffer(raw.stdout, np.uint8).reshape(-1, 226, 240, 3)[0]
    assert np.abs(first[60, 30].astype(int) - (200, 10, 10)).max() < 25
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.usefixtures("ffmpeg")
def test_odd_sides_become_even(film, tmp_path):
    for reel in film.reels:
        for number, frame in enumerate(reel.frames):
            reel.frames[number] = frame._replace(image=np.zeros((241, 251, 3), np.uint8))
    mp4.write(tmp_path / "x.mp4", film)
    words = ["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", str(tmp_path / "x.mp4")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["252,268"]


@pytest.mark.skipif(os.name == "nt", reason="the program that pretends is a shell script")
def test_what_ffmpeg_complains_of_is_said(film, tmp_path, pretended):
    pretended('echo "Unknown encoder libx264" >&2; exit 3')
    with pytest.raises(OSError, match="ffmpeg could not make the film: Unknown encoder libx264"):
        films.write(str(tmp_path / "x.mp4"), film)
    assert not list(tmp_path.glob("*.mp4*"))


@pytest.mark.skipif(os.name == "nt", reason="the program that pretends is a shell script")
def test_ffmpeg_ends_when_the_work_does(film, tmp_path, pretended, monkeypatch):
    pretended(f"echo $$ > {tmp_path}/pid; cat > /dev/null; exec sleep 60")

    def stopped(film):
        yield from [(first, False)]
        while not (tmp_path / "pid").exists():
            pass
        raise KeyboardInterrupt

    first = next(mp4.captioned(film))[0]
    monkeypatch.setattr(mp4, "captioned", stopped)
    with pytest.raises(KeyboardInterrupt):
        mp4.write(tmp_path / "x.mp4", film)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
