"""Own code: found by what people type, named by its source, run from a file's word only where that was allowed."""

import hashlib
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import jax
import pytest

import agonist
from agonist import algos, assembly, envs, own, policies, specs, sweeps
from agonist.algos.ppo import PPOConfig, make_ppo
from agonist.checkpoints import PolicyContent
from agonist.cli import main
from agonist.runs import open_store, writer
from agonist.testing.stairs import Hosted

BEFORE = [*sys.path]
TINY = {"rollout": 16, "envs": 4, "eval_every": 1, "eval_episodes": 4, "shards": 1}
WORDS = [f"{key}={value}" for key, value in TINY.items()]

ALGO = '''
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from agonist.types import Algorithm, Plan, option


@dataclass(frozen=True)
class MineConfig:
    rollout: int = option(16, "steps between updates", span=(1, None))
    bonus: float = option(0.0, "what nobody needs", span=(0, None))
    scale: float = option(1.0, "of the logits", acts=True)


def make_mine(config: MineConfig, role, axes):
    """Play what is a little likelier at each update.

    No more than that."""

    def act(params, timestep, carry, key):
        logits = jnp.where(timestep.legal, config.scale * params, -1e9)
        return jax.random.categorical(key, logits).astype(jnp.int32), {}, carry

    def greedy(params, timestep, carry):
        return act(params, timestep, carry, jax.random.key(0))[0], carry

    def same(state):
        return state

    def update(state, batch, key):
        return state.at[0].add(0.1), {"loss/none": jnp.zeros(())}, ()

    def init(key):
        return jnp.zeros(role.action.n)

    return Algorithm("whatever", role, init, same, same, lambda batch: (), act, greedy, update, plan=Plan(config.rollout))


def no_config(config, role, axes):
    pass
'''
ENV = """
import agonist
from dataclasses import replace


def make(rounds: int = 3):
    env = agonist.make("matrix:climbing", rounds=rounds)
    return replace(env, spec=replace(env.spec, name=f"mine:{rounds}"))
"""


