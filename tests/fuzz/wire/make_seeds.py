#!/usr/bin/env python3
"""Writes the seed corpus of the wire targets, by an implementation that is not ours. Run again after a change of
FORMAT.md; what fuzzing found goes beside these, under a name of its own."""

import pathlib
import struct

import msgpack

HERE = pathlib.Path(__file__).parent / "corpus"
TOKEN = bytes(range(1, 17))
TREE = ["desc", "", [["channels", "", [["channel", "", [["label", "Fp1", []], ["unit", "microvolts", []]]]]],
                     ["note", "a\0b", []]]]
UID = "0123456789abcdef" * 2
STREAM = {"name": "EEG é", "type": "EEG", "channels": 64, "rate": 1000.0, "format": 1, "source_id": "amp-17",
          "uid": "0123456789abcdef0123456789abcdef", "host": "lab-3", "session": "default", "created_at": 12.5,
          "next": 1 << 40, "origin": "", "service": ["zmq+tcp://[::1]:5"]}


def doubles(*values, order="<"):
    return struct.pack(f"{order}{len(values)}d", *values)


def uint32(*values, order="<"):
    return struct.pack(f"{order}{len(values)}I", *values)


def nested(depth):
    tree = ["leaf", "", []]
    for _ in range(depth - 1):
        tree = ["node", "", [tree]]
    return tree


def data(first, count, stamps, payload):
    return msgpack.packb([1, first, count, stamps, payload])


def info(stream, tree=TREE, version=1, order="<"):
    return msgpack.packb([0, version, order, stream, tree])


def clock(at, offset, uncertainty, details):
    return msgpack.packb([64, at, offset, uncertainty, details])


def request(op, arguments):
    return msgpack.packb([4, 7, op, arguments, None])


def reply(status, result):
    return msgpack.packb([5, 7, status, result, None])


