"""Training as a run, or as several at once: what is written, what is said, and how it ends."""

from agonist.training.following import follow
from agonist.training.jobs import Ended, Job, check, result, resume, settled, shape, train, whole_updates
from agonist.training.session import (
    WINDOW,
    Best,
    Interrupted,
    OnMetrics,
    OnProgress,
    Progress,
    Session,
    TrainingFailed,
    Watch,
)

__all__ = [
    "WINDOW",
    "Best",
    "Ended",
    "Interrupted",
    "Job",
    "OnMetrics",
    "OnProgress",
    "Progress",
    "Session",
    "TrainingFailed",
    "Watch",
    "check",
    "follow",
    "result",
    "resume",
    "settled",
    "shape",
    "train",
    "whole_updates",
]
