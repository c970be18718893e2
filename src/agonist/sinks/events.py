"""TensorBoard's event files, as bytes: TFRecord frames around protobuf messages, of which scalars need three.

    frame    length uint64, masked crc32c of it, the message, masked crc32c of that (little-endian)
    Event    1 wall_time double, 2 step int64, 3 file_version string | 5 summary Summary
    Summary  1 repeated Value;    Value  1 tag string, 2 simple_value float | 8 tensor TensorProto

The crc is Castagnoli's (RFC 3720), turned and shifted by a constant. In: steps and values. Out: bytes, and the same back.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from agonist.sinks.records import Point

VERSION = b"brain.Event:2"
LARGEST = 64 << 20  # bytes of one message that is still read


class NoEvents(ValueError):
    """These bytes are no event file."""


def _table() -> tuple[int, ...]:
    rows = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        rows.append(i)
    return tuple(rows)


TABLE = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + masked(length) + message + masked(message)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative ones as two's complement
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def head(time: float) -> bytes:
    """How a file begins."""
    return frame(b"\x09" + struct.pack("<d", time) + _bytes(3, VERSION))


def scalars(point: Point) -> bytes:
    """All of a step's values as one record."""
    values = [_bytes(1, _bytes(1, name.encode()) + b"\x15" + _float(value)) for name, value in point.values.items()]
    return frame(b"\x09" + struct.pack("<d", point.time) + b"\x10" + _varint(point.step) + _bytes(5, b"".join(values)))


def _float(value: float) -> bytes:
    """As a float32; what that cannot hold is infinite there."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


# and back


def read(data: bytes) -> Iterator[Point]:
    """The points. A record that is cut off (its writer was killed) ends the file; one that is altered raises."""
    first = True
    for message in _frames(data):
        point = _point(message)
        if first and point is None:
            raise NoEvents("it does not begin as TensorBoard's event files do")
        first = False
        if point and point.values:
            yield point


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(data):
        if masked(data[at : at + 8]) != data[at + 8 : at + 12]:
            raise NoEvents(f"the record at byte {at:,} has another checksum")
        (length,) = struct.unpack_from("<Q", data, at)
        start, end = at + 12, at + 12 + length
        if length > LARGEST:
            raise NoEvents(f"the record at byte {at:,} says it has {length:,} bytes")
        if end + 4 > len(data):
            return
        if masked(data[start:end]) != data[end : end + 4]:
            raise NoEvents(f"the record at byte {at:,} was altered")
        yield data[start:end]
        at = end + 4


def _point(message: bytes) -> Point | None:
    """None where it is none."""
    time, step, values = 0.0, 0, {}
    try:
        for field, value in _fields(message):
            if field == 1 and isinstance(value, bytes):
                (time,) = struct.unpack("<d", value)
            elif field == 2 and isinstance(value, int):
                step = value - (1 << 64) if value >> 63 else value
            elif field == 5 and isinstance(value, bytes):
                values = dict(_values(value))
    except (ValueError, IndexError, struct.error):
        return None
    return Point(step, time, values)


def _values(summary: bytes) -> Iterator[tuple[str, float]]:
    for field, one in _fields(summary):
        if field == 1 and isinstance(one, bytes):
            parts = dict(_fields(one))
            tag, value, tensor = parts.get(1), parts.get(2), parts.get(8)
            number = struct.unpack("<f", value)[0] if isinstance(value, bytes) else _tensor(tensor) if isinstance(tensor, bytes) else None
            if isinstance(tag, bytes) and number is not None:
                yield tag.decode(errors="replace"), number


def _tensor(message: bytes) -> float | None:
    """A single float32 or float64, as TensorFlow 2 writes scalars; None for anything else."""
    parts = dict(_fields(message))
    for field, kind in ((5, "<f"), (6, "<d")):
        data = parts.get(field)
        if isinstance(data, bytes) and len(data) == struct.calcsize(kind):
            return float(struct.unpack(kind, data)[0])
    kind, content = {1: "<f", 2: "<d"}.get(_whole(parts.get(1)), ""), parts.get(4)
    if kind and isinstance(content, bytes) and len(content) == struct.calcsize(kind):
        return float(struct.unpack(kind, content)[0])
    return None


def _whole(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, whole number or bytes) of a protobuf message."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        if key & 7 == 0:
            value, at = _number(message, at)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            size, at = _number(message, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7, -1)
        if size < 0 or at + size > len(message):
            raise ValueError("no protobuf message")
        yield key >> 3, message[at : at + size]
        at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("no protobuf number")
