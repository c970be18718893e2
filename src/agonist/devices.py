"""What must be settled before jax starts: CPU devices for the shards, and where compiled programs are kept.

`prepare(shards)` changes nothing that the user has set, and nothing once jax is imported but the cache. The cache belongs to one
machine (its entries hold CPU features) and to one user (it is code): it is private and never shipped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DEFAULT_SHARDS = 2
_wanted: int | None = None


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def accelerated() -> bool:
    """Whether jax will find a GPU or a TPU, told without importing it."""
    wanted = os.environ.get("JAX_PLATFORMS", "")
    if wanted:
        return not wanted.lower().startswith("cpu")
    marks = ("/proc/driver/nvidia/version", "/dev/nvidia0", "/dev/kfd", "/dev/accel0", "/dev/vfio/0")
    return bool(os.environ.get("TPU_NAME")) or any(os.path.exists(mark) for mark in marks)


def cache_folder() -> Path:
    if "AGONIST_CACHE" in os.environ:
        return Path(os.environ["AGONIST_CACHE"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "agonist" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "agonist"
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "agonist"


def use(devices: int | None) -> None:
    """So many of this host's devices, on a CPU made by `prepare`; None: as many as divide the shards."""
    global _wanted
    _wanted = devices


def wanted() -> int | None:
    return _wanted


def prepare(shards: int = DEFAULT_SHARDS, hosts: int = 1) -> None:
    """A CPU device a shard (of those that lie on this one of the hosts), one thread each where the shards fill the cores; and the cache
    of compiled programs."""
    if "jax" not in sys.modules:
        flags = os.environ.get("XLA_FLAGS", "")
        here = max(1, shards // hosts)
        devices = _wanted or max(n for n in range(1, max(1, min(here, cores())) + 1) if here % n == 0)
        if (devices > 1 or hosts > 1) and "xla_force_host_platform_device_count" not in flags:
            flags += f" --xla_force_host_platform_device_count={devices}"
            if devices * hosts >= cores() and "xla_cpu_multi_thread_eigen" not in flags:
                flags += " --xla_cpu_multi_thread_eigen=false"
            os.environ["XLA_FLAGS"] = flags.strip()
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        _keep_programs()


def _keep_programs() -> None:
    folder = cache_folder() / "programs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:  # slower, not wrong: programs are compiled anew
        print(f"agonist: compiled programs cannot be kept in {folder} ({error.strerror}); set AGONIST_CACHE", file=sys.stderr)
        return
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    if "jax" in sys.modules:
        for name, value in settings.items():
            sys.modules["jax"].config.update(name, value)
        return
    for name, value in settings.items():
        os.environ[name.upper()] = str(value)
