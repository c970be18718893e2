"""Weights & Biases, MLflow and Neptune, offline, by their own packages; what they wrote is read by what they read it with."""

import json
import struct

import pytest

from agonist.sinks import Beginning, Ending, Evaluation, LogConfig
from agonist.sinks.mlflow import open_mlflow

LONG = 100.0  # seconds: their packages take long to import on a busy machine
EVALUATIONS = [(0, 1), (128, 2), (256, 3), (384, 4)]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    for name, value in {"WANDB_MODE": "offline", "NEPTUNE_MODE": "offline"}.items():
        monkeypatch.setenv(name, value)
    for name in ("MLFLOW_TRACKING_URI", "WANDB_DIR", "WANDB_API_KEY", "NEPTUNE_PROJECT", "NEPTUNE_API_TOKEN", "NEPTUNE_DATA_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def wandb_records(path):
    """The records of an offline run: LevelDB's log blocks (wandb's own DataStore is in its Go program), wandb's own messages."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, parts = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        if 32_768 - at % 32_768 < 7:
            at += 32_768 - at % 32_768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(parts)
            parts = b""


def test_wandb(told, capfd):
    told("wandb", title="ppo on lbf", patience=LONG)
    assert capfd.readouterr().out == ""
    [path] = (told.base / "wandb").glob("offline-run-*/*.wandb")
    records = list(wandb_records(path))
    run = next(record.run for record in records if record.HasField("run"))
    assert (run.run_id, run.display_name, run.project, run.run_group) == (
        "20261119-211433-calm-heron",
        "ppo on lbf",
        "agonist",
        "lbf:2s-8x8",
    )
    config = {update.key: json.loads(update.value_json) for update in run.config.update}
    assert (config["algo"], config["lr"], config["hidden"]) == ("ppo", 1e-3, [8])
    history = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in r.history.item}
        for r in records
        if r.HasField("history")
    ]
    assert [(row["_step"], row["eval/return"]) for row in history if "eval/return" in row] == EVALUATIONS
    assert [row["_step"] for row in history if "loss/policy" in row] == [64, 128, 192, 256, 320, 384]
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]


def test_mlflow_and_a_run_taken_up_again(told, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    told("mlflow", absolute=False, patience=LONG)
    beginning = Beginning("20261119-211433-calm-heron", {}, step=384)
    sink = open_mlflow(beginning, LogConfig(base_exp_path=str(told.base)))  # in this process: importing takes seconds
    sink.metrics(512, 1.5, {"eval/return": 5.0})
    sink.evaluation(Evaluation(512, 2.5, {"agents": [6.0]}, [1.0], True))
    sink.close(Ending("finished", {}, {"agents": "hash"}))
    client = MlflowClient(tracking_uri=(told.base / "mlruns").as_uri())
    [run] = client.search_runs([client.get_experiment_by_name("agonist").experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params == {"algo": "ppo", "env": "lbf:2s-8x8", "seed": "3", "lr": "0.001", "hidden": "[8]"}
    assert run.data.tags["agonist.run"] == "20261119-211433-calm-heron"
    points = [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, "eval/return")]
    assert points == [*EVALUATIONS, (512, 5)]
    assert run.data.metrics["absolute/return"] == 6
    assert run.data.tags["agonist.policy.agents"] == "hash"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_neptune(told):
    from neptune.core.components.queue.json_file_splitter import JsonFileSplitter

    told("neptune", title="ppo on lbf", patience=LONG)
    [log] = (told.base / "neptune" / "offline").glob("run__*/data-1.log")
    splitter, told_of = JsonFileSplitter(str(log)), []
    while (record := splitter.get()) is not None:
        told_of.append(record["obj"])
    assigned = {"/".join(one["path"]): one.get("value") for one in told_of if one["type"].startswith("Assign")}
    assert (assigned["spec/algo"], assigned["spec/lr"], assigned["final/eval/return"], assigned["status"]) == ("ppo", 1e-3, 6.0, "finished")
    logged = [one["values"][0] for one in told_of if one["type"] == "LogFloats" and one["path"] == ["metrics", "eval", "return"]]
    assert [(point["step"], point["value"]) for point in logged] == EVALUATIONS


def test_a_service_that_refuses_is_a_sentence(told, monkeypatch):
    monkeypatch.setenv("WANDB_BASE_URL", "nonsense")
    said = []
    told("wandb", log=said.append, patience=LONG)
    assert len(said) == 1
    assert said[0].startswith("the sink wandb failed and is left out from here on; training goes on (")
    assert "nonsense" in said[0] or "URL" in said[0], said
