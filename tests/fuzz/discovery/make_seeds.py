#!/usr/bin/env python3
"""Writes the seed corpus of the beacon target, by an implementation that is not ours. Run again after a change of
BEACON.md; what fuzzing found goes beside these, under a name of its own."""

import pathlib

import msgpack

HERE = pathlib.Path(__file__).parent / "corpus" / "beacon"
SENDER = bytes(range(16))
MINE = bytes([1]) + bytes(15)


def lab_key(*parts):
    value = 0xCBF29CE484222325
    for part in parts:
        for byte in part.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        value = value * 0x100000001B3 % 2**64
    return value


KEY = lab_key("default", "239.255.83.76", "ff05::5256:4c54")
STREAM = {"u": "0123456789abcdef0123456789abcdef", "n": "EEG é", "y": "EEG", "i": "amp-17", "c": 64, "r": 1000.0,
          "f": 1, "a": 12.5, "e": ["zmq+tcp://*:5000", "zmq+ipc:///tmp/a"], "s": ["zmq+tcp://*:5001"]}
SET = {"r": 7, "b": 0, "p": 0, "q": 1, "t": 1, "v": 1000, "h": "lab-3"}


def datagram(kind, body, origin=None, version=1, key=KEY, sender=SENDER):
    return msgpack.packb(["rvb", version, key, kind, sender, body, origin])


SEEDS = {
    "whole_set": datagram(0, {**SET, "s": [STREAM]}),
    "two_streams": datagram(0, {**SET, "t": 2, "s": [STREAM, {**STREAM, "u": "b", "r": 0}]}),
    "changes": datagram(0, {**SET, "b": 6, "s": [STREAM, "feedface"]}),
    "part": datagram(0, {**SET, "q": 3, "p": 2, "t": 9, "s": [STREAM]}),
    "sign_of_life": datagram(0, {"r": 7, "t": 1000, "v": 500, "h": "lab-3"}),
    "passed_on": datagram(0, {**SET, "s": [STREAM]}, [bytes([10, 0, 0, 9]), 4711]),
    "passed_on_ipv6": datagram(1, {"d": 5}, [bytes([0x20, 1] + [0] * 13 + [9]), 4711]),
    "passed_on_multicast": datagram(1, {"d": 5}, [bytes([239, 0, 0, 9]), 4711]),
    "question": datagram(1, {"d": 1, "j": 0, "g": False}),
    "late_question": datagram(1, {"d": 2, "j": 100, "g": True}),
    "question_to_one": datagram(1, {"d": 3, "j": 0, "g": False, "w": MINE, "b": 0, "r": 1, "p": 0, "m": 0xFFFFFFFF}),
    "question_far_out": datagram(1, {"d": 3, "w": MINE, "b": 2**64 - 1, "r": 2**64 - 1, "p": 65536, "m": 2**32 - 1}),
    "version_2": datagram(0, {**SET, "s": []}, version=2),
    "other_lab": datagram(0, {**SET, "s": []}, key=KEY + 1),
    "kind_9": datagram(9, {}),
    "short_sender": datagram(0, SET, sender=b"x"),
    "unknown_keys": datagram(0, {**SET, "later": [1, {"a": None}], "s": [{**STREAM, "x": [[]]}]}),
    "uid_is_a_path": datagram(0, {**SET, "s": [{**STREAM, "u": "../../x"}]}),
    "no_endpoints": datagram(0, {**SET, "s": [{**STREAM, "e": []}]}),
    "blob_of_two": datagram(0, {**SET, "s": [{**STREAM, "f": 8, "c": 2}]}),
    "long_names": datagram(0, {**SET, "s": [{**STREAM, "n": "n" * 256, "y": "y" * 256, "i": "i" * 256}]}),
    "huge_parts": datagram(0, {**SET, "p": 65535, "q": 65536, "s": [STREAM]}),
    "bomb_array": bytes.fromhex("ddffffffff"),
    "bomb_map": datagram(0, {})[:-2] + bytes.fromhex("dfffffffff"),
    "bomb_depth": b"\x91" * 1200,
}

HERE.mkdir(parents=True, exist_ok=True)
for name, data in SEEDS.items():
    (HERE / name).write_bytes(data)
