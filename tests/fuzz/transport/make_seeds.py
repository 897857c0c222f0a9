#!/usr/bin/env python3
"""Writes the seed corpus of the endpoint target; what fuzzing found goes beside these, under a name of its own."""

import pathlib

HERE = pathlib.Path(__file__).parent / "corpus" / "endpoint"
SEEDS = {
    "zmq_tcp": b"zmq+tcp://localhost:5000",
    "any_port": b"zmq+tcp://*:*",
    "ipv6": b"posix+tcp://[::1]:5000",
    "ipv6_scope": b"posix+tcp://[fe80::1%eth0]:5000",
    "ipv6_any": b"zmq+tcp://[::]:*",
    "sctp": b"posix+sctp://10.0.0.7:65535",
    "ipc": b"zmq+ipc:///tmp/a.sock",
    "ipc_any": b"zmq+ipc://*",
    "unix": b"posix+unix:///run/rivulet/eeg",
    "longest_path": b"posix+unix:///" + b"x" * 106,
    "path_too_long": b"posix+unix:///" + b"x" * 107,
    "inproc": b"inproc://name",
    "no_scheme": b"localhost:5000",
    "other_scheme": b"tcp://localhost:5000",
    "port_too_large": b"zmq+tcp://a:65536",
    "port_overflow": b"zmq+tcp://a:18446744073709551617",
    "no_port": b"zmq+tcp://a:",
    "no_host": b"zmq+tcp://:5000",
    "open_bracket": b"zmq+tcp://[::1:5000",
    "two_colons": b"zmq+tcp://::1:5000",
    "nul": b"zmq+ipc:///tmp/a\0b",
    "scheme_alone": b"zmq+tcp://",
    "empty": b"",
}

HERE.mkdir(parents=True, exist_ok=True)
for name, content in SEEDS.items():
    (HERE / name).write_bytes(content)
