#!/usr/bin/env python3
"""Asks an outlet's service without a line of Rivulet: sockets, struct and msgpack. Usage: plain_service.py ENDPOINT
(posix+tcp://host:port or posix+unix:///path, of the data). Prints what came, one line an answer."""
import socket
import struct
import sys
import time

import msgpack


def connect(endpoint, host=None):
    scheme, rest = endpoint.split("://")
    if scheme == "posix+unix":
        line = socket.socket(socket.AF_UNIX)
        line.connect(rest)
        return line
    name, port = rest.rsplit(":", 1)
    return socket.create_connection((host if name == "*" else name, int(port)))


def receive(stream):
    return msgpack.unpackb(stream.read(struct.unpack(">I", stream.read(4))[0]), raw=False)


data = connect(sys.argv[1])
kind, _version, order, info, _metadata = receive(data.makefile("rb"))
assert kind == 0
[service] = info["service"]
line = connect(service, data.getpeername()[0] if data.family != socket.AF_UNIX else None)
answers = line.makefile("rb")


def ask(number, op, **arguments):
    frame = msgpack.packb([4, number, op, {"uid": info["uid"], **arguments}, None])
    line.sendall(struct.pack(">I", len(frame)) + frame)
    kind, same_number, status, result, _reserved = receive(answers)
    assert kind == 5 and same_number == number, (kind, same_number)
    return status, result


status, result = ask(1, "info")
_, _, _, description, metadata = msgpack.unpackb(result["info"], raw=False)
print("info", status, description["name"], metadata[2][0][0], metadata[2][0][1])

before = time.monotonic()
status, result = ask(2, "time", t1=before)
print("time", status, result["t1"] == before, before <= result["t2"] <= result["t3"] <= time.monotonic(),
      abs(result["unix_ns"] / 1e9 - time.time()) < 60)

status, result = ask(3, "stats")
print("stats", status, result["stats"]["pushed"])

first, end, samples = 10, 5000, []
while first < end:
    status, result = ask(4, "replay", **{"from": first, "to": end})
    assert status == 0 and result["from"] == first and result["frames"], (status, result)
    for frame in result["frames"]:
        kind, number, count, _stamps, payload = msgpack.unpackb(frame)
        assert kind == 1 and number == first
        samples += struct.unpack(f"{order}{count}q", payload)
        first += count
    assert first == result["next"]
print("replay", samples == list(range(10, 5000)))

status, result = ask(5, "control", name="python", data=b"\x00\x01", about=7, sent_at=1.5)
print("control", status, result["data"])
status, result = ask(6, "dance")
print("dance", status, result["text"])
info["uid"] = "nobody"
print("stranger", ask(7, "stats")[0])
