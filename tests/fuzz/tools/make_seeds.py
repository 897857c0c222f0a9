#!/usr/bin/env python3
"""Writes the seed corpus of the CSV target; what fuzzing found goes beside these, under a name of its own."""

import pathlib

HERE = pathlib.Path(__file__).parent / "corpus" / "csv"
FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRING, BLOB = range(8)


def file(kind, text):
    return bytes([kind]) + (text if isinstance(text, bytes) else text.encode())


SEEDS = {
    "floats": file(FLOAT32, "stamp,Fp1,Fp2\n1,0.5,-1e5\n1.004,nan,inf\n1.008,1e-60,+3\n"),
    "no_stamps": file(FLOAT64, "a,b\r\n1,2\r\n\r\n3,4"),
    "sequence": file(INT32, "stamp,sequence,ch0\n1,0,7\n2,1,8\n"),
    "limits": file(INT8, "ch0\n-128\n127\n128\n"),
    "whole": file(INT64, "ch0\n5.0\n1e3\n9223372036854775807\n9.3e18\n"),
    "short": file(INT16, "stamp,a,b\n1,2\n"),
    "strings": file(STRING, 'stamp,note\n1,"a ""quoted"", text\nof two lines"\n2,\n3,"\0"\n'),
    "blobs": file(BLOB, "stamp,data\n1,AAEC\n2,\n3,AA==\n4,A\n"),
    "byte_order_mark": file(FLOAT32, b"\xEF\xBB\xBFstamp,a\n1,2\n"),
    "open_quote": file(STRING, 'a\n"never closed\n'),
    "quote_inside": file(STRING, 'a\nx"y\n'),
    "behind_a_quote": file(STRING, 'a\n"x"y\n'),
    "only_numbers": file(FLOAT32, "1,2,3\n4,5,6\n"),
    "no_channels": file(FLOAT32, "stamp\n1\n"),
    "bad_stamp": file(FLOAT32, "stamp,a\nnan,1\n"),
    "blank": file(FLOAT32, "\n\n\n"),
    "empty": file(FLOAT32, ""),
    "wide": file(FLOAT32, "stamp" + ",x" * 200 + "\n1" + ",2" * 200 + "\n"),
}

HERE.mkdir(parents=True, exist_ok=True)
for name, content in SEEDS.items():
    (HERE / name).write_bytes(content)
