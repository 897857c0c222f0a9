#!/usr/bin/env python3
"""A consumer without a line of Rivulet: a plain ZeroMQ SUB socket and msgpack, following lib/wire/FORMAT.md.

    plain_sub.py ENDPOINT [PREFIX]      zmq+tcp://host:port or zmq+ipc:///path; PREFIX in hex, default none

Prints "ready" when the stream's info came, then a line a sample: sequence number, stamp, values; numbers of floating
point as the hex digits of their bits, big end first, strings and blobs as the hex digits of their bytes. Ends with
"end SEQUENCE" when the stream does.
"""
import struct
import sys

import msgpack
import zmq

FLOAT32, FLOAT64, STRING, INT32, INT16, INT8, INT64, BLOB = range(1, 9)
CODES = {FLOAT32: "f", FLOAT64: "d", INT32: "i", INT16: "h", INT8: "b", INT64: "q"}
INFO, DATA, KEEP_ALIVE, END = range(4)


class Stream:
    """What the info frame says about the frames that follow."""

    def __init__(self, order, fields):
        self.order = order
        self.channels = fields["channels"]
        self.rate = fields["rate"]
        self.format = fields["format"]

    def numbers(self, code, data):
        return struct.unpack(f"{self.order}{len(data) // struct.calcsize(code)}{code}", data)

    def stamps(self, field, count):
        if isinstance(field, bytes):
            return self.numbers("d", field)
        runs = [count, count - 1, field] if isinstance(field, float) else field
        return [
            base - (ahead - j) / self.rate if self.rate > 0 else base
            for run, ahead, base in zip(runs[0::3], runs[1::3], runs[2::3])
            for j in range(run)
        ]

    def values(self, payload, count):
        total = count * self.channels
        if self.format in (STRING, BLOB):
            ends = self.numbers("I", payload[: 4 * (total + 1)])
            text = payload[4 * (total + 1) :]
            return [text[a - ends[0] : b - ends[0]].hex() for a, b in zip(ends, ends[1:])]
        numbers = self.numbers(CODES[self.format], payload)
        if self.format in (FLOAT32, FLOAT64):
            return [struct.pack(">" + CODES[self.format], number).hex() for number in numbers]
        return [str(number) for number in numbers]


def main():
    endpoint = sys.argv[1].removeprefix("zmq+")
    socket = zmq.Context().socket(zmq.SUB)
    socket.setsockopt(zmq.SUBSCRIBE, bytes.fromhex(sys.argv[2] if len(sys.argv) > 2 else ""))
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(endpoint)
    stream = None
    while True:
        parts = socket.recv_multipart()
        if parts[0][:1] == b"\xc1":  # addressed to an inlet
            continue
        kind, *fields = msgpack.unpackb(b"".join(parts), raw=False)
        if kind == INFO and stream is None:
            _version, order, described, _desc = fields
            stream = Stream(order, described)
            print("ready", flush=True)
        elif kind == DATA and stream is not None:
            first, count, stamps, payload = fields
            values = stream.values(payload, count)
            for i, stamp in enumerate(stream.stamps(stamps, count)):
                row = values[i * stream.channels : (i + 1) * stream.channels]
                print(first + i, struct.pack(">d", stamp).hex(), *row)
        elif kind == END:
            print("end", fields[0], flush=True)
            return


main()
