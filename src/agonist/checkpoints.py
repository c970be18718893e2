"""Tensors and policies as files that a stranger can open, named by their content.

A **policy** is a folder of three files: `spec.json` (canonical JSON), `tensors.safetensors` (without metadata) and
`provenance.json` (run, step, seeds, code). Its name is the first 20 hex digits of the sha256 of the first two only, so two
runs that reach the same parameters have the same policy. A folder whose own name is such a hash is verified when read; one
that somebody renamed is read as it is. Nothing is ever unpickled.

In: flat mappings name -> numpy array, and plain JSON values. Out: bytes, and the same back, to the bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:  # a listing reads JSON alone, and numpy takes a tenth of a second to import
    import numpy as np

FORMAT = 1  # of a policy's folder
NAME_DIGITS = 20  # 80 bits of the hash: short enough to paste, far beyond any accidental meeting
FILES = ("spec.json", "tensors.safetensors", "provenance.json")

Tensors = Mapping[str, "np.ndarray[Any, Any]"]


class Damaged(ValueError):
    """A file that is truncated, altered or not what its name says."""


class Newer(ValueError):
    """A file that a later Agonist wrote."""


# JSON


def plain(value: Any, where: str = "", nan: Literal["refuse", "null"] = "refuse") -> Any:
    """`value` as JSON can hold it: numpy's scalars and arrays become Python's; `nan` says what becomes of NaN and infinities."""
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if nan == "null":
            return None
        raise ValueError(f"{where or 'a value'} is {value}, which JSON cannot hold; use a finite number or null")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{where or 'a mapping'} has the key {key!r}; JSON's keys are strings")
        return {key: plain(item, f"{where}.{key}" if where else key, nan) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]", nan) for i, item in enumerate(value)]
    raise ValueError(f"{where or 'a value'} is a {type(value).__name__}, which JSON cannot hold; use numbers, strings, lists and mappings")


def canonical_json(value: Any) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, floats by repr. NaN is refused."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def pretty_json(value: Any) -> bytes:
    """JSON for people: indented, keys as given, NaN and infinities as null."""
    return (json.dumps(plain(value, nan="null"), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def parse_json(data: bytes, what: str) -> dict[str, Any]:
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise Damaged(f"{what} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise Damaged(f"{what} is damaged: it holds a {type(value).__name__} where a mapping belongs")
    return value


def check_format(document: Mapping[str, Any], newest: int, what: str) -> None:
    found = document.get("format")
    if not isinstance(found, int):
        raise Damaged(f"{what} does not say its format; it is not Agonist's, or damaged")
    if found > newest:
        raise Newer(f"{what} has format {found}; this Agonist reads formats up to {newest}: upgrade it (pip install -U agonist)")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# tensors


def encode_tensors(tensors: Tensors) -> bytes:
    """safetensors without metadata. The bytes depend on the names and arrays only, not on the mapping's order."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save

    if "__metadata__" in tensors:
        raise ValueError("a tensor cannot be named '__metadata__': safetensors keeps that name for itself")
    dense = {name: np.require(array, requirements="C") for name, array in tensors.items()}  # keeps 0-d arrays 0-d
    try:
        return save(dense)
    except SafetensorError as error:
        strange = {name: str(array.dtype) for name, array in dense.items() if array.dtype.kind in "OSUMmc"}
        raise ValueError(f"tensors must be bool, integer or floating arrays; got {strange or error}") from None


def decode_tensors(data: bytes, what: str = "tensors") -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of their own (writable), names sorted."""
    from safetensors import SafetensorError, deserialize

    try:
        return {name: _array(raw) for name, raw in sorted(deserialize(data))}
    except (SafetensorError, ValueError, AttributeError, KeyError, TypeError) as error:  # also a tensor of a type unknown here
        raise Damaged(f"{what} is damaged: {error}") from None


_DTYPES = {"BOOL": "bool", "C64": "complex64", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}


def _array(raw: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    code = raw["dtype"]
    name = _DTYPES.get(code) or {"F": "float", "I": "int", "U": "uint"}[code[0]] + code[1:]
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes  # gives numpy the short floats; comes with jax

        return np.frombuffer(raw["data"], getattr(ml_dtypes, name)).reshape(raw["shape"])
    return np.frombuffer(raw["data"], name).reshape(raw["shape"])


# policies


@dataclass(frozen=True)
class PolicyContent:
    """What a policy's folder holds."""

    spec: Mapping[str, Any]
    tensors: Tensors
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def files(self) -> dict[str, bytes]:
        parts = _spec_json(self.spec), encode_tensors(self.tensors), pretty_json({"format": FORMAT, **self.provenance})
        return dict(zip(FILES, parts, strict=True))

    @cached_property
    def name(self) -> str:
        return _name(self.files)


def policy_name(spec: Mapping[str, Any], tensors: Tensors) -> str:
    """The first 20 hex digits of sha256(canonical JSON of the spec, a newline, the safetensors' bytes)."""
    return PolicyContent(spec, tensors).name


def _spec_json(spec: Mapping[str, Any]) -> bytes:
    if "format" in spec:
        raise ValueError("a policy's spec may not have a key 'format': the folder's own version is kept there")
    return canonical_json({"format": FORMAT, **spec})


def _name(files: Mapping[str, bytes]) -> str:
    return digest(files["spec.json"] + b"\n" + files["tensors.safetensors"])[:NAME_DIGITS]


def write_policy(folder: str | os.PathLike[str], content: PolicyContent) -> Path:
    """Write the policy as `folder/<its name>` and return that path. One that is already there is left alone."""
    target = Path(folder) / content.name
    if target.is_dir():
        return target
    half = target.with_name(f".tmp-{secrets.token_hex(6)}")
    half.mkdir(parents=True)
    for name, data in content.files.items():
        (half / name).write_bytes(data)
    try:
        half.rename(target)
    except OSError:  # somebody wrote the same policy meanwhile
        if not target.is_dir():
            raise
    return target


def read_policy(source: str | os.PathLike[str] | Mapping[str, bytes], name: str = "") -> PolicyContent:
    """The policy in a folder, or in its files' bytes, verified against `name` (default: the folder's, where that is a hash)."""
    if isinstance(source, Mapping):
        files, what = dict(source), f"policy {name}".strip()
    else:
        folder = Path(source)
        what, name = f"policy {folder}", name or folder.resolve().name
        if not folder.is_dir():
            raise ValueError(f"{what} is not a folder; a policy is a folder with {' and '.join(FILES[:2])}")
        files = {file: (folder / file).read_bytes() for file in FILES if (folder / file).is_file()}
    missing = [file for file in FILES[:2] if file not in files]
    if missing:
        raise Damaged(f"{what} has no {' and no '.join(missing)}; a policy is a folder with {' and '.join(FILES[:2])}")
    spec = parse_json(files["spec.json"], f"{what}: spec.json")
    check_format(spec, FORMAT, f"{what}: spec.json")
    if re.fullmatch(f"[0-9a-f]{{{NAME_DIGITS}}}", name) and _name(files) != name:
        raise Damaged(f"{what} is not what its name says: its content gives {_name(files)}; it is truncated or was altered")
    tensors = decode_tensors(files["tensors.safetensors"], f"{what}: tensors.safetensors")
    provenance = parse_json(files.get("provenance.json", b'{"format": 1}'), f"{what}: provenance.json")
    del spec["format"]
    provenance.pop("format", None)
    return PolicyContent(spec, tensors, provenance)
