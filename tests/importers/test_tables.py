"""CSV and Parquet -> a run."""

import pandas as pd
import pytest

from agonist.importers import read


def rows_of(path, **keys):
    [one] = read(path, keys)
    return [(row.step, dict(row.values)) for row in one.rows]


@pytest.mark.parametrize(
    "text",
    [
        "step,a,who,b\n2,0.5,x,\n1,1.5,y,3\n",
        "\ufeffEnv_Step;a;who;b\r\n2;0.5;x;\r\n\r\n1;1.5;y;3\r\n",
        "total_steps\ta\twho\tb\n2\t0.5\tx\tnan\n1\t1.5\ty\t3.0\n",
    ],
)
def test_a_column_of_steps_and_a_column_a_metric(text, tmp_path):
    (tmp_path / "qmix.csv").write_bytes(text.encode())
    assert rows_of(tmp_path / "qmix.csv") == [(1, {"a": 1.5, "b": 3.0}), (2, {"a": 0.5})]
    [one] = read(tmp_path / "qmix.csv", {"env": "e:t", "seed": "7"})
    assert one.spec == {"algo": "qmix", "env": "e:t", "seed": 7}


def test_columns_by_name_times_and_wellknown_metrics(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("episode,time,test_return_mean,win_rate,absolute/return\n3,100.5,0.25,0.5,\n4,101.5,0.5,1,0.75\n")
    [one] = read(path, {"step": "episode", "return": "test_return_mean"})
    assert [tuple(row) for row in one.rows] == [
        (3, 100.5, {"eval/return": 0.25, "eval/win_rate": 0.5}),
        (4, 101.5, {"eval/return": 0.5, "eval/win_rate": 1.0}),
    ]
    assert one.final == {"eval/return": 0.75}


def test_parquet_wide_and_as_our_own_segments_are(tmp_path):
    pd.DataFrame({"step": [1, 2], "a": [0.5, None], "b": ["x", "y"]}).to_parquet(tmp_path / "wide.parquet")
    assert rows_of(tmp_path / "wide.parquet") == [(1, {"a": 0.5}), (2, {})]
    pd.DataFrame({"step": [1, 1, 2], "time": [1.0, 1.0, 2.0], "name": ["a", "b", "a"], "value": [1.0, 2.0, 3.0]}).to_parquet(
        tmp_path / "long"
    )
    assert rows_of(tmp_path / "long") == [(1, {"a": 1.0, "b": 2.0}), (2, {"a": 3.0})]


def test_a_table_of_several_runs(tmp_path):
    text = "run,algo,env,seed,lr,step,time,name,value\nr1,ppo,e:t,0,0.1,1,10,a,1\nr2,ppo,e:t,1,0.1,1,10,a,2\nr1,ppo,e:t,0,0.1,2,11,b,3\n"
    (tmp_path / "a.csv").write_text(text)
    one, two = read(tmp_path / "a.csv", {})
    assert (one.spec, two.spec) == (
        {"algo": "ppo", "env": "e:t", "seed": 0, "lr": 0.1},
        {"algo": "ppo", "env": "e:t", "seed": 1, "lr": 0.1},
    )
    assert [tuple(row) for row in one.rows] == [(1, 10, {"a": 1}), (2, 11, {"b": 3})]
    assert one.sha256 != two.sha256


def test_what_our_own_sinks_write(tmp_path):
    from agonist.sinks import Beginning, Ending, LogConfig
    from agonist.sinks.tables import open_csv, open_parquet

    for opener in (open_csv, open_parquet):
        sink = opener(Beginning("a-run", {}), LogConfig(str(tmp_path)))
        sink.metrics(1, 10.0, {"eval/return": 0.1, "loss/policy": 0.2})
        sink.metrics(2, 11.0, {"eval/return": 0.3})
        sink.close(Ending("finished", {}, {}))
    found = [read(tmp_path / kind / f"a-run.{kind}", {})[0] for kind in ("csv", "parquet")]
    assert found[0].rows == found[1].rows
    assert [tuple(row) for row in found[0].rows] == [(1, 10.0, {"eval/return": 0.1, "loss/policy": 0.2}), (2, 11.0, {"eval/return": 0.3})]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("epoch,a\n1,2\n", "no column 'step'; say which .*there is epoch, a"),
        ("step,a\n1,2\n3\n", "row 3 has 1 cells where the head names 2"),
        ("step,a\nx,2\n", "row 2, column step needs a whole number of 0 or more, got 'x'"),
        ("step,a\n-1,2\n", "needs a whole number"),
        ("step,a\n1,word\n", "holds no figures"),
        ("step,a\n", "holds no figures"),
        ("run,algo,env,seed,step,time,name,value\n", "holds no figures: it has a head, and no row"),
        ("", "no column 'step'"),
    ],
)
def test_a_table_that_is_none(text, sentence, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / "a.csv", {})


