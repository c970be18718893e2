from agonist import bench


def test_a_small_store_is_measured(tmp_path):
    found = bench.run("listing", ["runs=400", "rounds=1", f"out={tmp_path / 'x.json'}"])
    assert [found[f"{name}_runs"] for name in ("newest_20", "best_20", "all_drawn", "all_json")] == [20, 20, 400, 400]
    assert 1500 < found["summary_bytes"] < 3000
    assert 0 < found["newest_20_seconds"]["least"] <= found["newest_20_seconds"]["median"] <= found["newest_20_seconds"]["most"]
