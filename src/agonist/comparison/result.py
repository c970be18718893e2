"""Groups of runs with what each run came to, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from agonist.runs.matching import text_of
from agonist.sinks.config import LogConfig
from agonist.stats.aggregates import normalise
from agonist.stats.curves import Curve, Points, curve
from agonist.stats.summary import summarise
from agonist.stats.verdict import compare, margin_of

RETURN = "eval/return"
MORE_IS_BETTER = (RETURN, "eval/win_rate", "train/return", "perf/")  # beginnings of metrics; of others one group is higher or lower
NOT_GROUPING = {"seed", *(field.name for field in fields(LogConfig))}


@dataclass(frozen=True)
class Trained:
    """A run with its curve of the metric."""

    id: str
    status: str
    spec: Mapping[str, Any]
    summary: Mapping[str, Any]
    points: Points

    @property
    def env(self) -> dict[str, Any]:
        return {key: value for key, value in self.spec.items() if key == "env" or key.startswith("env.")}

    @property
    def seed(self) -> Any:
        return self.spec.get("seed")

    @property
    def keys(self) -> dict[str, Any]:
        return {key: value for key, value in self.spec.items() if key not in NOT_GROUPING and key not in self.env}


@dataclass(frozen=True)
class Group:
    mark: str  # a letter
    keys: Mapping[str, Any]  # those that not all groups share
    runs: Mapping[str, tuple[Trained, ...]]  # task -> runs that count

    @property
    def label(self) -> str:
        return label_of(self.keys) or "all"


@dataclass(frozen=True)
class Comparison:
    metric: str
    differs: Mapping[str, Sequence[Any]]  # key -> its value in each run
    runs: Sequence[Trained]
    tasks: Sequence[str]
    groups: Sequence[Group]
    scores: Mapping[str, Mapping[str, Sequence[float]]]  # mark -> task -> what each run came to
    random: Mapping[str, float]  # task -> of an untrained policy, where step 0 was evaluated
    notes: Sequence[str]  # what was left out, and why

    @property
    def words(self) -> tuple[str, str]:
        """What more of the metric is called, and less."""
        return ("better", "worse") if self.metric.startswith(MORE_IS_BETTER) else ("higher", "lower")

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """task -> the least and the most that anybody ever had there."""
        out = {}
        for task in self.tasks:
            every = [self.scores[group.mark].get(task, ()) for group in self.groups]
            every += [run.points[1] for group in self.groups for run in group.runs.get(task, ())]
            values = np.concatenate([np.asarray(part, np.float64) for part in every])
            out[task] = float(values.min()), float(values.max())
        return out

    @cached_property
    def shared(self) -> list[str]:
        """The tasks on which every group has a result."""
        return [task for task in self.tasks if all(self.scores[group.mark].get(task) for group in self.groups)]

    def table(self, task: str) -> list[dict[str, Any]]:
        """A row a group on one task: the summary of its runs, and what may be said of it against the first."""
        of_task = {mark: {task: scores[task]} for mark, scores in self.scores.items() if scores.get(task)}
        return self._rows(of_task, {task: self.random[task]} if task in self.random else {})

    def together(self) -> list[dict[str, Any]]:
        """The same over all the tasks that the groups share, each on a scale from 0 to 1; nothing where there is but one."""
        if len(self.tasks) < 2 or not self.shared:
            return []
        scaled = {mark: normalise({task: scores[task] for task in self.shared}, self.bounds) for mark, scores in self.scores.items()}
        random = {task: [self.random[task]] for task in self.shared if task in self.random}
        return self._rows(scaled, {task: values[0] for task, values in normalise(random, self.bounds).items()})

    def _rows(self, scores: Mapping[str, Mapping[str, Sequence[float]]], random: Mapping[str, float]) -> list[dict[str, Any]]:
        present = [group for group in self.groups if group.mark in scores]
        rows = []
        for i, group in enumerate(present):
            own, first = scores[group.mark], scores[present[0].mark]
            row = {"group": group.mark, "keys": dict(group.keys), **summarise(own), "scores": {task: list(own[task]) for task in own}}
            if i:
                row["against"] = {"group": present[0].mark, **compare(first, own, margin_of(first, own, random), words=self.words)}
            rows.append(row)
        return rows

    def curves(
        self, task: str | None = None, marks: Iterable[str] | None = None, statistic: Literal["mean", "iqm"] = "mean"
    ) -> dict[str, Curve]:
        """mark -> a group's curve on a task, or on all shared tasks together, normalised."""
        wanted = set(marks if marks is not None else (group.mark for group in self.groups))
        tasks = self.shared if task is None else [task]
        out = {}
        for group in self.groups:
            parts = {name: [self._scaled(name, run, task is None) for run in group.runs.get(name, ())] for name in tasks}
            if group.mark in wanted and any(parts.values()):
                out[group.mark] = curve(parts, statistic)
        return out

    def _scaled(self, task: str, run: Trained, scale: bool) -> Points:
        steps, values = run.points
        return (steps, normalise({task: values}, self.bounds)[task]) if scale else (steps, values)

    def as_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "differs": {key: {run.id: value for run, value in zip(self.runs, values, strict=True)} for key, values in self.differs.items()},
            "groups": [
                {
                    "group": group.mark,
                    "label": group.label,
                    "keys": dict(group.keys),
                    "runs": [run.id for runs in group.runs.values() for run in runs],
                }
                for group in self.groups
            ],
            "tasks": {task: self.table(task) for task in self.tasks},
            "together": self.together(),
            "notes": list(self.notes),
        }


def label_of(keys: Mapping[str, Any]) -> str:
    """`ppo lr=0.0003`."""
    return " ".join(text_of(value) if key == "algo" else f"{key}={text_of(value)}" for key, value in keys.items())
