"""CSV and Parquet as pandas opens them."""

import math

import pandas as pd
import pytest

from agonist.sinks import Beginning, Ending, LogConfig
from agonist.sinks.tables import open_csv, open_parquet

RUN = "20261119-211433-calm-heron"


def table(base, kind):
    path = base / kind / f"{RUN}.{kind}"
    return pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_row_a_step_a_column_a_metric(told, kind):
    told(kind)
    found = table(told.base, kind)
    assert list(found.columns[:2]) == ["step", "time"]
    assert set(found.columns[2:]) == {"eval/return", "loss/policy", "perf/env_steps_per_second", "absolute/return"}
    assert found["step"].tolist() == [0, 64, 128, 192, 256, 320, 384]
    assert found["loss/policy"].dropna().tolist() == [0.5, 1, 1.5, 2, 2.5, 3]
    assert found["eval/return"].tolist()[::2] == [1, 2, 3, 4]
    assert found["eval/return"].isna().tolist() == [False, True] * 3 + [False]
    assert found["absolute/return"].tolist()[-1] == 6
    assert found["time"].is_monotonic_increasing


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_taken_up_again_has_no_row_twice(told, kind):
    told(kind)
    told(kind, behind=2, last=4)
    found = table(told.base, kind)
    assert found["step"].tolist() == list(range(0, 513, 64))
    assert found["loss/policy"].tolist()[1:] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert found["absolute/return"].isna().tolist() == [True] * 8 + [False]  # the earlier end is none any more


def write(opener, base, rows, close=True):
    sink = opener(Beginning(RUN, {}), LogConfig(base_exp_path=str(base)))
    for at, values in rows:
        sink.metrics(at, 1.5, values)
        sink.flush()
    if close:
        sink.close(Ending("finished", {}, {}))


@pytest.mark.parametrize(("opener", "kind"), [(open_csv, "csv"), (open_parquet, "parquet")])
def test_metrics_that_come_later_and_strange_names_and_values(tmp_path, opener, kind):
    rows = [(1, {"a": 0.1}), (2, {'b,"c"\n': 1e-300}), (3, {"a": math.inf, "d": -0.0})]
    write(opener, tmp_path, rows)
    found = table(tmp_path, kind)
    assert found["step"].tolist() == [1, 2, 3]
    assert found["a"].tolist()[::2] == [0.1, math.inf]
    assert found['b,"c"\n'].tolist()[1] == 1e-300
    assert math.copysign(1, found["d"].tolist()[2]) == -1


@pytest.mark.parametrize(("opener", "kind"), [(open_csv, "csv"), (open_parquet, "parquet")])
def test_a_killed_writer_leaves_a_table(tmp_path, opener, kind):
    write(opener, tmp_path, [(1, {"a": 1}), (2, {"a": 2}), (3, {"a": 3})], close=False)
    assert table(tmp_path, kind)["a"].tolist() == [1, 2]  # the row of step 3 was open


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_a_killed_writer_never_wrote_is_there_too(told, kind):
    path = told.base / kind / f"{RUN}.{kind}"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"step,time,a\n1,1.5,0.5\n2,1.5")
    told(kind, behind=2, last=2, absolute=False)
    assert table(told.base, kind)["step"].tolist() == [0, 64, 128, 192, 256]
    assert table(told.base, kind)["eval/return"].dropna().tolist() == [1, 2, 3]


@pytest.mark.parametrize(("opener", "kind"), [(open_csv, "csv"), (open_parquet, "parquet")])
def test_a_run_of_nothing(tmp_path, opener, kind):
    write(opener, tmp_path, [])
    assert list(table(tmp_path, kind).columns) == ["step", "time"]
    assert len(table(tmp_path, kind)) == 0
