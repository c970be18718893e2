"""The example packages, and those that `agonist new` makes of them, pass their own tests and train in an environment of their own.

The environment is fresh: the locked packages, Agonist as a wheel, and the plugins, installed by uv (`UV`, .uv/ or the PATH).
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import jax
import pytest

from agonist.cli import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"env": ROOT / "examples" / "plugin-env", "algo": ROOT / "examples" / "plugin-algo"}
TINY = ("rollout=8", "envs=4", "hidden=8", "eval_every=1", "eval_episodes=4", "shards=1", "--steps", "64")
BIN = "Scripts" if os.name == "nt" else "bin"


def _tests_of(kind):
    """The module of a package's tests, its sources importable."""
    root = PACKAGES[kind]
    sys.path.append(str(root / "src"))
    [path] = (root / "tests").glob("test_*.py")
    spec = importlib.util.spec_from_file_location(f"tests_of_{kind}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if name.startswith("test_")}


globals().update(_tests_of("env") | _tests_of("algo"))  # their numbers here, too; the conformance suites below, in what `new` writes


@pytest.fixture(autouse=True, scope="module")
def quick_to_compile():
    """These programs are compiled more than they are run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def uv():
    places = (os.environ.get("UV"), ROOT / ".uv" / BIN / "uv", shutil.which("uv"))
    found = next((shutil.which(str(place)) for place in places if place and shutil.which(str(place))), None)
    if found is None and os.environ.get("AGONIST_REQUIRE") != "all":
        pytest.skip("no uv, which makes the fresh environment: set UV to where it is")
    assert found, "no uv: set UV to where it is"
    return found


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, encoding="utf8", check=False, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The programs of an environment in which the example packages and two of `agonist new` are installed."""
    tool, home = uv(), tmp_path_factory.mktemp("fresh")
    env = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    env |= {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # as above
    venv = home / "venv"
    words = ("sync", "--frozen", "--no-editable", "--no-default-groups", "--python", sys.executable)
    run(tool, *words, cwd=ROOT, env=env | {"UV_PROJECT_ENVIRONMENT": str(venv)})
    for kind, name in (("env", "pond"), ("algo", "mine")):
        run(venv / BIN / "agonist", "new", kind, name, cwd=home, env=env)
    python = venv / BIN / "python"
    new = ("-e", home / "agonist-pond", "-e", home / "agonist-mine")
    run(tool, "pip", "install", "--python", python, *PACKAGES.values(), *new, f"pytest=={version('pytest')}", cwd=home, env=env)
    return lambda program, *words: run(venv / BIN / program, *words, cwd=home, env=env)


def test_they_install_and_train(fresh):
    found = json.loads(fresh("agonist", "plugins", "--json"))["plugins"]
    theirs = {row["name"]: row["package"] for row in found if row["package"]}
    assert theirs == {name: f"agonist-{name}" for name in ("seesaw", "pond", "reinforce", "mine")}
    assert not any(row["problem"] or row["clash"] for row in found)
    told = json.loads(fresh("agonist", "train", "reinforce", "seesaw:2", *TINY, "--json"))
    assert (told["status"], told["steps"]) == ("finished", 64)
    assert 0 <= told["eval/return"] <= 20


def test_what_new_writes_passes_its_tests(fresh):
    said = fresh("python", "-m", "pytest", "-q", "--import-mode=importlib", "agonist-pond", "agonist-mine")
    assert " passed" in said
    assert "failed" not in said


def test_the_source_tree_is_what_is_shipped(capsys):
    """In the wheel the templates lie within the package; here they are the examples themselves."""
    assert main(["new", "env", "pond", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["files"]) == len([path for path in PACKAGES["env"].rglob("*") if path.suffix in (".py", ".md", ".toml")])
