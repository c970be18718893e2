"""What mkdocs does for our site beyond its own: nav from the index pages, and what pages link to outside of docs/ on board.

Pages are written to be read in the repository too, so a link goes to where a file lies: `../CONTRIBUTING.md`,
`../../examples/01_train.py`, `../bench/train.json`. Here each file that is linked becomes a page or a file of the site, and the link
follows it. Programs become pages that show them, a folder one page with all its files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OUTSIDE = "repository"  # the site's folder for what lies outside of docs/
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")
NOT_SHOWN = re.compile(r"/(\.|__pycache__)|\.(lock|pyc)$|\.egg-info")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A section's pages are those that its index links to, in that order."""
    config.nav = [
        {title: [path, *_listed(path)] if path.endswith("/index.md") else path} for entry in config.nav for title, path in entry.items()
    ]
    return config


def _listed(index: str) -> list[str]:
    links = LINK.findall((DOCS / index).read_text(encoding="utf8"))
    return [f"{Path(index).parent.as_posix()}/{path}" for path, _ in dict.fromkeys(links) if re.fullmatch(r"[\w-]+\.md", path)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is linked outside of docs/, and what those pages link to."""
    todo = [DOCS / file.src_uri for file in files.documentation_pages()]
    seen = set(todo)
    while todo:
        for target in _targets(todo.pop()):
            if target in seen or DOCS in target.parents:
                continue
            seen.add(target)
            if target.suffix == ".md":
                todo.append(target)
                files.append(File.generated(config, _place(target), abs_src_path=str(target)))
            elif target.suffix == ".json":
                files.append(File.generated(config, _place(target), abs_src_path=str(target)))
            else:
                files.append(File.generated(config, _place(target), content=_shown(target)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links follow, and take our marks off the blocks. A page that is alone needs no list of pages beside it."""
    if "/" not in page.file.src_uri:
        page.meta["hide"] = ["navigation"]
    home = _origin(page.file.src_uri)
    here = Path(page.file.src_uri).parent

    def follow(found: re.Match[str]) -> str:
        target = _target(home, found[1])
        moved = os.path.relpath(_place(target), here).replace(os.sep, "/") if target.exists() else found[1]
        return f"]({moved}{found[2] or ''})"

    return LINK.sub(follow, re.sub(r"^(```\w+) [\w-]+$", r"\1", markdown, flags=re.MULTILINE))


def _targets(page: Path) -> Iterator[Path]:
    for path, _ in LINK.findall(page.read_text(encoding="utf8")):
        target = _target(page, path)
        if target.exists():  # of what does not, mkdocs warns
            yield target


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / unquote(link)))


def _place(path: Path) -> str:
    """Where a file of the repository lies on the site."""
    if path == DOCS or DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    name = f"{OUTSIDE}/{path.relative_to(ROOT).as_posix()}"
    return name if path.suffix in (".md", ".json") else f"{name}.md"


def _origin(place: str) -> Path:
    """The file of the repository that lies there."""
    if not place.startswith(f"{OUTSIDE}/"):
        return DOCS / place
    path = ROOT / place.removeprefix(f"{OUTSIDE}/")
    return path if path.exists() else path.with_suffix("")


def _shown(path: Path) -> str:
    """A page that shows a program, or all files of a folder."""
    inside = sorted(file for file in path.rglob("*") if file.is_file() and not NOT_SHOWN.search(f"/{file.relative_to(ROOT).as_posix()}"))
    parts = [f"## {file.relative_to(path).as_posix()}\n\n{_block(file)}" for file in inside] if path.is_dir() else [_block(path)]
    return "\n\n".join([f"# {path.relative_to(ROOT).as_posix()}", *parts])


def _block(path: Path) -> str:
    kind = {".py": "python", ".toml": "toml", ".json": "json", ".md": "markdown"}.get(path.suffix, "text")
    return f"``````{kind}\n{path.read_text(encoding='utf8').rstrip()}\n``````"
