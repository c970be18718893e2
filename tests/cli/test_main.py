"""How the command line starts, refuses and ends."""

import json
import os
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

from agonist.checkpoints import Damaged, Newer
from agonist.cli import told
from agonist.runs.store import Missing, StoreError

COMMANDS = (
    *("train", "sweep", "study", "evaluate", "watch", "plot metrics"),
    *("envs", "algos", "doctor", "bench", "plugins", "new env", "new algo"),
    *(f"runs {name}" for name in ("list", "show", "compare", "tag", "note", "archive", "delete", "restore", "purge", "export", "import")),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_examples(agonist, command):
    said = agonist(*command.split(), "--help")
    assert said.code == 0
    assert said.err == ""
    examples = [line for line in said.out.splitlines() if line.startswith(f"  agonist {command}")]
    assert examples, said.out
    assert "--json" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_help_names_every_command_and_the_exit_codes(agonist):
    said = agonist("--help")
    assert said.code == 0
    for command in COMMANDS:
        assert f"  {command.split()[0]} " in said.out
    for code in ("0 done", "1 the work failed", "2 the words were wrong", "130 stopped"):
        assert code in said.out


def test_nothing_to_do_is_no_success(agonist):
    for words in ([], ["runs"]):
        said = agonist(*words)
        assert (said.code, said.out) == (2, "")
        assert "Options" in said.err


def test_version(agonist):
    import agonist as package

    assert agonist("--version").out == f"agonist {package.__version__}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trian", "No such command 'trian'. Did you mean 'train'?; see agonist --help"),
        ("runs lst", "Did you mean 'list'?; see agonist runs --help"),
        ("train ppo matrix:rps --step 3", "--step is no option here, did you mean --steps?; a key is written without dashes, step=VALUE"),
        ("train ppo matrix:rps --lr 3", "--lr is no option here; a key is written without dashes, lr=VALUE; see agonist train --help"),
        ("train ppo matrix:rps --seed x", "Invalid value for '--seed'"),
        ("train ppo matrix:rps --seeds 0", "Invalid value for '--seeds'"),
        ("evaluate", "Missing argument 'POLICY|RUN'; see agonist evaluate --help"),
        ("doctor x", "unexpected extra argument"),
    ],
)
def test_usage_errors_are_one_sentence(agonist, words, sentence):
    said = agonist(*words.split())
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert said.err.startswith("agonist: ")
    assert said.err.count("\n") == 1


def named(name, message="why"):
    """An exception as `agonist.training` raises it, which imports jax."""
    return type(name, (RuntimeError,), {"__module__": "agonist.training"})(message)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("lr needs a number"), 2, "lr needs a number"),
        (named("TrainingFailed"), 1, "why"),
        (named("Interrupted", "stopped at step 4"), 130, "stopped at step 4"),
        (KeyboardInterrupt(), 130, "stopped"),
        (StoreError("the disk is full"), 1, "the disk is full"),
        (Missing("gone"), 1, "gone"),
        (Damaged("truncated"), 1, "truncated"),
        (Newer("of a newer version"), 1, "of a newer version"),
        (PermissionError(13, "Permission denied", "x.gif"), 1, "x.gif: Permission denied"),
        (KeyError("k\nl"), 1, "KeyError: 'k\\nl' (run with AGONIST_TRACE=1 for the trace)"),
    ],
)
def test_what_an_exception_means(error, code, sentence):
    assert told(error) == (code, sentence)


def raised(work):
    try:
        work()
    except ValueError as error:
        return error
    raise AssertionError


def test_a_librarys_complaint_blames_nobodys_words():
    import jax
    import numpy as np

    def ours():
        raise ValueError("need minibatches to divide")

    for work in (lambda: np.broadcast_to(np.zeros(3), (2,)), lambda: jax.vmap(abs)(1.0), lambda: int("x")):
        code, sentence = told(raised(work))
        assert code == 1
        assert sentence.startswith("ValueError: ")
    for work in (ours, lambda: jax.jit(ours)()):
        assert told(raised(work)) == (2, "need minibatches to divide")


def test_the_trace_is_for_those_who_ask(agonist, monkeypatch):
    assert "Traceback" not in agonist("runs", "show", "nothing").err
    monkeypatch.setenv("AGONIST_TRACE", "1")
    assert "Traceback" in agonist("runs", "show", "nothing").err


def modules_after(code):
    code = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_importing_agonist_imports_nothing_heavy():
    assert not modules_after("import agonist") & {"jax", "numpy", "pyarrow", "typer", "rich"}


def test_help_and_runs_import_no_jax():
    start = "from agonist.cli import main"
    assert not modules_after(f"{start}\nmain(['--help'])\nmain(['train', '--help'])") & {"jax", "numpy", "pyarrow", "PIL"}
    assert "jax" not in modules_after(f"{start}\nmain(['runs', 'list'])\nmain(['envs'])\nmain(['algos'])")


def test_starting_is_quick():
    """Beside another start of Python that does the same size of work, so that a slow machine changes nothing; the best of several."""
    parts = {
        "bare": "import json, typing, asyncio, email",
        "package": "import agonist",
        "help": "from agonist.cli import main; main(['--help'])",
    }
    best = dict.fromkeys(parts, float("inf"))
    for _ in range(15):  # the best of many: other tests run beside this one
        for name, code in parts.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            best[name] = min(best[name], time.perf_counter() - began)
    assert best["package"] <= 1.5 * best["bare"], best
    assert best["help"] <= 6 * best["bare"], best


@pytest.mark.skipif(os.name == "nt", reason="a pipe is closed otherwise on Windows")
def test_a_reader_who_leaves_is_no_error(script, trained):
    store, _ = trained
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*script, "runs", "show", "latest", "--json", "--store", store], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_python_m_gives_the_exit_code(script):
    done = subprocess.run([*script, "runs", "show", "nothing", "--store", "."], capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds no runs yet" in done.stderr


def test_json_of_a_process_is_one_object(script, trained):
    store, result = trained
    done = subprocess.run([*script, "runs", "list", "--store", store, "--json"], capture_output=True, text=True, check=True)
    assert [row["run"] for row in json.loads(done.stdout)["runs"]] == [result["run"]]


PRESSED = """
import importlib.metadata, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
{before}
sys.argv = ["agonist", "--version"]
[entry] = importlib.metadata.entry_points(group="console_scripts", name="agonist")
entry.load()()
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [("", (130, "", "agonist: stopped\n")), ("signal.signal(signal.SIGINT, signal.SIG_IGN)", (0, f"agonist {version('agonist')}\n", ""))],
    ids=["stopped", "in the background"],
)
def test_ctrl_c_while_the_command_line_is_imported(before, expected):
    done = subprocess.run([sys.executable, "-c", PRESSED.format(before=before)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == expected
