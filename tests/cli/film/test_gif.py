"""A film as a GIF, read back."""

from PIL import Image

from agonist.cli.film import gif


def test_the_times_are_those_asked_for_and_an_end_is_held(film, tmp_path):
    gif.write(tmp_path / "x.gif", film)
    with Image.open(tmp_path / "x.gif") as read:
        times = []
        for number in range(read.n_frames):
            read.seek(number)
            times.append(read.info["duration"])
        assert read.info["loop"] == 0
    assert times == [100] * 4 + [1500] + [100] * 2 + [1500]
