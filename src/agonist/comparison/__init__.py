"""Runs beside each other: which keys differ, which runs differ by their seed alone, and what may be said of one group against another.

    chosen(store, words, where)          what people type -> runs; a sweep stands for its children; no word: the newest sweep, else two runs
    compare_runs(store, runs, metric)    runs -> a `Comparison`: groups, a table a task, all tasks on one scale, verdicts, curves

A group is what one would repeat: the same keys but for the seed, the environment, and where sinks write to. A task is an environment with
its options. Several tasks are also judged together, each normalised by the least and the most that anybody had there. Formulas are
`agonist.stats`; no jax is needed.
"""

from agonist.comparison.choose import chosen, read_runs
from agonist.comparison.groups import compare_runs
from agonist.comparison.result import RETURN, Comparison, Group, Trained, label_of

__all__ = ["RETURN", "Comparison", "Group", "Trained", "chosen", "compare_runs", "label_of", "read_runs"]
