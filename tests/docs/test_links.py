"""Links in the Markdown as it lies in the repository lead somewhere, and nothing names the machine on which it was written."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCES = [*sorted((ROOT / "examples").rglob("*.py")), *sorted((ROOT / "docs").glob("*.py")), ROOT / "mkdocs.yml"]
FOREIGN = re.compile(r"/(?:work|root|home|Users|tmp)/|pypi|conda|localhost|127\.0\.0\.1|\.internal\b")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def anchors(page: Path) -> set[str]:
    """The headings of a page as a browser is sent to them."""
    heads = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in links(page):
        if ":" in link.partition("/")[0]:
            parts = urlsplit(link)
            assert parts.scheme == "https", link
            assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc), link
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}, which is not there"
        assert ROOT in target.parents, f"{name_of(page)} links to {link}, outside of the repository"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {link}; {name_of(target)} has {sorted(anchors(target))}"


@pytest.mark.parametrize("page", [*PAGES, *SOURCES], ids=name_of)
def test_nothing_names_this_machine(page):
    found = FOREIGN.search(page.read_text(encoding="utf8"))
    assert not found, f"{name_of(page)}: {found[0]}"


def test_pages_can_be_reached_from_the_readme():
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if not link.startswith("http")]
    assert sorted(map(name_of, set(PAGES) - seen)) == []


def test_a_link_to_a_missing_place_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A *b*: c\n\n[x](other.md#a-b-c)\n\n```bash\n# no heading [y](z)\n```\n")
    assert links(page) == ["other.md#a-b-c"]
    assert anchors(page) == {"a-b-c"}
