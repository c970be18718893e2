import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agonist.checkpoints import Damaged
from agonist.runs import segments
from agonist.testing.store import MemoryStore

FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
ROW = st.tuples(st.integers(0, 2**62), st.floats(0, 4e9), st.sampled_from(["loss/policy", "eval/return", "perf/sps", "é"]), FLOATS)
ROWS = st.lists(ROW, max_size=30)


def lasting(rows):
    """Without what measures time."""
    return [row for row in rows if not row[2].startswith("perf/")]


def bits(rows):
    return [(step, name, struct.pack("<d", value)) for step, _, name, value in rows]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_sealed_points_come_back_to_the_bit(rows):
    back = segments.rows_of(segments.decode(segments.encode(segments.points_of(rows)), "it"))
    assert bits(back) == bits(rows)
    assert [row[1] for row in back] == [row[1] for row in rows]


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 99))
def test_live_points_come_back_with_their_segments_number(rows, number):
    data = segments.encode_live(number, [segments.encode_row(row) for row in rows])
    found, points = segments.decode_live(data, "live")
    assert found == number
    for got, row in zip(segments.rows_of(points), rows, strict=True):
        assert got[:3] == row[:3]
        assert got[3] == row[3] or (np.isnan(got[3]) and np.isnan(row[3]))


@settings(max_examples=60, deadline=None)
@given(ROWS, st.floats(0, 1e9))
def test_canonical_bytes_know_no_time(rows, shift):
    moved = [(step, time + shift, name, value) for step, time, name, value in rows]
    assert segments.canonical_bytes(segments.points_of(rows)) == segments.canonical_bytes(segments.points_of(moved))


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS)
def test_canonical_bytes_are_equal_only_for_equal_points(a, b):
    same = segments.canonical_bytes(segments.points_of(a)) == segments.canonical_bytes(segments.points_of(b))
    assert same == (bits(lasting(a)) == bits(lasting(b)))


def test_canonical_bytes_by_hand():
    """The ledger of every run ever written rests on these."""
    points = segments.points_of([(1, 5.0, "a", 0.5), (1, 5.0, "perf/sps", 9.5), (2, 6.0, "b", -0.0), (2, 7.0, "a", float("inf"))])
    expected = b"points 1 3\n" + struct.pack("<qqq", 1, 2, 2) + b"\n" + struct.pack("<ddd", 0.5, -0.0, float("inf")) + b"\na\nb\na"
    assert segments.canonical_bytes(points) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS.filter(bool), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_no_point_is_counted_twice_or_lost(chunks, sealed_too, later):
    """The last chunk is live, or live and just sealed, or still lies there after the next was sealed."""
    store = MemoryStore()
    for number, rows in enumerate(chunks[:-1] if not (sealed_too or later) else chunks, 1):
        store.replace(f"m/{number:06d}.parquet", segments.encode(segments.points_of(rows)))
    store.replace("m/live.jsonl", segments.encode_live(len(chunks), [segments.encode_row(row) for row in chunks[-1]]))
    if later:
        store.replace(f"m/{len(chunks) + 1:06d}.parquet", segments.encode(segments.points_of(chunks[0])))
        chunks = [*chunks, chunks[0]]
    got = segments.rows_of(segments.read(store, "m/"))
    rows = [row for chunk in chunks for row in chunk]
    assert [row[:3] for row in got] == [row[:3] for row in rows]


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, max_size=4))
def test_series_are_what_a_loop_would_sort_out(chunks):
    points = segments.join([segments.points_of(rows) for rows in chunks])
    rows = [row for chunk in chunks for row in chunk]
    series = segments.series(points)
    assert set(series) == {row[2] for row in rows}
    for name, (steps, times, values) in series.items():
        mine = [row for row in rows if row[2] == name]
        assert steps.tolist() == [row[0] for row in mine]
        assert times.tolist() == [row[1] for row in mine]
        np.testing.assert_array_equal(values, [row[3] for row in mine])
    assert list(segments.series(points, ["loss/policy", "none"])) == ["loss/policy"] * ("loss/policy" in series)


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("damage", [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: flipped(d, 300), lambda d: b"PAR1" * 30])
def test_a_damaged_segment_is_told_and_the_others_are_read(damage):
    store = MemoryStore()
    for number in (1, 2, 3):
        rows = [(1000 * number + i, 0.0, "loss", float(i)) for i in range(50)]
        data = segments.encode(segments.points_of(rows))
        store.replace(f"m/{number:06d}.parquet", damage(data) if number == 2 else data)
    told = []
    points = segments.read(store, "m/", told.append)
    assert sorted({step // 1000 for step in points.step.tolist()}) == [1, 3]
    assert len(told) == 1
    for words in ("m/000002.parquet is damaged", "after step 1,049 and before step 3,000", "the others are read"):
        assert words in told[0]


def test_no_flipped_bit_gives_other_points():
    rows = [(10 * i, 100.0 + i, name, i * 1.37) for i in range(20) for name in ("loss/a", "b")]
    data = segments.encode(segments.points_of(rows))
    refused = 0
    for place in range(0, len(data), 5):
        try:
            assert segments.rows_of(segments.decode(flipped(data, place), "it")) == rows
        except Damaged:
            refused += 1
    assert refused > len(data) / 5 / 2


def test_damaged_live_points_are_told():
    store = MemoryStore()
    store.replace("m/000001.parquet", segments.encode(segments.points_of([(1, 0.0, "a", 1.0)])))
    store.replace("m/live.jsonl", b'{"segment": 2}\n{"step": 1, "ti')
    told = []
    assert len(segments.read(store, "m/", told.append).step) == 1
    assert "live.jsonl is damaged" in told[0]
    with pytest.raises(Damaged):
        segments.decode_live(b"", "live")


def test_pandas_style_readers_find_plain_columns(tmp_path):
    """A stranger opens the file with pyarrow alone."""
    import pyarrow.parquet as pq

    (tmp_path / "x.parquet").write_bytes(segments.encode(segments.points_of([(7, 1.5, "loss", 2.5), (7, 1.5, "acc", float("nan"))])))
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["step", "time", "name", "value"]
    assert table["name"].to_pylist() == ["loss", "acc"]
    assert table["step"].to_pylist() == [7, 7]


@pytest.mark.parametrize("name", ["", "a\nb", "a\0"])
def test_a_metric_needs_a_printable_name(name):
    with pytest.raises(ValueError, match="cannot name a metric"):
        segments.check_metric(name)


@pytest.mark.parametrize("forgets", [True, False])
def test_what_is_sealed_while_a_reader_reads_is_neither_lost_nor_doubled(forgets):
    """The writer seals segment 2 (and takes the live copy away, or is killed before) just after the reader's first look."""

    class Sealing(MemoryStore):
        looked = False

        def look(self, answer):
            if not self.looked:
                self.looked = True
                self.replace("m/000002.parquet", segments.encode(segments.points_of([(2, 0.0, "a", 2.0)])))
                if forgets:
                    self.delete("m/live.jsonl")
            return answer

        def get(self, name, start=0, end=None):
            return self.look(super().get(name, start, end))

        def list(self, prefix, after=""):
            return self.look(super().list(prefix, after))

    store = Sealing()
    store.replace("m/000001.parquet", segments.encode(segments.points_of([(1, 0.0, "a", 1.0)])))
    store.replace("m/live.jsonl", segments.encode_live(2, [segments.encode_row((2, 0.0, "a", 2.0))]))
    assert segments.read(store, "m/").step.tolist() == [1, 2]
