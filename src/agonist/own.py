"""Own code without a package: `./my_algo.py:make_mine`, `module:function`, or an object of a notebook -> what it names.

Whatever was named so gets a **lasting name**, `module:function#digits`, the digits being the first of the sha256 of its source. That
is what a run's keys and a policy's spec.json hold: two versions of a file are two algorithms. The source lies in the run's folder.

Code is run when somebody types its name, by `named` and `load` alone: whatever is behind them looks code up (`known`) and runs none.
A name that comes out of a file (`strange`: a policy, a run or a sweep to go on with) has its digits, and is followed only where it was
allowed (`--allow-code`) or where this process runs that very code already; its source is looked for in the run's folder, in this folder
and among the importable modules, and must have the digits that the name says. Any other name of a file's is of something installed.

In: text or objects. Out: `Code`; sentences with file and line.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agonist.options import nearest

DIGITS = 16
ALLOW = "AGONIST_ALLOW_CODE"  # 1: as --allow-code everywhere
FILES = "AGONIST_OWN_FILES"  # the files of own code that this process runs: processes that it starts find them by lasting name
NOTEBOOK = "<notebook>"  # the module of what no other process can find
FORM = re.compile(rf"(?P<place>.+):(?P<what>[A-Za-z_][\w.]*)(?:#(?P<digits>[0-9a-f]{{{DIGITS}}}))?")

Copies = Callable[[str, str], bytes | None]  # run, file name -> the source that its folder keeps


@dataclass(frozen=True)
class Code:
    name: str  # the lasting one
    made: Any  # what it names
    file: str = ""  # where it was read; "" for an object
    source: bytes = b""

    @property
    def copy(self) -> str:
        """The name of its file in a run's folder."""
        return _copy_name(*_parts(self.name))

    def told(self) -> dict[str, str]:
        """What run.json says of it."""
        return {"name": self.name, "file": self.file, "sha256": hashlib.sha256(self.source).hexdigest()}


@dataclass(frozen=True)
class _Stranger:
    who: str  # for the sentence
    run: str  # whose folder may hold the source; "" where none is known


_known: dict[str, Code] = {}  # by lasting name
_files: set[str] = set()  # of which code was run
_stranger: ContextVar[_Stranger | None] = ContextVar("stranger", default=None)
_allowed: ContextVar[bool] = ContextVar("allowed", default=False)
_copies: ContextVar[Copies | None] = ContextVar("copies", default=None)


@contextmanager
def allowing(allowed: bool, copies: Copies | None = None) -> Iterator[None]:
    """Within, names out of files may be followed; `copies` reads what runs keep of their code."""
    tokens = _allowed.set(allowed or _allowed.get()), _copies.set(copies or _copies.get())
    try:
        yield
    finally:
        _allowed.reset(tokens[0])
        _copies.reset(tokens[1])


@contextmanager
def strange(who: str, run: str = "") -> Iterator[None]:
    """Within, names are not the user's own words: they came out of a file."""
    token = _stranger.set(_Stranger(who, run))
    try:
        yield
    finally:
        _stranger.reset(token)


def is_name(text: str) -> bool:
    """Whether it names own code. `module:function` does where there is such a module, and where a file says so, in any case."""
    found = FORM.fullmatch(text)
    if found is None:
        return False
    if found["digits"] or found["place"].endswith(".py") or _stranger.get():
        return True
    return _module_file(found["place"]) is not None


def is_code(value: Any) -> bool:
    """Whether a key's value is own code beyond doubt: a function, or text that names a file's."""
    return callable(value) or (isinstance(value, str) and ".py:" in value and is_name(value))


def named(value: Any) -> str:
    """The lasting name of own code, typed or given as an object; any other text as it is."""
    if isinstance(value, str):
        if re.fullmatch(r".*\.py", value):
            raise ValueError(f"{value} is a file: say which function of it, as in {value}:make")
        return load(value).name if is_name(value) else value
    return _adopted(value).name


def known(name: str) -> Code | None:
    return _known.get(name)


def short(name: str) -> str:
    """A lasting name as people say it."""
    return name.partition("#")[0] if FORM.fullmatch(name) else name


