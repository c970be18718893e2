"""Which form a film takes, and what is refused before anything is played."""

import os
import shutil

import pytest

from agonist.algos.scripted import make_script
from agonist.cli import film as films
from agonist.cli.film import cast, check, write
from agonist.rollout import Frame
from agonist.testing import stairs
from agonist.types import Group


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("x.png", "--out writes .gif, .mp4 or .html, such as x.html; got 'x.png'"),
        ("x", "such as x.html"),
        (".gif", "--out writes"),
        ("no/x.gif", "there is no folder no"),
        ("folder.html", "is a folder"),
    ],
)
def test_what_cannot_be_written_is_said_first(tmp_path, monkeypatch, out, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ValueError, match="--out") as refused:
        check(out)
    assert sentence in str(refused.value)


def test_without_ffmpeg_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for platform, word in (("linux", "apt-get install ffmpeg"), ("darwin", "brew install ffmpeg"), ("win32", "winget install ffmpeg")):
        monkeypatch.setattr(films.sys, "platform", platform)
        with pytest.raises(ValueError, match=word):
            check(str(tmp_path / "x.MP4"))
    check(str(tmp_path / "x.gif"))


def test_a_read_only_folder_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match="permission denied"):
        check(str(tmp_path / "x.gif"))


def test_a_film_is_written_whole_or_not_at_all(film, tmp_path, monkeypatch):
    path = tmp_path / "X.GIF"
    assert write(str(path), film) == path.stat().st_size
    before = path.read_bytes()
    broken = film._replace(reels=[film.reels[0]._replace(frames=[Frame(None, {}, True, {}, None, {})])])
    with pytest.raises(AttributeError):
        write(str(path), broken)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["X.GIF"]


def test_a_cast_says_who_holds_each_seat():
    climbers, guide = stairs.SPEC.roles
    script = make_script("random", climbers.holding((0, 2)))
    line_up = (
        Group("team", script),
        Group("one", make_script("random", climbers.holding((1,)))),
        Group("guide", make_script("random", guide)),
    )
    made = cast(stairs.SPEC, line_up, {"one": "abc"})
    assert [(agent.name, agent.who) for agent in made.agents] == [
        ("climbers 0", "random"),
        ("climbers 1", "abc"),
        ("climbers 2", "random"),
        ("guide", "random"),
    ]
