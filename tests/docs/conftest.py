"""What the tests of the documentation share."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def quick_to_compile():
    """These programs are compiled more than they are run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
