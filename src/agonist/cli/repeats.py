"""Whether this machine computes the same twice: what "to the bit" rests on.

`computed()`: a few steps of learning of a small network, compiled twice in this process, and on one device and on all of them.
`trained()`: a tiny run in processes of their own: from the cache of compiled programs, compiled anew, and on one device.
Both give a `Repeats`; what floats cannot promise (another order of additions on other devices) is told as the largest difference.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

SHARDS = 2
KEPT = "jax_persistent_cache_min_compile_time_secs"  # what compiles faster is not kept
ROUNDING = 1e-4  # relative: above it is no matter of rounding
RUN = (
    "train",
    "ppo",
    "matrix:climbing",
    "rollout=16",
    "envs=4",
    "hidden=[8]",
    "eval_every=5",
    "eval_episodes=4",
    "epochs=1",
    "--steps",
    "640",
    "--json",
)


class Repeats(NamedTuple):
    same: bool  # compiled anew: the same bits
    devices: int  # compared with one
    apart: float  # largest relative difference between one device and all; 0 where the bits are equal

    def says(self, what: str) -> str:
        twice = (
            f"{what} twice, the same to the bit"
            if self.same
            else f"{what} twice, and not the same: runs cannot be repeated to the bit here"
        )
        if self.devices < 2:
            return f"{twice}; there is one device"
        across = "the same as one" if not self.apart else f"rounded differently ({self.apart:.0e})"
        return f"{twice}; {self.devices} devices: {across}"

    @property
    def sound(self) -> bool:
        return self.same and self.apart < ROUNDING


def computed() -> Repeats:
    import jax
    import numpy as np

    found = jax.local_devices()[:SHARDS]
    before = getattr(jax.config, KEPT)
    jax.config.update(KEPT, 1e9)  # these programs are of no further use
    try:
        first, again = _learned(found), _learned(found)
        alone = _learned(found[:1]) if len(found) > 1 else first
    finally:
        jax.config.update(KEPT, before)
    return Repeats(bool(np.array_equal(first, again)), len(found), _apart(first, alone))


def _learned(devices: Sequence[Any]) -> Any:
    """The weights of a small network after some steps, each by the mean of the shards' gradients: compiled here and now."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from agonist.ops.shards import mean_over

    axes = ("devices",) if len(devices) > 1 else ("shards",)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, 64, 64)).astype(np.float32) / 8
    samples = rng.standard_normal((SHARDS, 128, 64)).astype(np.float32)

    def error(weights: Any, x: Any) -> Any:
        return jnp.mean(jnp.square(jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1]) @ weights[2] - x))

    def learn(weights: Any, x: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, w: w - 0.1 * mean_over(jax.grad(error)(w, x), axes), weights)

    program = jax.vmap(learn, in_axes=(None, 0), axis_name="shards")
    if len(devices) > 1:
        spread, whole = jax.sharding.PartitionSpec("devices"), jax.sharding.PartitionSpec()
        mesh = jax.sharding.Mesh(np.array(devices), ("devices",))
        program = jax.shard_map(program, mesh=mesh, in_specs=(whole, spread), out_specs=spread, check_vma=False)
    unlike = secrets.randbelow(2**24)  # a program that no cache holds
    learned, _ = jax.jit(lambda weights, samples: (program(weights, samples), jnp.float32(unlike)))(weights, samples)
    return np.asarray(learned)[0]


def trained() -> Repeats:
    import jax

    several = len(jax.devices()) > 1 and jax.default_backend() == "cpu"  # elsewhere devices are not for us to hide
    with tempfile.TemporaryDirectory(prefix="agonist-doctor-", ignore_cleanup_errors=True) as folder:
        places = [{}, {"AGONIST_CACHE": str(Path(folder) / "cache")}]
        if several:
            places.append({"XLA_FLAGS": "--xla_force_host_platform_device_count=1"})
        stores = [str(Path(folder) / str(number)) for number in range(len(places))]
        tensors = [_tensors(place, store) for place, store in zip(places, stores, strict=True)]
    first, again = tensors[:2]
    same = all((first[name] == again[name]).all() for name in first)
    apart = max(_apart(first[name], tensors[-1][name]) for name in first) if several else 0.0
    return Repeats(bool(same), len(jax.devices()) if several else 1, apart)


def _tensors(place: dict[str, str], store: str) -> dict[str, Any]:
    """The parameters that a process of its own comes to."""
    from safetensors.numpy import load_file

    done = subprocess.run(
        [sys.executable, "-m", "agonist", *RUN, "--store", store], env={**os.environ, **place}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"a tiny run ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    name = json.loads(done.stdout)["policy_last"]
    [path, *_] = Path(store).glob(f"runs/*/checkpoints/*/policies/{name}/tensors.safetensors")
    return dict(load_file(path))


def _apart(a: Any, b: Any) -> float:
    """0 exactly where the bits are the same."""
    import numpy as np

    return 0.0 if np.array_equal(a, b) else float(np.max(np.abs(a - b)) / max(float(np.max(np.abs(a))), 1e-30))