@pytest.fixture(autouse=True, scope="module")
def quick_to_compile():
    """These programs are compiled more than they are run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with somebody's files, and nothing remembered of other tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGONIST_STORE", str(tmp_path / "store"))
    monkeypatch.delenv(own.FILES, raising=False)
    monkeypatch.delenv(own.ALLOW, raising=False)
    monkeypatch.setattr(own, "_known", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_algo.py").write_text(ALGO)
    (tmp_path / "my_env.py").write_text(ENV)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("agonist_own.") or name in ("my_algo", "my_env", "his", "evil")]:
        del sys.modules[name]


def forget(monkeypatch):
    """As another process would begin."""
    monkeypatch.setattr(own, "_known", {})
    monkeypatch.setattr(sys, "path", [*BEFORE])
    monkeypatch.delenv(own.FILES, raising=False)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("./my_algo.py:make", ("./my_algo.py", "make", "")),
        (r"C:\algos\x.py:make", (r"C:\algos\x.py", "make", "")),
        ("a.b:Class.made", ("a.b", "Class.made", "")),
        ("x:make#0123456789abcdef", ("x", "make", "0123456789abcdef")),
        ("<notebook>:env#0123456789abcdef", ("<notebook>", "env", "0123456789abcdef")),
    ],
)
def test_names_are_taken_apart(text, parts):
    assert own._parts(text) == parts


@pytest.mark.parametrize(
    "text", ["lbf:2s-8x8-2p-2f-coop", "ppo", "matrix:./payoff.json", "lbff:tiny", "gymnasium:CartPole-v1", "no_module:x"]
)
def test_other_names_are_no_code(text):
    assert not own.is_name(text)
    assert own.named(text) == text


def test_a_lasting_name_is_of_module_function_and_source(here):
    code = own.load("./my_algo.py:make_mine")
    digits = hashlib.sha256((here / "my_algo.py").read_bytes()).hexdigest()
    assert code.name == f"my_algo:make_mine#{digits[:16]}"
    assert own.load(str(here / "my_algo.py") + ":make_mine") is code
    assert own.load("my_algo:make_mine") is code  # the file of that name in this folder
    assert own.short(code.name) == "my_algo:make_mine"
    assert code.told() == {"name": code.name, "file": str(here / "my_algo.py"), "sha256": digits}
    (here / "my_algo.py").write_text(ALGO + "\n")
    assert own.load("./my_algo.py:make_mine").name != code.name  # another version is another algorithm


def test_what_lies_beside_it_can_be_imported_and_its_prints_are_no_result(here, capsys):
    (here / "beside.py").write_text("answer = 42\n")
    (here / "asks.py").write_text("from beside import answer\nprint('hello')\ndef tell():\n    return answer\n")
    assert own.load("./asks.py:tell").made() == 42
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "hello\n")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("def f(:\n", r"bad\.py, line 1: invalid syntax"),
        ("\nimport no_such_thing\n", r"bad\.py, line 2: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("import sys\n\nsys.exit(3)\n", r"bad\.py, line 3: SystemExit: 3"),
        ("def g():\n    pass\n", r"\./bad\.py has no 'f'; there is g"),
    ],
)
def test_what_is_wrong_with_a_file_is_a_sentence_with_its_line(here, source, sentence):
    (here / "bad.py").write_text(source)
    for _ in range(2):  # nothing half-made stays behind
        with pytest.raises(ValueError, match=sentence):
            own.load("./bad.py:f")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("train ./my_algo.py matrix:rps", "./my_algo.py is a file: say which function of it, as in ./my_algo.py:make"),
        ("train ./my_algo.py:make_min matrix:rps", "./my_algo.py has no 'make_min'; did you mean make_mine?"),
        ("train ./nix.py:f matrix:rps", "there is no file ./nix.py in "),
        ("train ./my_algo.py:make_mine matrix:rps bonuss=1", "my_algo:make_mine has no key 'bonuss'; did you mean bonus?"),
        ("train ./my_algo.py:make_mine matrix:rps bonus=-1", "bonus needs a value of 0 or more, got -1"),
        ("train ./my_algo.py:no_config matrix:rps", "my_algo:no_config does not say what its keys are: annotate config"),
        ("train ./my_env.py:make matrix:rps", "my_env:make takes (rounds); an algorithm is a function of (config, role, axes)"),
        ("train ppo ./my_env.py:make env.round=3", "my_env:make has no key 'round'; did you mean rounds?"),
        ("train ppo ./my_env.py:make env.rounds=few", "rounds needs a whole number such as 128 or 1e6, got 'few'"),
        (
            "train ppo matrix:rps torso=nosuch:make --dry-run",
            "torso is mlp, cnn, or own code, ./file.py:function; nosuch:make is nowhere to be",
        ),
        ("train ppo matrix:rps roles.agents.torso=nosuch:make", "torso is mlp, cnn, or own code, ./file.py:function; nosuch:make is"),
        ("train ppo matrix:rps torso=my_env:mak", "my_env has no 'mak'; did you mean make?"),
        ("train ppo matrix:rps torso=a:b:", "torso is mlp, cnn, or own code, ./file.py:function; 'a:b:' names no code"),
        ("train nosuch:make matrix:rps", "nosuch:make is no algorithm that is installed, and no own code"),
        ("train ppo matrix:rps torso=mpl", "torso is one of mlp, cnn or own code, ./file.py:function, got 'mpl'"),
    ],
)
def test_wrong_words_are_refused(words, sentence, capsys):
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith(f"agonist: {sentence}")


def test_an_error_in_own_code_says_where(here, capsys):
    (here / "late.py").write_text(ALGO + "\n\ndef make_late(config: MineConfig, role, axes):\n    return {}['key']\n")
    line = (here / "late.py").read_text().count("\n")
    assert main(["train", "./late.py:make_late", "matrix:rps", *WORDS]) == 1
    assert f"agonist: late.py, line {line}: KeyError: 'key'" in capsys.readouterr().err


def test_a_run_of_own_code_keeps_its_source_and_is_followed_where_allowed(here, monkeypatch, capsys):
    train = ["train", "./my_algo.py:make_mine", "./my_env.py:make", "env.rounds=4", *WORDS, "--steps", "128", "--json"]
    assert main(train) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    folder = here / "store" / "runs" / run
    head = json.loads((folder / "run.json").read_text())
    assert own.FORM.fullmatch(head["spec"]["algo"])["what"] == "make_mine"
    kept = {code["name"]: folder / "code" / own.Code(code["name"], None).copy for code in head["extra"]["code"]}
    assert [path.read_text() for path in kept.values()] == [ALGO, ENV]

    forget(monkeypatch)
    for words in (["evaluate", run, "--episodes", "2"], ["train", "--resume", run, "--steps", "256"]):
        assert main(words) == 2
        assert "needs own code, my_" in capsys.readouterr().err
    assert main(["evaluate", run, "--episodes", "2", "--allow-code", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["env"] == "mine:4"

    forget(monkeypatch)
    (here / "my_algo.py").write_text(ALGO.replace("a little", "somewhat"))
    os.remove(here / "my_env.py")
    assert main(["train", "--resume", run, "--steps", "256", "--allow-code", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["steps"] == 256
    assert f"{here / 'my_algo.py'} has changed since; what it was then is used" in said.err

    forget(monkeypatch)
    for path in kept.values():
        path.unlink()
    assert main(["evaluate", run, "--episodes", "2", "--allow-code"]) == 2
    said = capsys.readouterr().err
    assert "was made with my_env:make, which is nowhere to be found: go to the folder of my_env.py" in said


def test_a_policy_says_which_code_it_plays_by(here, monkeypatch):
    run = agonist.train("./my_algo.py:make_mine", "matrix:rps", steps=64, **TINY)
    policy = run.policy()
    code = own.load("./my_algo.py:make_mine")
    assert policy.spec["algo"] == policy.algorithm.name == code.name
    assert policy.spec["config"] == {"scale": 1.0}
    forget(monkeypatch)
    with pytest.raises(ValueError, match=r"policy \w+ needs own code, my_algo:make_mine; .*--allow-code"):
        run.policy()
    assert run.policy(allow_code=True).name == policy.name
    assert agonist.load_policy(policy.name).name == policy.name  # now this process runs it


def test_a_strange_name_runs_nothing(here, monkeypatch):
    source = b"open('ran', 'w')\ndef make(): pass\n"
    (here / "evil.py").write_bytes(source)
    name = f"evil:make#{hashlib.sha256(source).hexdigest()[:16]}"
    with own.strange("policy p"), pytest.raises(ValueError, match="policy p needs own code, evil:make; code that a file names"):
        own.named(name)
    with own.strange("policy p"), pytest.raises(ValueError, match="policy p names evil:make, without the digits of its source"):
        envs.make("evil:make")
    with own.allowing(True), own.strange("policy p"):
        for text in ("./evil.py:make", "evil:make"):  # what our files say has digits
            with pytest.raises(ValueError, match=f"policy p names {text}, without the digits of its source"):
                own.load(text)
        with pytest.raises(ValueError, match="has changed since: put it back"):
            own.load("evil:make#0123456789abcdef")
    assert not Path("ran").exists()
    monkeypatch.setenv(own.ALLOW, "1")
    with own.strange("policy p"):
        own.load(name)
    assert Path("ran").exists()


# doors through which files come

EVIL = "open('ran', 'w')\n\ndef make(): pass\n"
NAMES = ["evilmod:make", "./evilmod.py:make", "os:getcwd", f"evilmod:make#{hashlib.sha256(EVIL.encode()).hexdigest()[:16]}"]
KEYS = ["env", "algo", "torso", "roles.agents.algo", "roles.agents.torso"]
GIVEN = {"algo": "ppo", "env": "matrix:climbing", "steps": 64, **TINY}


@pytest.fixture
def evil(here):
    (here / "evilmod.py").write_text(EVIL)
    yield open_store(str(here / "store"))
    sys.modules.pop("evilmod", None)


def refused(capsys, name, *words):
    """The command says what it would need, and nothing of it was run."""
    assert main([*words]) == 2
    said = capsys.readouterr().err
    needed = "needs own code, evilmod:make; code that a file names is run only when you say so: --allow-code"
    assert (needed if "#" in name else f"names {name}, without the digits of its source: nothing installed here, nor own code") in said
    assert not Path("ran").exists()


def policy_folder(place, algo="ppo", torso="mlp", env="matrix:climbing"):
    role = envs.make("matrix:climbing").spec.roles[0]
    config = algos.configure("ppo", {"hidden": [8]})
    made = algos.make("ppo", config, role)
    held = policies.content(made, config, made.policy(made.init(jax.random.key(0))), {"spec": {"env": env}})
    spec = {**held.spec, "algo": algo, "config": {**held.spec["config"], "torso": torso}}
    place.mkdir()
    for name, data in PolicyContent(spec, held.tensors, held.provenance).files.items():
        (place / name).write_bytes(data)
    return str(place)


def sweep_of(store, key, name, where):
    """One that somebody wrote, and did not train."""
    plan = sweeps.make_plan(GIVEN, {"lr": [1e-3, 3e-3]}).document()
    part = plan["given"] if where == "given" else plan["trials"][1][where]
    part[key] = name
    return writer.create(store, "sweep", GIVEN, extra={"plan": plan}).id


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", KEYS)
def test_no_code_of_a_runs_file_is_run(evil, capsys, key, name):
    writer.create(evil, "train", {**GIVEN, key: name})
    refused(capsys, name, "train", "--resume", "latest")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["evaluate", "watch"])
def test_no_code_of_a_policys_provenance_is_run(evil, here, capsys, command, name):
    refused(capsys, name, command, policy_folder(here / "policy", env=name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ["algo", "torso"])
def test_no_code_of_a_policys_spec_is_run(evil, here, key, name):
    folder = policy_folder(here / "policy", **{key: name})
    with pytest.raises(ValueError, match=r"policy \w+ (needs own code, evilmod:make|names .*, without the digits)"):
        agonist.load_policy(folder)
    assert not Path("ran").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("key", "where"), [(KEYS[0], "given"), (KEYS[1], "more"), (KEYS[2], "point"), (KEYS[3], "more"), (KEYS[4], "given")]
)
def test_no_code_of_a_sweeps_plan_is_run(evil, capsys, key, where, name):
    sweep_of(evil, key, name, where)
    refused(capsys, name, "sweep", "--resume", "latest")


@pytest.mark.parametrize("digits", ["", NAMES[-1].partition("make")[2]])
def test_no_code_that_an_archive_brings_is_run(evil, here, capsys, digits):
    sweep = writer.create(evil, "sweep", GIVEN, extra={"plan": sweeps.make_plan(GIVEN, {"lr": [1e-3]}).document()}).id
    name = f"other/runs/{sweep}/code/evilmod.py:make{digits}"
    head = here / "store" / "runs" / sweep / "run.json"
    told = json.loads(head.read_text())
    told["extra"]["plan"]["trials"][0]["more"] = {"algo": name}
    with zipfile.ZipFile("evil.zip", "w") as archive:
        archive.writestr(f"runs/{sweep}/run.json", json.dumps(told))
        archive.writestr(f"runs/{sweep}/code/evilmod.py", EVIL)
    assert main(["runs", "import", "evil.zip", "--store", "other"]) == 0
    assert (here / "other" / "runs" / sweep / "code" / "evilmod.py").read_text() == EVIL
    capsys.readouterr()
    assert main(["sweep", "--resume", "latest", "--store", "other"]) == 2
    assert ("evilmod.py:make; code that a file names" if digits else f"names {name}, without the digits") in capsys.readouterr().err
    assert not Path("ran").exists()


def test_what_is_installed_is_no_code(here):
    (here / "lbf.py").write_text(EVIL)
    with own.strange("run r"):
        assert envs.named("lbf:8x8-2p-2f-coop") == "lbf:8x8-2p-2f-coop"
        assert specs.resolve({**GIVEN, "torso": "mlp", "roles.agents.algo": "mappo"}).roles == {"agents": {"algo": "mappo"}}


def test_a_plan_names_own_code_by_its_digits(here, monkeypatch):
    """So it can be followed where that is allowed, wherever in the plan it is named."""
    (here / "my_torso.py").write_text(
        "from agonist.nets.torso import mlp\n\ndef make(hidden, activation):\n    return mlp(hidden, activation)\n"
    )
    told = {"algos": {"mine": {"algo": "./my_algo.py:make_mine"}, "ppo": {"roles.agents.torso": "my_torso:make"}}}
    plan = sweeps.study.plan_of_study({**told, "envs": {"my_env:make": {}}, "seeds": 1, "steps": 64})
    for trial in plan.trials:
        flat = specs.resolve(plan.keys(trial)).flat()
        assert {key: value for key, value in plan.keys(trial).items() if key in flat}.items() <= flat.items()
    again = [plan.keys(trial) for trial in plan.trials]
    forget(monkeypatch)
    for keys in again:
        with own.strange("sweep s"), pytest.raises(ValueError, match="sweep s needs own code, my_"):
            specs.resolve(keys)
        with own.strange("sweep s"), own.allowing(True):
            specs.resolve(keys)


def test_what_was_not_resolved_is_not_run_by_assembling(evil):
    name = NAMES[-1]
    spec = specs.resolve(GIVEN)
    for wrong in (
        replace(spec, env="evilmod:make"),
        replace(spec, env=name),
        replace(spec, algo=name),
        replace(spec, roles={"agents": {"algo": name}}),
    ):
        with pytest.raises(ValueError, match=r"there is no family of environments 'evilmod'|evilmod:make.* is no algorithm"):
            assembly.assemble(wrong, lambda text: None)
    assert not Path("ran").exists()


def test_processes_that_we_start_find_the_files(here, monkeypatch):
    (here / "deep").mkdir()
    (here / "my_algo.py").rename(here / "deep" / "his.py")
    name = own.named("./deep/his.py:make_mine")
    monkeypatch.setattr(own, "_known", {})
    assert own.load(name).file == str(here / "deep" / "his.py")
    forget(monkeypatch)
    del sys.modules["his"]  # that folder was importable
    with pytest.raises(ValueError, match="nowhere to be found"):
        own.load(name)


# objects in place of names


def make_local(config: PPOConfig, role, axes):
    return make_ppo(config, role, axes)


def test_objects_train_and_go_on_where_they_are_given_again(monkeypatch):
    env = agonist.make("matrix:climbing")

    make_mine = own.load("./my_algo.py:make_mine").made

    def made(config: own.load("./my_algo.py:MineConfig").made, role, axes):
        return make_mine(config, role, axes)

    run = agonist.train(made, env, steps=64, **TINY)
    assert run.spec["algo"].startswith("<notebook>:made#")
    assert run.spec["env"].startswith("<notebook>:matrix_climbing#")
    assert agonist.evaluate(run, episodes=2)["env"] == "matrix:climbing"
    forget(monkeypatch)
    with pytest.raises(ValueError, match=r"made was an object of a notebook or a script, .*: give it again"):
        agonist.train(resume=run, steps=128, allow_code=True)
    with pytest.raises(ValueError, match="keeps its own keys"):
        agonist.train("ppo", resume=run, steps=128)
    with pytest.raises(ValueError, match=r"trained with env=<notebook>:matrix_climbing#\w+; what is given now is"):
        agonist.train(made, agonist.make("matrix:rps"), resume=run, steps=128)
    assert agonist.train(made, env, resume=run, steps=128).summary["steps"] == 128
    json.dumps(run.spec)


def test_an_environment_on_the_host_is_given_by_a_function():
    with pytest.raises(ValueError, match="give a function that makes this environment: evaluation plays in one of its own"):
        agonist.train("./my_algo.py:make_mine", Hosted(), steps=64, **TINY)
    spec = specs.resolve({"algo": "./my_algo.py:make_mine", "env": Hosted})
    assert assembly.assemble(spec, lambda text: None).env.spec.name == "stairs"


def test_a_function_of_a_module_is_named_by_it(here, monkeypatch):
    monkeypatch.syspath_prepend(str(here))
    (here / "importable_env.py").write_text(ENV)
    import importable_env

    name = own.named(importable_env.make)
    assert own.short(name) == "importable_env:make"
    monkeypatch.setattr(own, "_known", {})
    with own.allowing(True), own.strange("run r"):
        assert own.load(name).made is importable_env.make


def test_an_imported_module_that_changed_is_read_again(here, monkeypatch):
    monkeypatch.syspath_prepend(str(here))
    (here / "evil.py").write_text("def make(): return 1\n")
    first = own.load("evil:make")
    (here / "evil.py").write_text("def make(): return 12345\n")
    second = own.load("evil:make")
    assert (first.made(), second.made()) == (1, 12345)
    assert first.name != second.name


def test_objects_that_differ_have_different_names():
    def widths(n):
        def init(rng, shape):
            return {"n": n}

        return init, abs

    names = {own.named(widths(8)), own.named(widths(16)), own.named((abs, len))}
    assert len(names) == 3
    assert own.named(widths(8)) in names  # made anew it is the same: closures of plain values count


def test_keys_of_own_code_are_plain_json(here):
    spec = specs.resolve({"algo": make_local, "env": "./my_env.py:make", "roles.agents.algo": "./my_algo.py:make_mine", "steps": 64})
    flat = json.loads(json.dumps(spec.flat()))
    assert [own.short(flat[key]) for key in ("algo", "env", "roles.agents.algo")][1:] == ["my_env:make", "my_algo:make_mine"]
    assert [code.name for code in own.used(flat)] == [flat[key] for key in ("algo", "env", "roles.agents.algo")]
    assert specs.resolve(flat).flat() == spec.flat()


def test_own_configs_need_no_options(here):
    text = "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass C:\n    rate: float = 0.5\n    names: dict | None = None\n"
    (here / "plain.py").write_text(text + "\ndef make(config: C, role, axes): ...\n")
    name = algos.named("./plain.py:make")
    assert algos.configure(name, {"rate": "2"}).rate == 2.0
    with pytest.raises(ValueError, match="names is a dict; a key is a bool"):
        algos.configure(name, {"names": "x"})
    with pytest.raises(ValueError, match="gave a NoneType; an algorithm is"):
        algos.make(name, algos.configure(name, {}), envs.make("matrix:rps").spec.roles[0])