def test_other_files_are_refused(tmp_path):
    for name, data, sentence in [
        ("a.bin", b"\x00\x01", "is nothing that can be imported"),
        ("a.csv", b"step,a\n1,\xff\n", "no UTF-8"),
        ("b.parquet", b"PAR1 and nothing", "is damaged, or no Parquet"),
        ("a.pkl", b"\x80\x04cos\nsystem", "is nothing that can be imported"),
    ]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=sentence):
            read(tmp_path / name, {})
    with pytest.raises(ValueError, match="there is no file"):
        read(tmp_path / "none.csv", {})
    (tmp_path / "c.csv").write_text("step,time,a\n1,1,2\n")
    with pytest.raises(ValueError, match="no column 'ret'"):
        read(tmp_path / "c.csv", {"return": "ret"})


def test_final_figures_are_the_runs_result_and_no_points(tmp_path):
    rows = [("a/b", 9), ("final/loss", 4), ("final/eval/return", 1), ("final/eval/return_low", 0), ("final/eval/return_high", 2)]
    (tmp_path / "a.csv").write_text("step,name,value\n" + "".join(f"7,{name},{value}\n" for name, value in rows))
    [one] = read(tmp_path / "a.csv", {})
    assert [dict(row.values) for row in one.rows] == [{"a/b": 9, "final/loss": 4}]
    assert one.final == {"eval/return": 1, "eval/interval": [0, 2]}


def test_steps_as_pandas_and_wandb_write_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("_step,a,_timestamp\n1000.0,1,inf\n2e3,2,5.5\n9007199254740993,3,5\n")
    [one] = read(path, {"seed": "3.0"})
    assert [row.step for row in one.rows] == [1000, 2000, 9007199254740993]
    assert [row.time for row in one.rows] == [path.stat().st_mtime, 5.5, 5.0]
    assert one.spec["seed"] == 3
    for bad in ("1000.5", "inf", "nan", "", "-1.0", "x"):
        path.write_text(f"step,a\n{bad},1\n")
        with pytest.raises(ValueError, match="needs a whole number of 0 or more"):
            read(path, {})


def test_an_exported_formula_is_the_text_it_was(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("run,algo,env,seed,step,time,name,value\nr,'=cmd|A1,'@x,1,1,2.0,'-metric,-2.0\nr,'=cmd|A1,'@x,1,1,2.0,'quoted,1\n")
    [one] = read(path, {})
    assert one.spec == {"algo": "=cmd|A1", "env": "@x", "seed": 1}
    assert dict(one.rows[0].values) == {"-metric": -2.0, "'quoted": 1.0}


def test_only_what_is_the_same_in_all_of_a_runs_rows_is_a_key(tmp_path):
    text = "run,spec.value,hidden,lr,epoch,step,name,value\nr,3,[8],0.5,1,1,a,1\nr,3,[8],0.5,2,2,a,1\nq,,,1e-4,1,1,a,1\n"
    (tmp_path / "a.csv").write_text(text)
    one, two = read(tmp_path / "a.csv", {})
    assert one.spec == {"algo": "a", "value": 3, "hidden": "[8]", "lr": 0.5}
    assert two.spec == {"algo": "a", "lr": 1e-4, "epoch": 1}
