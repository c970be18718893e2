"""MLflow, by its own package: to MLFLOW_TRACKING_URI, else to files in BASE/mlruns (`mlflow ui --backend-store-uri BASE/mlruns`).

The experiment is `project`, a run's tag `agonist.run` its id: a run that goes on finds itself by it. Points wait for the next flush.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agonist.sinks.config import LogConfig
from agonist.sinks.records import Beginning, Ending, Evaluation, Sink

AT_ONCE = 1_000  # metrics that MLflow takes in one batch
LONGEST = 6_000  # characters of a parameter
STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "killed": "KILLED"}


def open_mlflow(beginning: Beginning, config: LogConfig) -> Sink:
    where = os.environ.get("MLFLOW_TRACKING_URI")
    if not where:
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # it prefers a database, which its small package cannot open
        where = (Path(config.base_exp_path).absolute() / "mlruns").as_uri()
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=where)
    run_id, done = _run(client, beginning, config)
    if not done:
        client.log_batch(run_id, params=[Param(key, str(value)[:LONGEST]) for key, value in beginning.spec.items()])
    waiting: list[Any] = []

    def metrics(step: int, moment: float, values: Mapping[str, float]) -> None:
        waiting.extend(Metric(name, value, int(moment * 1000), step) for name, value in values.items())

    def evaluation(found: Evaluation) -> None:
        if means := found.means():
            metrics(found.step, found.time, means)

    def flush() -> None:
        while waiting:
            client.log_batch(run_id, metrics=waiting[:AT_ONCE])
            del waiting[:AT_ONCE]

    def close(ending: Ending) -> None:
        flush()
        for role, name in ending.policies.items():
            client.set_tag(run_id, f"agonist.policy.{role}", str(name))
        client.set_terminated(run_id, STATUS.get(ending.status, "FAILED"))

    return Sink(metrics, evaluation, flush, close)


def _run(client: Any, beginning: Beginning, config: LogConfig) -> tuple[str, bool]:
    """The run's id there, and whether it was there already."""
    found = client.get_experiment_by_name(config.project)
    experiment = found.experiment_id if found else client.create_experiment(config.project)
    if beginning.step:
        same = client.search_runs([experiment], f"tags.`agonist.run` = '{beginning.run}'", max_results=1)
        if same:
            client.update_run(same[0].info.run_id, status="RUNNING")
            return same[0].info.run_id, True
    tags = {"agonist.run": beginning.run, "agonist.store": beginning.store}
    return client.create_run(experiment, run_name=beginning.title or beginning.run, tags=tags).info.run_id, False
