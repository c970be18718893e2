"""The player of `agonist watch --out x.html`, in a browser: its pictures are the frames, and all else keeps step with them."""

import time

import numpy as np
import pytest

from agonist.cli import film as films
from agonist.cli.film import Agent, Cast, Film, Reel
from agonist.rollout import Frame
from agonist.types import Box, Discrete, Role

ANT = Role("ant", 2, Box(0.0, 1.0, (1,)), Discrete(3), action_names=("rest", "dig", "<i>carry</i>"))
WIND = Role("wind", 1, Box(0.0, 1.0, (1,)), Box(-1.0, 1.0, (2,)))
EVIL = "<img src=x onerror=alert(1)>"


def frame(step, steps, episode):
    image = np.full((30, 40, 3), (250, 240, 60 * episode), np.uint8)
    image[5:15, 6 * step : 6 * step + 6] = (200, 10, 10)
    acted = {"ant": np.array([step % 3, 2]), "wind": np.array([[0.5, -0.25]], np.float32)}
    rewards = {"ant": np.array([float(step == 2), -0.5]) * (step > 0), "wind": np.zeros(1)}
    alive = {"ant": np.array([True, step < 3]), "wind": np.ones(1, bool)}
    returns = {"ant": float(step >= 2) - 0.5 * step, "wind": 0.0}
    return Frame(image, returns, step == steps, rewards, acted if step else None, alive)


@pytest.fixture(scope="module")
def film():
    agents = (Agent("ant 0", ANT, 0, "d9b2f0"), Agent("ant 1", ANT, 1, EVIL), Agent("wind", WIND, 0, "random"))
    reels = [Reel(7 + number, [frame(step, steps, number) for step in range(steps + 1)]) for number, steps in enumerate((4, 2, 3))]
    return Film(Cast("hill:small", "Ants on a hill.", agents), reels, 20.0)


@pytest.fixture(scope="module")
def address(film, tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "x.html"
    films.write(str(path), film)
    return path.as_uri()


@pytest.fixture
def visit(browser, address):
    """Opens the page; whatever it complained of or asked the network for ends the test."""
    troubles, opened = [], []

    def go(place="#1.0", **keys):
        page = browser.new_page(**keys)
        page.on("console", lambda said: said.type == "error" and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda asked: (asked.url.startswith("file:") and "x.html" in asked.url) or troubles.append(asked.url))
        page.goto(address + place)
        page.wait_for_selector("#player:not([hidden])")
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.close()
    assert troubles == []


def pixels(page):
    script = (
        "() => { const c = document.getElementById('film'); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data] }"
    )
    return np.array(page.evaluate(script), np.uint8).reshape(30, 40, 4)[..., :3]


def cells(page, agent):
    return page.locator("#agents tr").nth(agent).locator("td").all_inner_texts()


def test_every_picture_is_its_frame_forwards_and_backwards(visit, film):
    page = visit()
    for number, reel in enumerate(film.reels):
        page.select_option("#episode", str(number))
        for step in range(len(reel.frames)):
            assert (pixels(page) == reel.frames[step].image).all(), (number, step)
            page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        assert (pixels(page) == reel.frames[-2].image).all()
    page.select_option("#episode", "0")
    page.keyboard.press("End")
    assert (pixels(page) == film.reels[0].frames[-1].image).all()


def test_the_table_keeps_step(visit):
    page = visit("#1.2")
    assert page.inner_text("#where") == "2 / 4"
    assert cells(page, 0)[1:] == ["<i>carry</i>", "1.000", "1.000"]
    assert cells(page, 1)[1:] == ["<i>carry</i>", "-0.500", "-1.000"]
    assert cells(page, 2)[1].split() == ["0.50", "-0.25"]
    assert page.inner_text("#returns") == "ant 0 · wind 0"
    page.keyboard.press("ArrowRight")
    assert cells(page, 0)[1:] == ["rest", "0", "1.000"]
    assert cells(page, 1)[1] == "gone"
    page.keyboard.press("Home")
    assert page.inner_text("#where") == "0 / 4"
    assert cells(page, 0)[1:] == ["", "", "0"]
    assert EVIL in cells(page, 1)[0]


def test_scrubbing_and_clicking_a_chart(visit):
    page = visit()
    page.locator("#scrub").fill("3")
    assert page.inner_text("#where") == "3 / 4"
    box = page.locator("#sums").bounding_box()
    page.mouse.click(box["x"] + 46 + (box["width"] - 54) / 4, box["y"] + 20)
    assert page.inner_text("#where") == "1 / 4"
    page.locator("#actions").click(position={"x": 46 + 0.9 * (box["width"] - 54), "y": 5})
    assert page.inner_text("#where") == "4 / 4"


def test_it_plays_pauses_and_goes_on_with_the_next_episode(visit):
    page = visit("")
    wait_for(lambda: page.inner_text("#where") == "2 / 4")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-label") == "play"
    page.select_option("#speed", "8")
    page.select_option("#episode", "1")
    page.click("#play")
    wait_for(lambda: page.input_value("#episode") == "2")
    page.keyboard.press("[")
    assert page.input_value("#episode") == "1"


def test_less_motion_begins_at_rest(visit):
    page = visit("", reduced_motion="reduce")
    assert page.get_attribute("#play", "aria-label") == "play"


def test_the_charts_are_drawn(visit):
    page = visit("#1.2")
    script = "id => new Set(new Uint32Array(%s.getContext('2d').getImageData(0, 0, %s.width, %s.height).data.buffer)).size"
    canvas = "document.getElementById(id)"
    for name in ("sums", "rewards", "actions"):
        assert page.evaluate(script % ((canvas,) * 3), name) > 4, name
    assert [" ".join(row.split()) for row in page.inner_text("#legend").split("\n")] == ["ant: rest dig <i>carry</i>", "wind: low high"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(320, 600), (390, 844), (820, 900), (1600, 900)])
def test_it_fits_and_can_be_read(visit, scheme, size):
    page = visit("#1.2", color_scheme=scheme, viewport={"width": size[0], "height": size[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    ink, paper = (luminance(page, name) for name in ("color", "backgroundColor"))
    assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7
    assert (paper < 0.5) == (scheme == "dark")
    for name in ("#play", "#back", "#next"):
        box = page.locator(name).bounding_box()
        assert min(box["width"], box["height"]) >= 36


def wait_for(true, seconds=10):
    """The page allows no evaluation, so it cannot be asked to wait by itself."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until


def luminance(page, name):
    """By WCAG 2.1."""
    said = page.evaluate(f"getComputedStyle(document.body).{name}")
    parts = [int(part) / 255 for part in said[said.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