def used(keys: Mapping[str, Any]) -> list[Code]:
    """The own code that a run's keys name."""
    names = dict.fromkeys(value for value in keys.values() if isinstance(value, str))
    return [_known[name] for name in names if name in _known]


def load(text: str) -> Code:
    """What a name stands for; its code is run the first time."""
    if text in _known:
        return _known[text]
    place, what, digits = _parts(text)
    stranger = _stranger.get()
    if place == NOTEBOOK:
        raise ValueError(
            f"{what} was an object of a notebook or a script, which no other process can find: give it again, "
            "as in agonist.train(resume=run, env=obj)"
        )
    if stranger and not digits:
        raise ValueError(f"{stranger.who} names {text}, without the digits of its source: nothing installed here, nor own code")
    if stranger and not _allowed.get() and os.environ.get(ALLOW) != "1":
        raise ValueError(f"{stranger.who} needs own code, {short(text)}; code that a file names is run only when you say so: --allow-code")
    file, source, module = _found(place, what, digits)
    name = f"{_module_name(place)}:{what}#{_digits(source)}"
    if name not in _known:
        _known[name] = Code(name, _attribute(module or _run(file, source), what, place), file, source)
    return _known[name]


def place_of(error: BaseException) -> str:
    """`my_algo.py, line 12`: the innermost line of own code on the way to an error; "" where it went through none."""
    place, step = "", error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename in _files:
            place = f"{Path(step.tb_frame.f_code.co_filename).name}, line {step.tb_lineno}"
        step = step.tb_next
    return place


# within


def _parts(text: str) -> tuple[str, str, str]:
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} names no code: write ./file.py:function or module:function")
    return found["place"], found["what"], found["digits"] or ""


def _module_name(place: str) -> str:
    return Path(place.replace("\\", "/")).stem if place.endswith(".py") else place


def _copy_name(place: str, what: str, digits: str) -> str:
    return f"{_module_name(place)}-{digits}.py"


def _digits(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:DIGITS]


def _module_file(place: str) -> str | None:
    """The source of an importable module, or of a file of its name in this folder."""
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(place)
        if spec and spec.origin and spec.origin.endswith(".py"):
            return spec.origin
    here = Path(f"{place.replace('.', '/')}.py")
    return str(here.resolve()) if here.is_file() else None


def _found(place: str, what: str, digits: str) -> tuple[str, bytes, types.ModuleType | None]:
    """(file, source, the module where it is an importable one) of the version that is meant."""
    changed = ""
    for file, source in _sources(place, what, digits):
        if not digits or _digits(source) == digits:
            if changed:
                print(f"agonist: {changed} has changed since; what it was then is used, {file}", file=sys.stderr)
            return file, source, _imported(place, file, _digits(source))
        changed = changed or file
    stranger = _stranger.get()
    needed = f"{stranger.who} was made with {place}:{what}" if stranger else f"{place}:{what}"
    if changed:
        raise ValueError(f"{needed} as it was (sha256 {digits}...); {changed} has changed since: put it back")
    needed += ", which" if stranger else ""
    if place.endswith(".py"):
        raise ValueError(f"there is no file {place} in {Path.cwd()}")
    raise ValueError(f"{needed} is nowhere to be found: go to the folder of {_module_name(place)}.py, or make it importable")


def _sources(place: str, what: str, digits: str) -> Iterator[tuple[str, bytes]]:
    stranger, copies = _stranger.get(), _copies.get()
    if place.endswith(".py"):
        path = Path(place).expanduser()
        if path.is_file():
            yield str(path.resolve()), path.read_bytes()
        return
    importable = _module_file(place)
    here = Path(f"{place.replace('.', '/')}.py")
    inherited = [file for file in os.environ.get(FILES, "").split(os.pathsep) if Path(file).stem == place]
    for file in dict.fromkeys(filter(None, (importable, *inherited, str(here.resolve())))):
        if Path(file).is_file():
            yield file, Path(file).read_bytes()
    if stranger and stranger.run and copies and (kept := copies(stranger.run, _copy_name(place, what, digits))) is not None:
        yield f"{stranger.run}/code/{_copy_name(place, what, digits)}", kept


