"""One seed of each quick task of `make campaign learning`: what several seeds reach stands in bench/learning.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agonist
from agonist.bench.learning import TASKS


@pytest.mark.parametrize(("name", "slack"), [("lbf", 0.03), ("lighthouse", 0.02)])
def test_a_seed_learns_it(name: str, slack: float, tmp_path: Path) -> None:
    """To within what one seed and 320 episodes may miss the campaign's mark by."""
    task = TASKS[name]
    keys: dict[str, Any] = {**task.keys, "steps": task.steps}
    run = agonist.train(task.algo, task.env, seed=1, store=str(tmp_path), **keys)
    before = run.metrics("eval/return")["eval/return"][2][0]
    assert before < 0.3, "it played well before it had learned anything"
    assert run.result["eval/return"] >= task.learned - slack


def test_cartpole_is_on_its_way_after_a_third_of_the_campaigns_steps(tmp_path: Path) -> None:
    task = TASKS["cartpole"]
    run = agonist.train(task.algo, task.env, seed=1, store=str(tmp_path), steps=task.steps / 3, eval_every=16, **task.keys)
    assert run.result["eval/return"] >= 150  # random play lasts 22 steps
