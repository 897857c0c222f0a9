#!/usr/bin/env python3
"""1 publisher to 1 subscriber, 1 to 2, and 2 to 1, over every link and in both modes, at an even pace.

Prints a line a received stream (what came, in which order, how old) and a line a publisher (who consumed):
  RIVULET_BIN=build/release/bin python3 tests/cli/matrix_test.py
"""

import json

from harness import ToolTest, main

COUNT = 3000
RATE = 5000
MODES = ("async", "sync")
HISTOGRAM = {"le_0_5": "<=0.5", "le_1": "<=1", "le_5": "<=5", "le_10": "<=10", "gt_10": ">10"}  # milliseconds


class Matrix(ToolTest):
    lines = []

    @classmethod
    def tearDownClass(cls):
        print("\n" + "\n".join(cls.lines), flush=True)

    def test_one_publisher_one_subscriber(self):
        self.over_all_links(1, 1)

    def test_one_publisher_two_subscribers(self):
        self.over_all_links(1, 2)

    def test_two_publishers_one_subscriber(self):
        self.over_all_links(2, 1)

    def over_all_links(self, publishers, subscribers):
        for mode in MODES:
            for first, second in zip(self.links(), self.links()):
                self.run_once(mode, [first, second][:publishers], subscribers)

    def run_once(self, mode, binds, subscribers):
        link = binds[0].split(":")[0]
        title = f"{link:10} {mode:5} {len(binds)}-{subscribers}"
        full = ("--on-full", "wait") if mode == "async" else ()
        pubs = [self.pub("--name", f"S{i}", "--signal", "counter", "--format", "int64", "--channels", 2, "--rate", RATE,
                         "--count", COUNT, "--mode", mode, "--bind", bind, "--wait-consumers", subscribers, "--linger",
                         20, "--json", *full)
                for i, bind in enumerate(binds)]
        connects = [argument for pub in pubs for argument in ("--connect", pub.endpoint())]
        subs = [self.sub(*connects, "--strict", "--output", f"{self.folder}/{i}-{{name}}.csv", "--summary", "json")
                for i in range(subscribers)]
        for tool in (*pubs, *subs):
            self.ends(tool)
        for i, sub in enumerate(subs):
            streams = {stream["name"]: stream for stream in map(json.loads, sub.stdout().splitlines())}
            self.assertEqual(sorted(streams), [f"S{j}" for j in range(len(pubs))])
            for name, stream in sorted(streams.items()):
                self.lines.append(f"{title} sub {i} of {name}: {self.describe(stream)}")
                self.check_stream(stream, title)
                self.check_samples(self.folder / f"{i}-{name}.csv")
        for pub in pubs:
            report = self.summary(pub)
            self.lines.append(f"{title} pub {report['name']}: {report['samples']} samples at {report['rate_hz']:.0f} Hz, "
                              f"{report['consumers']} consumers seen, {report['dropped']} dropped, "
                              f"{report['kicked']} kicked")
            seen = {key: report[key] for key in ("samples", "consumers", "dropped", "kicked")}
            self.assertEqual(seen, {"samples": COUNT, "consumers": subscribers, "dropped": 0, "kicked": 0}, title)

    @staticmethod
    def describe(stream):
        age = stream["age_ms"]
        histogram = " ".join(f"{text}:{stream['age_hist'][key]}" for key, text in HISTOGRAM.items())
        return (f"{stream['samples']} samples [{stream['seq_first']}..{stream['seq_last']}], "
                f"dropped {stream['dropped']} ({stream['dropped_pct']:.2f} %), "
                f"age avg {age['mean']:.3f} max {age['max']:.3f} ms at {age['max_at_seq']}, ages in ms {histogram}")

    def check_stream(self, stream, title):
        got = {key: stream[key] for key in ("samples", "seq_first", "seq_last", "dropped", "dropped_pct", "repeated",
                                            "gaps", "segments", "end")}
        self.assertEqual(got, {"samples": COUNT, "seq_first": 0, "seq_last": COUNT - 1, "dropped": 0, "dropped_pct": 0,
                               "repeated": 0, "gaps": [], "segments": 1, "end": "ended"}, title)
        age = stream["age_ms"]
        self.assertGreater(age["mean"], 0, title)  # one clock: nothing arrives before it was sent
        self.assertGreaterEqual(age["max"], age["mean"], title)
        self.assertIn(age["max_at_seq"], range(COUNT), title)
        arrivals = sum(stream["age_hist"].values())
        self.assertIn(arrivals, range(1, COUNT + 1), title)

    def check_samples(self, path):
        rows = [row.split(",")[1:] for row in path.read_text().splitlines()[1:]]
        self.assertEqual(rows, [[str(i), str(i)] for i in range(COUNT)])


if __name__ == "__main__":
    main()
