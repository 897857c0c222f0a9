"""Streams of hosts with another clock, and wall clocks that step."""

import csv
import datetime
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from harness import ToolTest, main, wait_until

AHEAD = 100_000  # seconds that the other clock is ahead of ours
OTHER_CLOCK = ("unshare", "-T", "--monotonic", str(AHEAD), "--fork", "--kill-child")
CLOSE = 60  # seconds: what a loaded machine may do to a sample on its way; far less than AHEAD


def why_not():
    if not shutil.which("unshare"):
        return "needs unshare (package util-linux)"
    tried = subprocess.run([*OTHER_CLOCK, "cat", "/proc/uptime"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
    if tried.returncode != 0:
        return f"cannot make time namespaces here: {tried.stdout.strip()}"
    return ""


REASON = why_not()
CLOCK_STEP = os.environ.get("RIVULET_CLOCK_STEP", "")


class Clocks(ToolTest):
    """Each test has a lab of its own, so that nobody else's stream of the same source is found."""

    def start(self, name, *arguments, variables=None, **how):
        lab = {"RIVULET_SESSION_NAME": f"clocks-{os.getpid()}-{self.id().rsplit('.')[-1]}"[:64]}
        return super().start(name, *arguments, variables={**lab, **(variables or {})}, **how)

    def publish(self, *arguments, **how):
        """A counter at 200 Hz; its endpoints."""
        tool = self.pub("--name", "EEG", "--source-id", "amp", "--rate", "200", "--channels", "1", "--signal",
                        "counter", *arguments, **how)
        return tool.wait_event("ready")["endpoints"]

    def received(self, endpoint, *arguments, count=40):
        tool = self.sub("--connect", endpoint, "--count", str(count), "--summary", "json", "--output",
                        str(self.folder / "out.csv"), *arguments)
        self.ends(tool)
        with open(self.folder / "out.csv", newline="") as file:
            return [row["stamp"] for row in csv.DictReader(file)], self.summary(tool)

    def assert_near(self, got, expected, what):
        self.assertLess(abs(got - expected), CLOSE, what)


@unittest.skipIf(REASON, REASON)
class AnotherClock(Clocks):
    """The publisher in a time namespace of its own: same host, another monotonic clock, the same wall clock."""

    def setUp(self):
        super().setUp()
        self.binds = [argument for link in self.links() for argument in ("--bind", link)]

    def other(self, *arguments):
        return self.publish(*self.binds, *arguments, prefix=OTHER_CLOCK)

    def test_ages_are_corrected_on_every_link(self):
        for endpoint in self.other():
            stamps, summary = self.received(endpoint)
            self.assert_near(float(stamps[-1]), time.monotonic() + AHEAD, f"{endpoint}: stamps come as sent")
            self.assertLess(abs(summary["clock"]["offset_s"] + AHEAD), 0.1 + summary["clock"]["uncertainty_s"])
            self.assertGreater(summary["clock"]["rtt_s"], 0)
            for age in ("mean", "p50", "max"):
                self.assertGreater(summary["age_ms"][age], -100, f"{endpoint}: {summary}")
                self.assertLess(summary["age_ms"][age], CLOSE * 1e3, f"{endpoint}: {summary}")

    def test_clocksync_brings_stamps_to_our_clock(self):
        endpoints = self.other()
        for extra in ((), ("--dejitter", "--monotonize")):
            for endpoint in endpoints:
                stamps, summary = self.received(endpoint, "--clocksync", *extra)
                stamps = list(map(float, stamps))
                self.assert_near(stamps[-1], time.monotonic(), endpoint)
                self.assertEqual(stamps, sorted(stamps))
                self.assertLess(abs(stamps[-1] - stamps[0] - (len(stamps) - 1) / 200), CLOSE)
                self.assertLess(abs(summary["age_ms"]["p50"]), CLOSE * 1e3)
                self.assertLess(abs(summary["clock"]["offset_s"] + AHEAD), 0.1 + summary["clock"]["uncertainty_s"])

    def test_wall_clock_times(self):
        for endpoint in self.other():
            for extra in ((), ("--clocksync",)):
                stamps, _ = self.received(endpoint, "--stamps", "unix", *extra)
                self.assert_near(float(stamps[-1]), time.time(), endpoint)
                stamps, _ = self.received(endpoint, "--stamps", "iso", *extra)
                last = datetime.datetime.fromisoformat(stamps[-1][:26] + "+00:00")
                self.assert_near(last.timestamp(), time.time(), endpoint)

    def test_a_capture_keeps_raw_stamps_and_the_offset(self):
        for endpoint in self.other():
            path = self.folder / "capture"
            sub = self.sub("--connect", endpoint, "--count", "300", "--output", path, "--output-format", "frames")
            self.ends(sub)
            offsets = [offset for _, offset in clock_records(path.read_bytes())]
            self.assertGreaterEqual(len(offsets), 1, endpoint)
            for offset in offsets:
                self.assertLess(abs(offset + AHEAD), 0.5, endpoint)
            replay = self.pub("--input", path, "--input-format", "frames", "--bind", "posix+tcp://127.0.0.1:*",
                              "--wait-consumers", "1")
            stamps, summary = self.received(replay.wait_event("ready")["endpoints"][0], count=300)
            self.assertGreater(float(stamps[0]), AHEAD, "replayed as they were")
            self.assertEqual(summary["dropped"], 0)
            self.ends(replay)

    def test_live_status(self):
        endpoint = self.other()[0]
        sub = self.sub("--connect", endpoint, "--output-format", "none")
        status = wait_until(lambda: [s for s in sub.events("status") if s["age_ms"] is not None], "an age")[0]
        self.assertLess(abs(status["age_ms"]), CLOSE * 1e3)
        self.assertLess(abs(status["clock_offset_s"] + AHEAD), 0.5)
        self.assertEqual((status["segments"], status["recoveries"]), (1, 0))
        sub.send(signal.SIGINT)
        self.ends(sub)
        self.assertRegex(sub.stderr() + sub.stdout().decode(), r"clock offset -(100000|99999)\.\d+ s \+- ")

    def test_a_source_that_comes_back_with_another_clock(self):
        for arguments, clock in ((("--clocksync",), time.monotonic), (("--stamps", "unix"), time.time)):
            with self.subTest(arguments):
                self.comes_back(arguments, clock)

    def comes_back(self, arguments, clock):
        """All of its stamps are of our clock, although the outlet's changes."""
        began = clock()
        source = ("--name", "EEG", "--source-id", "amp", "--rate", "200", "--channels", "1", "--bind",
                  self.known_links()[2])
        first = self.pub(*source)
        first.wait_event("ready")
        sub = self.sub("--connect", source[-1], "--summary", "json", "--output", str(self.folder / "out.csv"),
                       *arguments)
        sub.wait_event("ready")
        wait_until(lambda: any(s["samples"] > 0 for s in sub.events("status")), "samples")
        first.kill()
        second = self.pub(*source, prefix=OTHER_CLOCK)
        second.wait_event("ready")
        sub.wait_event("segment")
        enough = sub.events("status")[-1]["samples"] + 200
        wait_until(lambda: sub.events("status")[-1]["samples"] > enough, "samples of the second")
        sub.send(signal.SIGINT)
        self.ends(sub)
        second.kill()
        summary = self.summary(sub)
        self.assertEqual((summary["segments"], summary["recoveries"]), (2, 1))
        with open(self.folder / "out.csv", newline="") as file:
            stamps = [float(row["stamp"]) for row in csv.DictReader(file)]
        self.assertGreater(min(stamps), began - CLOSE)
        self.assertLess(max(stamps), clock() + CLOSE)


@unittest.skipIf(not CLOCK_STEP, "this build has nothing that steps a program's clock")
class WallClockSteps(Clocks):
    def test_steps_change_nothing_but_wall_clock_times(self):
        step = self.file("step", "0")
        stepped = {"LD_PRELOAD": CLOCK_STEP, "CLOCK_STEP_FILE": str(step)}
        endpoint = self.publish("--bind", "zmq+tcp://127.0.0.1:*", variables=stepped)[0]
        subs = {}
        for name, arguments in (("source", ()), ("unix", ("--stamps", "unix")),
                                ("synced", ("--clocksync", "--dejitter"))):
            subs[name] = self.sub("--connect", endpoint, "--summary", "json", "--output",
                                  str(self.folder / f"{name}.csv"), *arguments, variables=stepped)

        def all_have(more):
            for sub in subs.values():
                seen = sub.events("status")
                goal = (seen[-1]["samples"] if seen else 0) + more
                wait_until(lambda s=sub, g=goal: any(e["samples"] > g for e in s.events("status")), "samples")

        all_have(50)
        for seconds in (3600, -86400, 0):
            self.file("next", str(seconds)).replace(step)  # at once: a file that is written is empty for a moment
            all_have(250)
        for sub in subs.values():
            sub.send(signal.SIGINT)
            self.ends(sub)
        columns = {}
        for name, sub in subs.items():
            summary = self.summary(sub)
            self.assertEqual((summary["dropped"], summary["segments"], summary["recoveries"]), (0, 1, 0), name)
            self.assertLess(summary["age_ms"]["max"], 60e3, name)
            self.assertLess(abs(summary["clock"]["offset_s"]), 0.1)
            with open(self.folder / f"{name}.csv", newline="") as file:
                columns[name] = [float(row["stamp"]) for row in csv.DictReader(file)]
        now = time.monotonic()
        for name in ("source", "synced"):
            stamps = columns[name]
            self.assertEqual(stamps, sorted(stamps), name)
            self.assertTrue(now - 300 < stamps[0] <= stamps[-1] < now + CLOSE, name)
            self.assertLess(max(b - a for a, b in zip(stamps, stamps[1:])), 60, name)
        wall = columns["unix"]
        self.assert_near(wall[-1], time.time(), "the wall clock after all steps")
        self.assertTrue(any(3000 < b - a < 4000 for a, b in zip(wall, wall[1:])), "an hour forward")
        self.assertTrue(any(b - a < -86400 for a, b in zip(wall, wall[1:])), "a day and an hour back")


def clock_records(capture):
    """(time, offset) of each clock record; the frames are passed over by their lengths."""
    at = 8
    while at + 4 <= len(capture):
        (length,) = struct.unpack_from(">I", capture, at)
        frame = capture[at + 4:at + 4 + length]
        at += 4 + length
        if len(frame) == length and frame[:2] == b"\x95\x40":
            yield struct.unpack(">d", frame[3:11])[0], struct.unpack(">d", frame[12:20])[0]


if __name__ == "__main__":
    main()
