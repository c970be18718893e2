"""A film as a player: what the file holds, read by a slow plain loop; a browser plays it in tests/browser."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from agonist.cli.film import html


class Page(HTMLParser):
    """Tags with their words, and what stands in script, style and title."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.within, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, words):
        self.tags.append((tag, dict(words)))
        self.open = f"{tag}:{dict(words).get('id', '')}" if tag in ("script", "style", "title") else None

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, text):
        if self.open:
            self.within[self.open] = self.within.get(self.open, "") + text


@pytest.fixture
def page(film):
    return Page(html.page(film))


@pytest.fixture
def data(page):
    return json.loads(page.within["script:data"])


def decoded(data):
    """Every picture as [H, W, 3], pixel by pixel."""
    stream, at, out = zlib.decompress(base64.b64decode(data["pictures"])), 0, []
    palette, now = bytes.fromhex(data["palette"]), np.zeros((data["height"], data["width"]), int)
    while at < len(stream):
        left, top, width, height = (int.from_bytes(stream[at + i : at + i + 2], "little") for i in (0, 2, 4, 6))
        at += 8
        for y in range(top, top + height):
            for x in range(left, left + width):
                now[y, x] ^= stream[at]
                at += 1
        out.append([[list(palette[3 * i : 3 * i + 3]) for i in row] for row in now])
    return out


def test_the_pictures_are_the_frames(film, data):
    assert len(data["palette"]) == 2 * 3 * 256
    shown = [frame.image.tolist() for reel in film.reels for frame in reel.frames]
    assert decoded(data) == shown


def test_a_picture_that_stays_costs_eight_bytes(film):
    reel = film.reels[0]
    still = film._replace(reels=[reel._replace(frames=[reel.frames[0]] * 50)])
    assert len(html.packed(still)[1]) == (8 + 3 * 3) + 49 * 8  # the ground is colour 0, as all is before the first picture


def test_numbers_are_those_of_the_frames(film, data):
    first, second = data["episodes"]
    assert (first["seed"], second["seed"]) == (7, 8)
    assert first["rewards"] == [[0, 0, 0.25, 0, 0], [0, 0, 0.25, 0, 0], [0, -0.5, -1, -1.5, -2], [0] * 5]
    assert first["alive"] == [[1] * 5, [1, 1, 1, 0, 0], [1] * 5, [1] * 5]
    assert first["actions"] == [[[1], [2], [0], [1]], [[2]] * 4, [[0.5, -0.333333]] * 4, [[1, 1], [1, 2], [1, 0], [1, 1]]]
    assert second["returns"]["bird"] == [0, -0.5, -1.5]
    assert (data["fps"], data["width"], data["height"]) == (10, 12, 10)


def test_actions_are_told_by_kind(data):
    wolf, _, bird, sage = (agent["action"] for agent in data["agents"])
    assert wolf == {"kind": "choice", "parts": 1, "choices": [3], "names": ["rest", "<b>run</b>", "bite"]}
    assert bird == {"kind": "box", "parts": 2, "low": -1, "high": 1}
    assert sage == {"kind": "choice", "parts": 2, "choices": [2, 3], "names": []}
    assert [agent["shared"] for agent in data["agents"]] == [True, True, False, False]


def test_no_bounds_and_no_numbers_are_null(film):
    agents = list(film.cast.agents)
    bird = agents[2].role
    agents[2] = agents[2]._replace(role=type(bird)(bird.name, 1, bird.obs, type(bird.action)(-np.inf, np.inf, (2,))))
    frame = film.reels[0].frames[1]
    film.reels[0].frames[1] = frame._replace(rewards={**frame.rewards, "bird": np.array([np.nan], np.float32)})
    told = json.loads(Page(html.page(film._replace(cast=film.cast._replace(agents=tuple(agents))))).within["script:data"])
    assert (told["agents"][2]["action"]["low"], told["agents"][2]["action"]["high"]) == (None, None)
    assert told["episodes"][0]["rewards"][2][1] is None


def test_what_others_have_written_is_text(film, page, data):
    assert data["agents"][3]["who"] == "</script><script>alert(1)</script>"
    assert page.within["title:"] == "woods:<deep> · Agonist"
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "b" not in {tag for tag, _ in page.tags}


def test_the_policy_allows_what_is_in_the_file_and_nothing_else(page):
    [policy] = [words["content"] for tag, words in page.tags if tag == "meta" and words.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for part, name in (("style", "style:"), ("script", "script:")):
        digest = base64.b64encode(hashlib.sha256(page.within[name].encode()).digest()).decode()
        assert rules[f"{part}-src"] == f"'sha256-{digest}'"
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'",) * 3
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}


def test_nothing_is_asked_of_a_network(film, page):
    assert not [words for _, words in page.tags if {"src", "href", "style", "onclick", "onload"} & set(words)]
    assert not re.search(r"https?://|fetch\(|import\(|innerHTML|eval\(|XMLHttp|WebSocket", html.page(film))
