#!/usr/bin/env python3
"""A consumer without a line of Rivulet: connect, read. Prints the name, then each sample's number and first value."""
import socket
import struct
import sys

import msgpack

host, port = sys.argv[1].removeprefix("posix+tcp://").rsplit(":", 1)
stream = socket.create_connection((host, int(port))).makefile("rb")
while length := stream.read(4):
    kind, *fields = msgpack.unpackb(stream.read(struct.unpack(">I", length)[0]), raw=False)
    if kind == 0:  # info
        order, info = fields[1], fields[2]
        print("info", info["name"], flush=True)
    elif kind == 1:  # data
        first, count, _stamps, payload = fields
        values = struct.unpack(f"{order}{count * info['channels']}q", payload)
        for i in range(count):
            print(first + i, values[i * info["channels"]], flush=True)
    elif kind == 3:  # end
        print("end", fields[0], flush=True)
