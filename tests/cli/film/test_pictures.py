"""Pictures of one size with a caption, and one palette for all."""

import numpy as np

from agonist.cli.film.pictures import LEAST, STRIP, captioned, largest, painted, palette_of, picture, told


def test_a_caption_stands_below_each_picture_and_the_last_is_marked(film):
    shown = list(captioned(film))
    assert [last for _, last in shown] == [False] * 4 + [True] + [False] * 2 + [True]
    assert {one.size for one, _ in shown} == {(LEAST, 200 + STRIP)}  # 12 x 10 pixels, twenty times as large
    pixels = np.asarray(shown[1][0])
    assert tuple(pixels[2 * 20, 20]) == (200, 10, 10)
    assert len(np.unique(pixels[-STRIP:].reshape(-1, 3), axis=0)) > 4, "no words in the strip"


def test_what_is_smaller_than_others_stands_on_paper(film):
    frames = film.reels[0].frames
    frames[1] = frames[1]._replace(image=frames[1].image[:6, :5])
    assert largest(film) == (12, 10)
    shown = np.asarray(picture(frames[1], (12, 10)))
    assert shown.shape == (10, 12, 3)
    assert (shown[:6, :5] == frames[1].image).all()
    assert (shown[6:] == shown[9, 11]).all()


def test_few_colours_stay_what_they_are(film):
    shown = [picture(frame, (12, 10)) for reel in film.reels for frame in reel.frames]
    for before, after in zip(shown, painted(shown, palette_of(shown)), strict=True):
        assert (np.asarray(before) == np.asarray(after.convert("RGB"))).all()


def test_returns_in_words():
    assert told({"agents": 0.5}) == "return 0.500"
    assert told({"wolf": 1.0, "bird": -20.0}) == "wolf 1.000  bird -20.0"
