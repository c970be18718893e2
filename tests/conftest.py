"""What all tests share: the CPU as two devices, and one cache of compiled programs for all processes of a session."""

import os
import shutil
import tempfile

from agonist import devices

MINE = "AGONIST_CACHE" not in os.environ
os.environ.setdefault("AGONIST_CACHE", tempfile.mkdtemp(prefix="agonist-tests-"))  # workers inherit it
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):  # also where there is one core
    two = "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {two}".strip()
devices.prepare()


def pytest_unconfigure():
    if MINE:
        shutil.rmtree(os.environ["AGONIST_CACHE"], ignore_errors=True)
