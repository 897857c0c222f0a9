#!/usr/bin/env python3
"""Runs the Python client that FORMAT.md shows on the examples that FORMAT.md shows. Usage: format_md_test.py FORMAT.md"""

import pathlib
import re
import sys
import unittest

import msgpack

TEXT = pathlib.Path(sys.argv.pop(1)).read_text(encoding="utf-8")
CLIENT = {"__name__": "client"}
exec(re.search(r"```python\n(.*?)```", TEXT, re.S).group(1), CLIENT)


def example(name):
    block = re.search(rf"```hex {name}\n(.*?)```", TEXT, re.S).group(1)
    return bytes.fromhex("".join(line.partition("#")[0] for line in block.splitlines()))


def decode(name, rate, channels, form):
    kind, first, count, stamps, payload = msgpack.unpackb(example(name))
    assert kind == 1
    return (first, CLIENT["stamps_of"](stamps, count, rate, "<"),
            CLIENT["values_of"](payload, count * channels, form, "<"))


class Examples(unittest.TestCase):
    def test_float32(self):
        self.assertEqual(decode("float32", 4.0, 2, 1), (300, [12.0, 12.25, 12.5], [0.5, -1, 0.75, -2, 1, -4]))

    def test_string(self):
        self.assertEqual(decode("string", 0.0, 1, 3), (7, [3.0, 3.125], [b"a\0b", "grün!".encode()]))

    def test_int8_runs(self):
        self.assertEqual(decode("int8-runs", 4.0, 1, 6), (0, [100.0, 100.25, 100.25, 100.5], [1, 2, 3, -4]))


unittest.main()
