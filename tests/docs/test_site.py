"""The site as it is built: without a warning, whole, with nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
FETCHED = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
}  # what a browser loads by itself


class Found(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.fetched, self.pictures = set(), set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.ids |= {told[name] for name in ("id", "name") if told.get(name)}
        if tag == "a" and "href" in told:
            self.links.add(told["href"])
        if told.get(FETCHED.get(tag)) and told.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.add(told[FETCHED[tag]])
        if tag == "img":
            self.pictures.append(told)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(the site's folder, what building it said)."""
    site = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return site, done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages(built):
    """path -> what is in it, but for the page that says that there is none."""
    site, _ = built
    return {path: Found(path.read_text(encoding="utf8")) for path in site.rglob("*.html") if path.name != "404.html"}


def test_it_is_built_without_a_warning(built):
    assert all(line.startswith("INFO ") for line in built[1].splitlines()), built[1]


def test_every_page_is_there(built, pages):
    site, _ = built
    wanted = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert wanted <= {path.relative_to(site) for path in pages}
    assert site / "repository" / "CONTRIBUTING.html" in pages
    assert site / "repository" / "examples" / "04_own_environment.py.html" in pages


def test_links_lead_somewhere(pages):
    for page, found in pages.items():
        for link in found.links | found.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page.name} refers to {link}"
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].ids, f"{page.name} refers to {link}"


def test_nothing_comes_from_elsewhere(built, pages):
    site, _ = built
    for page, found in pages.items():
        assert not [what for what in found.fetched if urlsplit(what).netloc], page.name
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", page.read_text(encoding="utf8")), page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", sheet.read_text(encoding="utf8")), sheet.name


def test_search_knows_every_page_and_needs_no_server(built, pages):
    site, _ = built
    text = (site / "search" / "search_index.js").read_text(encoding="utf8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    known = {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    assert known == {path.relative_to(site).as_posix() for path in pages}
    assert any("advantages" in entry["text"] for entry in index["docs"])


def test_pictures_say_what_they_show(pages):
    pictures = [picture for found in pages.values() for picture in found.pictures]
    assert len(pictures) > 3
    assert all(picture.get("alt") for picture in pictures)


def test_sections_hold_what_their_index_lists(built, pages):
    """The navigation is made of the indices; so a page that is in none would be found by nobody."""
    site, _ = built
    for folder in ("how-to", "concepts", "algorithms", "reference", "adr"):
        listed = {link.partition("#")[0] for link in pages[site / folder / "index.html"].links}
        assert {path.name for path in (site / folder).glob("*.html")} - {"index.html"} <= listed, folder
