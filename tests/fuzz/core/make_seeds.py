#!/usr/bin/env python3
"""Writes the seed corpus of the capture target, by an implementation that is not ours; what fuzzing found goes beside
these, under a name of its own."""

import pathlib
import struct

import msgpack

HERE = pathlib.Path(__file__).parent / "corpus" / "capture"
STREAM = {"name": "EEG", "channels": 2, "rate": 4.0, "format": 1, "uid": "feed", "created_at": 1.5}
TREE = ["desc", "", []]


def record(*elements):
    frame = msgpack.packb(list(elements))
    return struct.pack(">I", len(frame)) + frame


def info(order="<", **changes):
    return record(0, 1, order, {**STREAM, **changes}, TREE)


def doubles(*values, order="<"):
    return struct.pack(f"{order}{len(values)}d", *values)


def texts(*values):
    ends = [sum(map(len, values[:i])) for i in range(len(values) + 1)]
    return struct.pack(f"<{len(ends)}I", *ends) + b"".join(values)


MAGIC = b"RIVULET1"
RUN = record(1, 0, 3, 12.5, bytes(24))
END = record(3, 6, 13.0, None, None)
SEEDS = {
    "stream": MAGIC + info() + RUN + record(1, 3, 3, doubles(13, 14, 15), bytes(24)) + END,
    "big_endian": MAGIC + info(">", format=2) + record(1, 0, 1, doubles(1, order=">"), doubles(1, 2, order=">")),
    "strings": MAGIC + info(format=3, channels=1) + record(1, 0, 2, [1, 1, 2.0, 1, 0, 2.5], texts(b"a\0b", b"")),
    "blob": MAGIC + info(format=8, channels=1, rate=0.0) + record(1, 7, 1, 2.0, texts(bytes(40))),
    "clocks": MAGIC + info() + record(64, 1.0, 0.25, 0.1, {"number": 1, "rtt": 0.1}) + RUN
              + record(64, 2.0, 0.25, 0.1, {"number": 2, "rtt": 0.1, "reset": 1}),
    "two_segments": MAGIC + info() + RUN + info(uid="beef") + record(1, 0, 1, 1.0, bytes(8)),
    "unknown_kind": MAGIC + info() + record(70, None, None, None, None) + RUN,
    "gap": MAGIC + info() + RUN + record(1, 900, 1, 1.0, bytes(8)),
    "wrong_size": MAGIC + info() + record(1, 0, 3, 12.5, bytes(23)),
    "huge_count": MAGIC + info(channels=1 << 20) + record(1, 0, 2**32 - 1, 12.5, b""),
    "no_info": MAGIC + RUN,
    "cut": (MAGIC + info() + RUN)[:-9],
    "long_record": MAGIC + b"\xff\xff\xff\xff" + b"\x95",
    "no_frame": MAGIC + struct.pack(">I", 3) + b"abc",
    "other_file": b"RIFFxxxxWAVE",
    "magic_alone": MAGIC,
}

HERE.mkdir(parents=True, exist_ok=True)
for name, content in SEEDS.items():
    (HERE / name).write_bytes(content)
