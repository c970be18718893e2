"""Everything that README and docs show is run, each page in a folder of its own, its blocks one after another.

    ```bash             every line is a command: agonist, make, python of an example; `pip install` and `pytest` of what is there
    ```python           one program a page: later blocks know the names of earlier ones
    ```toml, ```json    not run, nor ```yaml; nor ```py, which is how the reference shows declarations
    ```text             not run; after a command that is meant to fail (`# exit 2`) it is what that command says
    ```bash not-run     not run, and counted here

A block that begins with the name of a file (`# rings.py`, `# study.toml`) is that file: it is written, not run.

Long training would say no more than short: a run is made small (`SMALL`) before it is started. `train` and `sweep` get more keys and
fewer steps, `watch` a limit, Python has `steps=320, **SMALL` put for `steps=3e5`; more than 400,000 steps become 640, so what goes on
is longer than what it began with. What a line says otherwise is run as it stands; a study is shown with `--dry-run`.
"""

import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

from agonist.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SMALL = {"rollout": 16, "envs": 4, "hidden": [8], "eval_every": 1, "eval_episodes": 4, "epochs": 1, "shards": 1}
SMALL_WORDS = [f"{key}={str(value).replace(' ', '')}" for key, value in SMALL.items()]
SMALLER = {"--seeds": "2", "--episodes": "2", "--trials": "2"}  # options that make work, and what they become
FILE = re.compile(r"# ([\w-]+\.(?:py|toml|json))\n")
# page -> blocks that are not run: other machines; minutes
NOT_RUN = {"docs/how-to/devices-and-hosts.md": 1, "docs/how-to/resume.md": 1, "docs/performance.md": 3}


