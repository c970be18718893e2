"""Which process writes a run, and whether it still lives: a killed one cannot say so itself.

A process is known by its host, its number and the moment it started, since numbers are used again (in a restarted container
at once). On another host only its heartbeat tells.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

STALE = 60.0  # seconds without a heartbeat after which a process on another host is taken for dead


def this_process() -> dict[str, Any]:
    return {"host": platform.node(), "pid": os.getpid(), "started": started(os.getpid())}


def is_alive(process: Mapping[str, Any], heard: float) -> bool:
    """Whether that process still runs; `heard` is when it last wrote, in unix seconds."""
    if process.get("host") == platform.node():
        return bool(started(int(process.get("pid") or 0)) == process.get("started", ""))
    return time.time() - heard < STALE


def started(pid: int) -> str | None:
    """A text that is this process's only; None where there is no such process (a zombie is none)."""
    if pid <= 0:
        return None
    if sys.platform == "win32":
        return _started_windows(pid)
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()  # the name before it may hold spaces
        return None if fields[0] in "ZX" else fields[19]
    except OSError:
        return None if os.path.exists("/proc/self/stat") else _started_ps(pid)


def _started_ps(pid: int) -> str | None:
    """macOS and the BSDs."""
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return answer.stdout.strip() or None


def _started_windows(pid: int) -> str | None:
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = wintypes.HANDLE
        handle = wintypes.HANDLE(kernel.OpenProcess(0x1000, False, pid))  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            times = [wintypes.FILETIME() for _ in range(4)]
            code = wintypes.DWORD()
            kernel.GetProcessTimes(handle, *(ctypes.byref(one) for one in times))
            kernel.GetExitCodeProcess(handle, ctypes.byref(code))
            kernel.CloseHandle(handle)
            if code.value == 259:  # STILL_ACTIVE
                return str((times[0].dwHighDateTime << 32) | times[0].dwLowDateTime)
    return None
