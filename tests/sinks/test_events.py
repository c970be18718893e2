"""TensorBoard's format: published checksums, its own reader and writer, files cut off and altered."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agonist.sinks import Point, events
from agonist.sinks.events import NoEvents, crc32c, head, masked, read, scalars


@pytest.mark.parametrize(
    ("data", "crc"),  # RFC 3720, B.4
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
    ],
)
def test_the_published_checksums(data, crc):
    assert crc32c(data) == crc


@given(
    st.lists(
        st.builds(
            Point,
            st.integers(0, 2**62),
            st.floats(0, 2e9),
            st.dictionaries(
                st.text(st.characters(codec="utf-8"), min_size=1), st.floats(width=32, allow_nan=False), min_size=1, max_size=3
            ),
        )
    )
)
def test_what_is_written_is_read(some):
    assert list(read(head(0.0) + b"".join(map(scalars, some)))) == some


def test_tensorboards_own_reader(tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    some = [Point(0, 1.5, {"eval/return": 0.25}), Point(10**12, 2.5, {"loss/a": -1e-3, "loss/b": 1e300, "c": math.inf})]
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(head(1.0) + b"".join(map(scalars, some)))
    first, *rest = LegacyEventFileLoader(str(path)).Load()
    assert first.file_version == "brain.Event:2"
    told = [(event.wall_time, event.step, {value.tag: value.simple_value for value in event.summary.value}) for event in rest]
    assert told[0] == (1.5, 0, {"eval/return": 0.25})
    assert told[1] == (2.5, 10**12, {"loss/a": pytest.approx(-1e-3), "loss/b": math.inf, "c": math.inf})


def test_what_tensorboards_own_writers_write_is_read(tmp_path):
    """Scalars as TensorFlow 1 and torch (simple_value) and TensorFlow 2 (a tensor) write them; other kinds are passed over."""
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter
    from tensorboard.util.tensor_util import make_tensor_proto

    value = summary_pb2.Summary.Value
    content = tensor_pb2.TensorProto(dtype=1, tensor_content=struct.pack("<f", 4.5))
    values = [
        value(tag="simple", simple_value=1.5),
        value(tag="f32", tensor=make_tensor_proto(2.5, dtype="float32")),
        value(tag="f64", tensor=make_tensor_proto(3.5, dtype="float64")),
        value(tag="content", tensor=content),
        value(tag="text", tensor=make_tensor_proto("words")),
        value(tag="two", tensor=make_tensor_proto([1.0, 2.0])),
        value(tag="picture", image=summary_pb2.Summary.Image(height=1)),
    ]
    with open(tmp_path / "file", "wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString())
        writer.write(event_pb2.Event(wall_time=2.0, step=-1, summary=summary_pb2.Summary(value=values)).SerializeToString())
        writer.write(event_pb2.Event(wall_time=3.0, step=5, session_log=event_pb2.SessionLog(status=1)).SerializeToString())
    [event] = read((tmp_path / "file").read_bytes())
    assert event == Point(-1, 2.0, {"simple": 1.5, "f32": 2.5, "f64": 3.5, "content": 4.5})


DATA = head(1.0) + scalars(Point(1, 1.0, {"a": 1.0})) + scalars(Point(2, 2.0, {"a": 2.0}))


def test_a_file_cut_off_anywhere_gives_what_is_whole():
    lengths = {len(list(read(DATA[:end]))) for end in range(len(DATA))}
    assert lengths == {0, 1}
    assert len(list(read(DATA))) == 2


def test_any_altered_byte_is_noticed():
    for at in range(len(DATA)):
        altered = DATA[:at] + bytes([DATA[at] ^ 1]) + DATA[at + 1 :]
        with pytest.raises(NoEvents):
            list(read(altered))


@pytest.mark.parametrize(
    "data",
    [
        b"step,value\n1,2\n" * 3,
        struct.pack("<Q", 1 << 60) + masked(struct.pack("<Q", 1 << 60)) + bytes(100),
        events.frame(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        events.frame(b"\x80" * 50),
        events.frame(b"\x0b"),
    ],
)
def test_what_is_no_event_file_is_refused(data):
    with pytest.raises(NoEvents):
        list(read(data))