def _imported(place: str, file: str, digits: str) -> types.ModuleType | None:
    """The importable module that this file is; None for any other file."""
    if place.endswith(".py"):
        return None
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(place)
        if spec and spec.origin == file:
            _files.add(file)
            seen = {code.name.rpartition("#")[2] for code in _known.values() if code.file == file}
            old = sys.modules.get(place) if seen and digits not in seen else None  # another version of it
            return _tried(file, lambda: importlib.reload(old) if old else importlib.import_module(place))
    return None


def _run(file: str, source: bytes) -> types.ModuleType:
    """The file as a module of its own, by a name that is the same wherever that source is run."""
    name = f"agonist_own.{Path(file).stem.removesuffix('-' + _digits(source))}_{_digits(source)}"
    if name in sys.modules:
        return sys.modules[name]
    module = types.ModuleType(name)
    module.__file__ = file
    _files.add(file)
    if not Path(file).is_file():  # out of a run's folder: traces show its lines all the same
        lines = source.decode(errors="replace").splitlines(keepends=True)
        linecache.cache[file] = (len(source), None, lines, file)
    else:
        if (folder := str(Path(file).parent)) not in sys.path:
            sys.path.append(folder)  # what lies beside it can be imported, as from a script
        os.environ[FILES] = os.pathsep.join(dict.fromkeys(filter(None, (*os.environ.get(FILES, "").split(os.pathsep), file))))
    sys.modules[name] = module  # dataclasses look for it there
    try:
        _tried(file, lambda: exec(compile(source, file, "exec"), module.__dict__))
    except ValueError:
        del sys.modules[name]
        raise
    return module


def _tried(file: str, work: Callable[[], Any]) -> Any:
    """Run somebody's module; what it prints is no result, and whatever it raises becomes a sentence."""
    try:
        with redirect_stdout(sys.stderr):
            return work()
    except SyntaxError as error:
        raise ValueError(f"{Path(error.filename or file).name}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        first = next(iter(str(error).splitlines()), "")
        raise ValueError(f"{place_of(error) or Path(file).name}: {type(error).__name__}: {first}") from error


def _attribute(module: types.ModuleType, what: str, place: str) -> Any:
    made: Any = module
    for part in what.split("."):
        if not hasattr(made, part):
            public = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
            raise ValueError(f"{place} has no {what!r}{nearest(what, public)}")
        made = getattr(made, part)
    return made


def _adopted(made: Any) -> Code:
    """An object, by the name under which others could find it, or one that says that nobody can."""
    for code in _known.values():
        if code.made is made:
            return code
    name, module = getattr(made, "__qualname__", ""), sys.modules.get(getattr(made, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if module and module.__name__ != "__main__" and name.isidentifier() and getattr(module, name, None) is made and file.endswith(".py"):
        _files.add(file)
        source = Path(file).read_bytes()
        code = Code(f"{module.__name__}:{name}#{_digits(source)}", made, file, source)
    else:
        label = re.sub(r"\W+", "_", str(getattr(made, "__name__", "") or getattr(getattr(made, "spec", None), "name", "")))
        source = _source_of(made).encode()
        code = Code(f"{NOTEBOOK}:{label if label.isidentifier() else '_' + label}#{_digits(source)}", made, "", source)
    _known[code.name] = code
    return code


def _source_of(made: Any) -> str:
    """What tells an object from others like it: its text with the plain values it closes over, or its parts'."""
    if inspect.isfunction(made) or inspect.isclass(made):
        held = [cell.cell_contents for cell in getattr(made, "__closure__", None) or ()]
        try:
            text = inspect.getsource(made)
        except (OSError, TypeError):  # typed at a prompt
            text = made.__qualname__
        return text + "".join(_source_of(value) for value in held)
    if isinstance(made, tuple | list):
        return "".join(map(_source_of, made))
    if is_dataclass(made):
        return "".join(_source_of(getattr(made, field.name)) for field in fields(made))
    return repr(made) if isinstance(made, str | int | float | bool | None) else type(made).__qualname__
