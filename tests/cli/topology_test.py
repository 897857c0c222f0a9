#!/usr/bin/env python3
"""Several links at once, either start order, one publisher after another. matrix_test.py has the plain topologies."""

import json

from harness import ToolTest, main, wait_until


class Topology(ToolTest):
    def counter(self, count, link, mode, *options):
        full = ("--on-full", "wait") if mode == "async" else ()
        return self.pub("--signal", "counter", "--format", "int64", "--channels", 2, "--rate", 5000, "--count", count,
                        "--bind", link, "--mode", mode, "--linger", 20, *full, *options)

    def check_counter(self, path, count):
        rows = path.read_text().splitlines()[1:]
        self.assertEqual([row.split(",")[1:] for row in rows], [[str(i), str(i)] for i in range(count)])

    def test_several_streams_share_json_lines(self):
        pubs = [self.counter(100, link, "async", "--wait-consumers", 1, "--name", f"S{i}")
                for i, link in enumerate(self.links())]
        connects = [argument for pub in pubs for argument in ("--connect", pub.endpoint())]
        sub = self.sub(*connects, "--output-format", "jsonl")
        self.ends(sub)
        samples = [json.loads(line) for line in sub.stdout().splitlines()]
        for name in ("S0", "S1", "S2", "S3"):
            self.assertEqual([s["values"][0] for s in samples if s["name"] == name], list(range(100)))

    def test_either_may_start_first(self):
        for mode in ("async", "sync"):
            for link in self.known_links():
                sub = self.sub("--connect", link, "--timeout", 60, "--count", 500, "--strict", "--output",
                               self.folder / "late.csv")
                wait_until(lambda: sub.events_path.exists(), "stream-sub to be at work")
                pub = self.counter(500, link, mode, "--wait-consumers", 1)
                self.ends(sub)
                self.ends(pub)
                self.check_counter(self.folder / "late.csv", 500)

    def test_one_outlet_serves_several_endpoints(self):
        first, *others = self.links()
        binds = [argument for link in others for argument in ("--bind", link)]
        pub = self.counter(500, first, "async", *binds, "--wait-consumers", 4)
        endpoints = pub.wait_event("ready")["endpoints"]
        self.assertEqual(len(endpoints), 4)
        for number, endpoint in enumerate(endpoints):
            self.sub("--connect", endpoint, "--strict", "--output", self.folder / f"{number}.csv")
        self.ends(pub)
        for number in range(4):
            path = self.folder / f"{number}.csv"
            wait_until(lambda: path.read_text().count("\n") == 501, f"{path} to be complete")
            self.check_counter(path, 500)

    def test_waiting_at_the_end_takes_the_next_publisher(self):
        for link in self.known_links():
            self.two_in_turn(link)

    def two_in_turn(self, link):
        sub = self.sub("--connect", link, "--on-end", "wait", "--count", 200, "--output", self.folder / "x.csv",
                       "--summary", "json", "--timeout", 60)
        for _ in range(2):
            self.ends(self.counter(100, link, "async", "--wait-consumers", 1))
        self.ends(sub)
        summary = self.summary(sub)
        self.assertEqual((summary["samples"], summary["segments"], summary["dropped"]), (200, 2, 0))
        self.assertEqual(len(sub.events("segment")), 1)
        rows = (self.folder / "x.csv").read_text().splitlines()[1:]
        self.assertEqual([row.split(",")[1] for row in rows], [str(i) for i in [*range(100), *range(100)]])


if __name__ == "__main__":
    main()
