"""What all tests share: the CPU, and one cache of compiled programs for all processes of a session."""

import os
import shutil
import tempfile

MINE = "AGONIST_CACHE" not in os.environ
os.environ.setdefault("AGONIST_CACHE", tempfile.mkdtemp(prefix="agonist-tests-"))  # workers inherit it
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def pytest_unconfigure():
    if MINE:
        shutil.rmtree(os.environ["AGONIST_CACHE"], ignore_errors=True)