class Block(NamedTuple):
    kind: str
    mark: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf8")
    found = re.finditer(r"^```(\w+) ?([\w-]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(block[1], block[2], text[: block.start()].count("\n") + 2, block[3]) for block in found]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in ("bash", "python") and not block.mark]


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name_of)
def test_what_a_page_shows_works(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("AGONIST_STORE", "AGONIST_TRACE", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    names, complaint = {"SMALL": SMALL, "__name__": "__main__"}, ""
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if block.kind != "bash" and (named := FILE.match(block.text)):
            Path(named[1]).write_text(block.text, encoding="utf8")
        elif block.kind == "bash" and not block.mark:
            complaint = "".join(run(line, where) for line in lines_of(block.text))
        elif block.kind == "python" and not block.mark:
            with redirect_stdout(io.StringIO()):
                exec(compile("\n" * (block.line - 1) + small_program(block.text), str(page), "exec"), names)
        elif block.kind == "text" and complaint:
            assert plain(block.text) == plain(complaint), where
            complaint = ""


def plain(text: str) -> str:
    """Words alone: no line ends, and any policy for another."""
    return re.sub(r"\b[0-9a-f]{20}\b", "HASH", " ".join(text.split()))


def lines_of(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(line: str, where: str) -> str:
    """Run a command; what it says where it was meant to fail."""
    command, _, remark = line.partition("  #")
    wanted = int(found[1]) if (found := re.search(r"exit (\d+)", remark)) else 0
    words = shlex.split(command)
    if words[0] == "make":
        assert words[1] in targets(), f"{where}: the Makefile has no {words[1]}"
        return ""
    if words[0] == "python":
        assert (ROOT / words[1]).is_file(), f"{where}: there is no {words[1]}"  # tests/examples runs them
        return ""
    if words[0] == "pytest" or words[:2] == ["pip", "install"]:  # whether it can be installed, and passes, other tests tell
        for place in (word for word in words[1:] if word not in ("install", "-e")):
            extra = re.fullmatch(r"agonist\[(\w+)\]", place)
            found = extra[1] in extras() if extra else Path(place).exists() or (ROOT / place).exists()
            assert found, f"{where}: there is no {place}"
        return ""
    assert words[0] == "agonist", f"{where}: {line!r} is not run by this test; mark the block not-run, or show something else"
    words, target = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(small_words(words[1:]))
    assert code == wanted, f"{where}: {line!r} ended with {code}\n{err.getvalue()}"
    if target:
        Path(target).write_text(out.getvalue(), encoding="utf8")
    return err.getvalue() if wanted else ""


def small_steps(steps: str) -> str:
    return "320" if float(steps) <= 4e5 else "640"


def small_words(words: list[str]) -> list[str]:
    words = [SMALLER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    if words[0] == "watch" and "--limit" not in words:
        return [*words, "--limit", "8"]
    if words[0] not in ("train", "sweep") or "--dry-run" in words:
        return words
    if (words[0] == "sweep" or "--seeds" in words) and "--jobs" not in words:
        words += ["--jobs", "1"]  # in this process, where programs are compiled already
    if "--steps" in words:
        at = words.index("--steps") + 1
        words[at] = small_steps(words[at])
    elif "--resume" not in words or words[0] == "train":
        words += ["--steps", "640"]
    given = {word.partition("=")[0] for word in words}
    return words if "--resume" in words else [*words, *(word for word in SMALL_WORDS if word.partition("=")[0] not in given)]


def small_program(text: str) -> str:
    def one(line: str) -> str:
        line = re.sub(r"\b(episodes|seeds|trials)=\d+", r"\1=2", line)
        keys = "" if "resume" in line else ", **SMALL, jobs=1" if "sweep(" in line else ", **SMALL"
        return re.sub(r"\bsteps=([\d.e_]+)", lambda found: f"steps={small_steps(found[1])}{keys}", line)

    return "\n".join(map(one, text.splitlines()))


def extras() -> set[str]:
    return set(metadata("agonist").get_all("Provides-Extra"))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE))


def test_few_blocks_are_not_run():
    marked = {name_of(page): sum(bool(block.mark) for block in blocks(page)) for page in PAGES}
    assert {page: count for page, count in marked.items() if count} == NOT_RUN


def test_every_block_says_what_it_is():
    for page in PAGES:
        text = page.read_text(encoding="utf8")
        fences = re.findall(r"^```.*$", text, re.MULTILINE)
        assert len(fences) == 2 * len(blocks(page)), f"{name_of(page)}: a block without a language, or not closed"
        assert {block.kind for block in blocks(page)} <= {"bash", "python", "py", "text", "toml", "json", "yaml"}, name_of(page)


def test_a_command_is_made_small():
    words = small_words(shlex.split("train ppo matrix:rps rollout=32 --steps 1e6 --seeds 10"))
    assert words[:10] == ["train", "ppo", "matrix:rps", "rollout=32", "--steps", "640", "--seeds", "2", "--jobs", "1"]
    assert "rollout=16" not in words
    assert "envs=4" in words
    assert small_words(shlex.split("sweep ppo matrix:rps lr=1e-3,1e-4 --steps 2e5"))[3:6] == ["lr=1e-3,1e-4", "--steps", "320"]
    assert small_words(["watch", "latest"]) == ["watch", "latest", "--limit", "8"]
    assert small_words(shlex.split("sweep --resume latest")) == ["sweep", "--resume", "latest", "--jobs", "1"]
    assert small_words(shlex.split("train --resume latest --steps 2e6")) == ["train", "--resume", "latest", "--steps", "640"]
    assert small_program("evaluate(run, episodes=1000)") == "evaluate(run, episodes=2)"
    assert small_program("f(steps=4e5)\ng(resume=r, steps=1_000_000)") == "f(steps=320, **SMALL)\ng(resume=r, steps=640)"


def test_a_block_may_be_a_file():
    assert FILE.match("# study.toml\nseeds = 5\n")[1] == "study.toml"
    assert FILE.match('# ring.py\n"""A ring."""\n')[1] == "ring.py"
    assert not FILE.match("# a remark\n")


def test_the_small_keys_are_keys():
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(sys.stdout):
        assert main(["train", "ppo", "matrix:rps", *SMALL_WORDS, "--print-config"]) == 0
    assert "rollout = 16" in out.getvalue()