SEEDS = {
    "data_frame": {
        "one_stamp": data(7, 3, 12.5, bytes(24)),
        "column": data(300, 3, doubles(1.0, 2.0, 3.0), bytes(12)),
        "column_big_endian": data(1 << 40, 2, doubles(1.0, -2.0, order=">"), doubles(1.0, 1e300, order=">")),
        "one_cut_run": data(0, 3, [3, 70000, 12.5], bytes(3)),
        "two_runs": data(5, 4, [2, 1, 100.25, 2, 5, 101.5], b"\1\2\3\4"),
        "most_runs": data(5, 128, [1, 0, 1.5] * 128, bytes(128)),
        "too_many_runs": data(5, 129, [1, 0, 1.5] * 129, bytes(129)),
        "last_sequence": data((1 << 64) - 2, 1, 1.5, b"x"),
        "sequence_overflow": data((1 << 64) - 1, 1, 1.5, b"x"),
        "strings": data(7, 2, doubles(3.0, 3.125), uint32(4096, 4099, 4105) + b"a\0b" + "grün!".encode()),
        "blob": data(7, 1, 1.5, uint32(0, 300) + bytes(300)),
        "empty_payload": data(0, 1, 1.5, b""),
        "wide_integers": bytes.fromhex("9501cf0000000000000009d10002cb3ff0000000000000c6000000012a"),
        "no_samples": data(0, 0, 1.5, b""),
        "bomb_runs": bytes.fromhex("95010001ddffffffff"),
        "bomb_payload": bytes.fromhex("95010001cb3ff0000000000000c6ffffffff"),
    },
    "info_frame": {
        "full": info(STREAM),
        "least": info({"name": "x", "channels": 1, "format": 3}, ["desc", "", []], order=">"),
        "unknown_keys": info({**STREAM, "auth": b"\1\2", "later": [1, {"a": None}], "rate": 100}),
        "rate_float32": msgpack.packb([0, 1, "<", {**STREAM, "rate": 2.5}, TREE], use_single_float=True),
        "blob_of_two": info({**STREAM, "format": 8, "channels": 2}),
        "no_channels": info({**STREAM, "channels": 0}),
        "nan_rate": info({**STREAM, "rate": float("nan")}),
        "uid_is_a_path": info({**STREAM, "uid": "../../x"}),
        "version_2": info(STREAM, version=2),
        "deepest": info(STREAM, nested(32)),
        "too_deep": info(STREAM, nested(33)),
        "wide": info(STREAM, ["desc", "", [["a", "b", []]] * 100]),
        "odd_tree": info(STREAM, ["desc", "", [["a", "b"]]]),
        "bomb_map": bytes.fromhex("950001a13cdfffffffff"),
        "bomb_array": bytes.fromhex("9500ddffffffff"),
        "bomb_depth": bytes.fromhex("950001a13c80") + b"\x91" * 2000,
    },
    "status_frame": {
        "keep_alive": msgpack.packb([2, 1 << 40, 12.5, None, None]),
        "end": msgpack.packb([3, 0, 12.5, None, None]),
        "padded": msgpack.packb([3, 9, 12.5, b"\1", bytes(300)]),
        "reserved_array": msgpack.packb([3, 9, 12.5, None, []]),
        "whole_number_time": msgpack.packb([2, 9, 12, None, None]),
        "later_kind": msgpack.packb([6, 9, 12.5, None, None]),
        "bomb": bytes.fromhex("950309cb3ff0000000000000c6ffffffff"),
    },
    "clock_frame": {
        "measured": clock(12.5, 100000.25, 2e-5, {"number": 7, "rtt": 3e-5}),
        "reset": clock(12.5, -0.25, 2e-5, {"number": 1 << 40, "rtt": 3e-5, "reset": 1}),
        "least": clock(12, 3, 0, {}),
        "unknown_keys": clock(12.5, 0.5, 0.25, {"later": [1, {"a": None}], "rtt": 1}),
        "nan": clock(12.5, float("nan"), 0.25, {}),
        "no_map": clock(12.5, 0.5, 0.25, None),
        "text_for_a_number": clock(12.5, "x", 0.25, {}),
        "bomb_map": bytes.fromhex("95400c0300dfffffffff"),
        "bomb_depth": bytes.fromhex("95400c0300") + b"\x91" * 400,
    },
    "hello": {
        "bare": b"\xc0" + TOKEN,
        "named": b"\xc0" + TOKEN + msgpack.packb({"n": "recorder é"}),
        "all_history": b"\xc0" + TOKEN + msgpack.packb({"n": "r", "h": (1 << 64) - 1}),
        "resume": b"\xc0" + TOKEN + msgpack.packb({"n": "r", "u": "0123456789abcdef" * 2, "s": 1 << 50}),
        "unknown_keys": b"\xc0" + TOKEN + msgpack.packb({"a": b"\1\2", "z": [1, {"q": None}], "n": "r"}),
        "control_character": b"\xc0" + TOKEN + msgpack.packb({"n": "a\nb"}),
        "long_name": b"\xc0" + TOKEN + msgpack.packb({"n": "n" * 65}),
        "too_long": b"\xc0" + TOKEN + msgpack.packb({"z": "n" * 500}),
        "token": b"\xc1" + TOKEN,
        "cut": b"\xc0" + TOKEN[:9],
        "bomb": b"\xc0" + TOKEN + bytes.fromhex("dfffffffff"),
    },
    "request": {
        "info": request("info", {"uid": UID}),
        "time": request("time", {"uid": UID, "t1": 12.5}),
        "replay": request("replay", {"uid": UID, "from": 5, "to": 1 << 40}),
        "control": request("control", {"uid": UID, "name": "é", "consumer": "c0", "sent_at": 1.5, "about": 7,
                                       "data": bytes(300)}),
        "stats": request("stats", {"uid": UID, "later": [{"a": None}]}),
        "unknown_op": request("dance", {}),
        "no_uid": request("info", {}),
        "backwards": request("replay", {"uid": UID, "from": 5, "to": 4}),
        "text_for_data": request("control", {"uid": UID, "data": "x"}),
        "bomb_map": bytes.fromhex("950407a4696e666fdfffffffff"),
        "bomb_depth": bytes.fromhex("950407a4696e666f") + b"\x91" * 2000,
    },
    "reply": {
        "refused": reply(5, {"text": "too many"}),
        "unknown_status": reply(300, {"text": "?", "data": b"x"}),
        "time": reply(0, {"t1": 1.5, "t2": 2.5, "t3": 3, "unix_ns": 1 << 60}),
        "info": reply(0, {"info": info(STREAM)}),
        "replay": reply(0, {"from": 5, "next": 8, "frames": [data(5, 1, 12.5, bytes(8)), data(6, 2, 12.5, bytes(16))]}),
        "control": reply(0, {"data": bytes(300)}),
        "stats": reply(0, {"stats": {"pushed": 5, "sent": 4, "dropped": 3, "consumers": 2, "kicked": 1, "ignored": 0,
                                     "current": [{"id": "a", "name": "b", "address": "c", "link": "d", "sent": 1,
                                                  "dropped": 2, "lag": 3}]}}),
        "too_many_frames": reply(0, {"frames": [b""] * 65}),
        "bomb_frames": bytes.fromhex("9505070081a66672616d6573ddffffffff"),
        "negative": reply(0, {"next": -1}),
    },
    "sequence": {
        "zero": b"\0",
        "byte": msgpack.packb(200),
        "largest": msgpack.packb((1 << 64) - 1),
        "wide": bytes.fromhex("cf0000000000000001"),
        "negative": msgpack.packb(-1),
        "real": msgpack.packb(1.0),
        "trailing": b"\1\1",
        "cut": bytes.fromhex("cd01"),
    },
    "text_payload": {
        "two": bytes([2 << 1]) + uint32(4096, 4099, 4105) + b"a\0b" + "grün!".encode(),
        "two_big_endian": bytes([2 << 1 | 1]) + uint32(0, 3, 9, order=">") + b"a\0b" + "grün!".encode(),
        "none": bytes([0]) + uint32(7),
        "empty_ones": bytes([3 << 1]) + uint32(1, 1, 1, 1),
        "falling": bytes([2 << 1]) + uint32(0, 2, 1) + b"x",
        "beyond": bytes([1 << 1]) + uint32(0, 0xFFFFFFFF) + b"x",
        "overflow": bytes([0xFF]) + uint32(0, 0),
        "cut": bytes([2 << 1]) + uint32(0, 2),
    },
}

for target, seeds in SEEDS.items():
    folder = HERE / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)
