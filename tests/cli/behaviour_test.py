#!/usr/bin/env python3
"""Exit codes, signals, closed pipes, summaries, events and messages of stream-pub and stream-sub."""

import array
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import termios
import time

from harness import ToolTest, main, wait_until

STEADY = ("--signal", "counter", "--format", "int32", "--channels", 2, "--rate", 500)


class Usage(ToolTest):
    def refused(self, tool, *mentioned, code=2):
        self.ends(tool, code)
        for text in mentioned:
            self.assertIn(text, tool.stderr())

    def test_help_and_version(self):
        for name in ("stream-pub", "stream-sub"):
            tool = self.start(name, "--help")
            self.ends(tool)
            for text in ("Examples:", "--config", "--log-level", "Exit codes"):
                self.assertIn(text, tool.stdout().decode())
            tool = self.start(name, "--version")
            self.ends(tool)
            self.assertRegex(tool.stdout().decode(), name + r" \d+\.\d+\.\d+\n")

    def test_bad_command_lines_are_named(self):
        endpoint = "zmq+tcp://127.0.0.1:9"
        self.refused(self.pub("--nmae", "x"), "no such option: --nmae", "did you mean --name?")
        self.refused(self.pub("--rate", "fast"), "--rate", "'fast'")
        self.refused(self.pub("--rate", "-1"), "--rate", "'-1'")
        self.refused(self.pub("--channels", 0), "--channels", "from 1")
        self.refused(self.pub("--channels", 2 ** 40), "--channels")
        self.refused(self.pub("--mode", "snyc"), "async, sync")
        self.refused(self.pub("--format", "float"), "float32")
        self.refused(self.pub("--metadata", "novalue"), "KEY=VALUE")
        self.refused(self.pub("--mode", "sync", "--format", "string"), "sync")
        self.refused(self.pub("--mode", "sync", "--on-full", "wait"), "--on-full")
        self.refused(self.pub("--signal", "sine", "--input", "x"), "--signal")
        self.refused(self.pub("--rate", 100, "--interval", 1), "--interval")
        self.refused(self.pub("--channel-labels", "a,b,c"), "3 labels for 8 channels")
        self.refused(self.pub("--name", ""), "name")
        self.refused(self.pub("--bind", "nonsense"), "nonsense")
        self.refused(self.pub("--bind", "zmq+ipc:///" + "x" * 200), "x" * 50)
        self.refused(self.pub("--bind", "carrier+pigeon://x"), "carrier+pigeon")
        self.refused(self.sub(), "--connect")
        self.refused(self.sub("--connect", "nonsense", "--timeout", 60), "nonsense")
        self.refused(self.sub("--connect", endpoint, "--output-format", "xml"), "csv, jsonl, raw, frames, none")
        self.refused(self.sub("--connect", endpoint, "--connect", endpoint), "--output")
        self.refused(self.sub("--connect", endpoint, "--output", "{nmae}.csv"), "{nmae}")
        self.refused(self.sub("--connect", endpoint, "--output-format", "none", "--sequence"), "--sequence")
        self.refused(self.sub("--connect", endpoint, "--events", "-"), "--events")
        self.refused(self.sub("--connect", endpoint, "--count", "1.5"), "--count")

    def test_configuration_files_are_read_and_checked(self):
        self.refused(self.pub("--config", self.folder / "none.toml"), "none.toml")
        bad = self.file("bad.toml", "[tuning]\nwatchdgo = 3\n")
        self.refused(self.pub("--config", bad), "bad.toml", "watchdgo")
        good = self.file("good.toml", "[log]\nlevel = \"error\"\n")
        pub = self.pub("--config", good, "--count", 1)
        self.ends(pub)
        self.assertNotIn("ready", pub.stderr())
        pub = self.pub("--config", good, "--count", 1, "--log-level", "info")  # a flag stands above the file
        self.ends(pub)
        self.assertIn("ready", pub.stderr())

    def test_files_that_cannot_be_used_are_named(self):
        self.refused(self.pub("--input", self.folder / "none.csv"), "none.csv", code=1)
        bad = self.file("bad.csv", "stamp,x\n1,2\n2,abc\n")
        self.refused(self.pub("--input", bad), "bad.csv, line 3, column 'x'", "'abc'", code=1)
        pub = self.pub(*STEADY)
        sub = self.sub("--connect", pub.endpoint(), "--output", self.folder / "no" / "x.csv")
        self.refused(sub, "no/x.csv", code=1)
        sub = self.sub("--connect", pub.endpoint(), "--output", "/dev/full")
        self.refused(sub, "/dev/full", code=1)

    def test_an_endpoint_in_use(self):
        pub = self.pub(*STEADY)
        self.refused(self.pub("--bind", pub.endpoint()), pub.endpoint().split("//")[1], code=1)


class ExitCodes(ToolTest):
    def test_count_reached(self):
        pub = self.pub(*STEADY)
        sub = self.sub("--connect", pub.endpoint(), "--count", 10)
        self.ends(sub)
        self.assertEqual(sub.stdout().count(b"\n"), 11)

    def test_publisher_ends_before_the_count(self):
        for option in (("--count", 1000), ("--duration", 3600)):
            pub = self.pub(*STEADY, "--count", 20, "--wait-consumers", 1)
            sub = self.sub("--connect", pub.endpoint(), *option)
            self.ends(pub)
            self.ends(sub, 5)

    def test_publisher_ends_and_nothing_was_asked_for(self):
        pub = self.pub(*STEADY, "--count", 20, "--wait-consumers", 1)
        sub = self.sub("--connect", pub.endpoint())
        self.ends(sub)
        self.assertEqual(sub.stdout().count(b"\n"), 21)

    def test_durations(self):
        pub = self.pub(*STEADY, "--duration", 0.5, "--wait-consumers", 1, "--json")
        sub = self.sub("--connect", pub.endpoint(), "--duration", 0.1)
        self.ends(sub)
        self.ends(pub)
        self.assertLessEqual(self.summary(pub)["samples"], 250)
        self.assertEqual(self.summary(pub)["end"], "duration")

    def test_input_ends_before_the_count(self):
        pub = self.pub("--input", self.file("x.csv", "stamp,a\n1,2\n"), "--count", 2)
        self.ends(pub, 5)

    def test_an_input_that_never_comes_ends_with_the_duration(self):
        pub = self.pub("--input", "-", "--input-format", "lines", "--duration", 0.2, stdin=subprocess.PIPE)
        self.ends(pub)

    def test_nobody_there(self):
        for link in self.known_links():
            sub = self.sub("--connect", link, "--timeout", 0.3)
            self.ends(sub, 3)
            self.assertIn(link, sub.stderr())

    def test_too_few_consumers(self):
        pub = self.pub(*STEADY, "--wait-consumers", 2, "--wait-timeout", 0.2)
        self.ends(pub, 3)
        self.assertIn("0 of 2 consumers", pub.stderr())

    def test_idle_streams_are_left(self):
        pub = self.pub("--input", "-", "--input-format", "lines", stdin=subprocess.PIPE)
        self.ends(self.sub("--connect", pub.endpoint(), "--idle-timeout", 0.2))
        self.ends(self.sub("--connect", pub.endpoint(), "--idle-timeout", 0.2, "--count", 5), 5)

    def test_lost_samples_with_strict(self):
        for link in self.links():
            pub = self.pub("--signal", "counter", "--format", "float64", "--channels", 16, "--rate", 100_000,
                           "--unpaced", "--chunk", 1000, "--buffer", "2MiB", "--wait-consumers", 1, "--bind", link)
            slow = self.sub("--connect", pub.endpoint(), "--output-format", "none", "--strict", "--summary", "json")
            slow.wait_event("ready")
            slow.send(signal.SIGSTOP)
            wait_until(lambda: any(e["dropped"] > 0 for e in pub.events("status")), "a loss of the stopped subscriber")
            slow.send(signal.SIGCONT)
            slow.wait_event("gap")
            slow.send(signal.SIGINT)
            self.ends(slow, 4)
            pub.send(signal.SIGINT)
            self.ends(pub)
            summary = self.summary(slow)
            self.assertEqual(summary["gaps"][0], {k: slow.events("gap")[0][k] for k in ("first_seq", "count")})
            self.assertGreaterEqual(summary["dropped"], sum(g["count"] for g in summary["gaps"]))


class Signals(ToolTest):
    def test_both_tools_end_with_a_summary(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            pub = self.pub(*STEADY, "--json")
            path = self.folder / f"{number}.csv"
            sub = self.sub("--connect", pub.endpoint(), "--output", path, "--summary", "json")
            wait_until(lambda: path.exists() and path.stat().st_size > 100, "samples")
            sub.send(number)
            self.ends(sub)
            pub.send(number)
            self.ends(pub)
            self.assertEqual(self.summary(sub)["end"], "signal")
            self.assertGreater(self.summary(sub)["samples"], 0)
            self.assertEqual(self.summary(pub)["end"], "signal")
            self.assertEqual(self.summary(pub)["consumers"], 1)

    def test_while_nobody_is_there(self):
        for link in self.known_links():
            sub = self.sub("--connect", link, "--timeout", 3600)
            wait_until(lambda: sub.events_path.exists(), "stream-sub to be at work")
            sub.send(signal.SIGINT)
            self.ends(sub)
        pub = self.pub(*STEADY, "--wait-consumers", 1)
        pub.endpoint()
        pub.send(signal.SIGTERM)
        self.ends(pub)

    def test_while_the_input_is_silent(self):
        pub = self.pub("--input", "-", "--input-format", "csv", stdin=subprocess.PIPE)
        pub.process.stdin.write(b"stamp,a\n1,2\n3,\"4")
        pub.process.stdin.flush()
        pub.endpoint()
        pub.send(signal.SIGINT)
        self.ends(pub)

    def test_while_a_push_waits_for_a_stopped_consumer(self):
        for mode in ("async", "sync"):
            for link in self.links():
                options = ("--on-full", "wait", "--buffer", "1MiB") if mode == "async" else ()
                pub = self.pub("--format", "float64", "--channels", 64, "--rate", 100_000, "--unpaced", "--chunk", 1000,
                               "--bind", link, "--mode", mode, "--send-timeout", 0, "--wait-consumers", 1, "--json",
                               *options)
                sub = self.sub("--connect", pub.endpoint(), "--output-format", "none")
                sub.wait_event("ready")
                sub.send(signal.SIGSTOP)
                self.wait_until_stuck(pub)
                pub.send(signal.SIGTERM)
                self.ends(pub)
                self.assertEqual(self.summary(pub)["consumers"], 1)
                self.assertEqual(len(pub.events("consumer_left") + pub.events("consumer_kicked")), 1)
                if mode == "async":
                    self.assertGreater(self.summary(pub)["dropped"], 0)

    def wait_until_stuck(self, pub):
        """Two status events with the same number of samples."""

        def stuck():
            counts = [e["samples"] for e in pub.events("status")]
            return len(counts) > 1 and counts[-1] == counts[-2]

        wait_until(stuck, f"a push to wait in {pub.describe()}")

    def test_while_nobody_reads_the_output(self):
        pub = self.pub("--channels", 64, "--rate", 10_000)
        sub = self.sub("--connect", pub.endpoint(), stdout=subprocess.PIPE)
        unread = array.array("i", [0])
        seen = {}

        def full():
            """The publisher went on for a second and the pipe holds no more than before."""
            fcntl.ioctl(sub.process.stdout, termios.FIONREAD, unread)
            seconds = len(pub.events("status"))
            return seen.setdefault(seconds, unread[0]) == seen.get(seconds - 1, 0) > 0

        wait_until(full, "the pipe to fill")
        sub.send(signal.SIGTERM)
        self.ends(sub)

    def test_as_the_first_process_of_a_container(self):
        probe = subprocess.run(["unshare", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL, check=False)
        if probe.returncode != 0:
            self.skipTest("no right to make a pid namespace")
        for name, arguments in (("stream-pub", STEADY), ("stream-sub", ("--connect", self.known_links()[1],
                                                                        "--timeout", 3600))):
            tool = self.start(name, *arguments, prefix=("unshare", "--pid", "--fork", "--kill-child"))
            wait_until(lambda: tool.events_path.exists(), f"{name} to be at work")
            children = pathlib.Path(f"/proc/{tool.process.pid}/task/{tool.process.pid}/children")
            os.kill(int(wait_until(children.read_text, "the inner process")), signal.SIGTERM)
            self.ends(tool)


class ClosedOutput(ToolTest):
    def test_a_reader_that_took_one_line(self):
        pub = self.pub(*STEADY)
        for output_format in ("csv", "jsonl"):
            sub = self.sub("--connect", pub.endpoint(), "--output-format", output_format, stdout=subprocess.PIPE)
            self.assertTrue(sub.process.stdout.readline())
            sub.process.stdout.close()
            self.ends(sub)
            self.assertNotIn("cannot", sub.stderr())

    def test_a_reader_that_leaves_an_idle_stream(self):
        pub = self.pub("--input", "-", "--input-format", "lines", stdin=subprocess.PIPE)
        sub = self.sub("--connect", pub.endpoint(), stdout=subprocess.PIPE)
        sub.wait_event("ready")
        sub.process.stdout.close()
        self.ends(sub)

    def test_a_publisher_whose_output_is_closed(self):
        read, write = os.pipe()
        os.close(read)
        pub = self.pub(*STEADY, "--count", 5, stdout=write)
        os.close(write)
        self.ends(pub)


class Reports(ToolTest):
    def test_the_summary_of_a_subscriber(self):
        pub = self.pub(*STEADY, "--name", "Sum", "--source-id", "src", "--count", 100, "--wait-consumers", 1)
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "none", "--summary", "json")
        self.ends(sub)
        summary = self.summary(sub)
        expected = {"name": "Sum", "source_id": "src", "link": pub.endpoint(), "samples": 100, "seq_first": 0,
                    "seq_last": 99, "dropped": 0, "dropped_pct": 0, "repeated": 0, "gaps": [], "segments": 1,
                    "recoveries": 0, "end": "ended", "uid": pub.wait_event("ready")["uid"]}
        self.assertEqual({key: summary[key] for key in expected}, expected)
        self.assertEqual(set(summary["age_ms"]), {"mean", "p50", "p99", "max", "max_at_seq"})
        self.assertEqual(set(summary["age_hist"]), {"le_0_5", "le_1", "le_5", "le_10", "gt_10"})
        self.assertLessEqual(abs(summary["clock"]["offset_s"]), summary["clock"]["uncertainty_s"])
        self.assertEqual(set(summary["clock"]), {"offset_s", "uncertainty_s", "rtt_s"})
        self.assertGreater(summary["age_ms"]["p50"], 0)
        self.assertLessEqual(summary["age_ms"]["p50"], summary["age_ms"]["max"])
        self.assertGreater(summary["rate_hz"], 0)
        self.assertEqual(sub.events("summary")[0]["samples"], 100)

    def test_how_stamps_are_processed_is_for_formats_that_show_it(self):
        for arguments in (("--clocksync", "--output-format", "none"), ("--dejitter", "--output-format", "frames"),
                          ("--monotonize", "--output-format", "raw"), ("--stamps", "unix", "--output-format", "none"),
                          ("--stamps", "local", "--clocksync"), ("--stamps", "wall")):
            self.ends(self.sub("--connect", "posix+tcp://127.0.0.1:1", *arguments), 2)

    def test_the_text_summary_goes_where_no_samples_are(self):
        pub = self.pub(*STEADY, "--name", "Sum")
        sub = self.sub("--connect", pub.endpoint(), "--count", 10)
        self.ends(sub)
        self.assertIn("10 samples", sub.stderr())
        self.assertNotIn(b"samples", sub.stdout())
        sub = self.sub("--connect", pub.endpoint(), "--count", 10, "--output", self.folder / "x.csv")
        self.ends(sub)
        self.assertIn(b"10 samples", sub.stdout())

    def test_events_of_a_publisher(self):
        pub = self.pub(*STEADY, "--name", "Ev", "--type", "T")
        ready = pub.wait_event("ready")
        self.assertEqual((ready["name"], ready["type"], ready["channels"], ready["format"], ready["rate_hz"]),
                         ("Ev", "T", 2, "int32", 500))
        self.assertRegex(ready["uid"], "^[0-9a-f]{32}$")
        sub = self.sub("--connect", pub.endpoint(), "--count", 10)
        joined = pub.wait_event("consumer_joined")
        self.ends(sub)
        left = pub.wait_event("consumer_left")
        self.assertEqual(joined["id"], left["id"])
        self.assertEqual(joined["link"], pub.endpoint())
        status = pub.wait_event("status")
        self.assertGreater(status["samples"], 0)
        pub.send(signal.SIGTERM)
        self.ends(pub)
        self.assertEqual(pub.events()[-1]["event"], "summary")

    def test_a_stalled_consumer_is_kicked_in_sync_mode(self):
        pub = self.pub("--format", "float64", "--channels", 64, "--rate", 100_000, "--unpaced", "--chunk", 1000,
                       "--mode", "sync", "--send-timeout", 0.3, "--wait-consumers", 1, "--json")
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "none")
        sub.wait_event("ready")
        sub.send(signal.SIGSTOP)
        kicked = pub.wait_event("consumer_kicked")
        self.assertEqual(kicked["id"], pub.wait_event("consumer_joined")["id"])
        pub.send(signal.SIGTERM)
        self.ends(pub)
        self.assertGreaterEqual(self.summary(pub)["kicked"], 1)

    def test_history_comes_first(self):
        pub = self.pub(*STEADY)
        wait_until(lambda: pub.events("status"), "a second of samples")
        sub = self.sub("--connect", pub.endpoint(), "--history", "all", "--count", 300, "--sequence")
        self.ends(sub)
        first = sub.stdout().splitlines()[1].split(b",")
        self.assertEqual(first[1:], [b"0", b"0", b"0"])

    def test_stamps_of_arrival_are_on_this_clock(self):
        content = "stamp,a\n1000000000,1\n1000000001,2\n"
        pub = self.pub("--input", self.file("x.csv", content), "--wait-consumers", 1)
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        sub = self.sub("--connect", pub.endpoint(), "--stamps", "local")
        self.ends(sub)
        after = time.clock_gettime(time.CLOCK_MONOTONIC)
        stamps = [float(line.split(b",")[0]) for line in sub.stdout().splitlines()[1:]]
        self.assertEqual(len(stamps), 2)
        for stamp in stamps:
            self.assertTrue(before <= stamp <= after)

    def test_latest_skips_what_nobody_took(self):
        pub = self.pub("--signal", "counter", "--format", "int64", "--channels", 1, "--rate", 1000)
        sub = self.sub("--connect", pub.endpoint(), "--when-full", "latest", "--count", 20, "--sequence")
        self.ends(sub)
        values = [int(line.split(b",")[2]) for line in sub.stdout().splitlines()[1:]]
        self.assertEqual(values, sorted(set(values)))

    def test_busy_polling_receives_the_same(self):
        pub = self.pub(*STEADY, "--count", 200, "--wait-consumers", 1)
        sub = self.sub("--connect", pub.endpoint(), "--busy-poll", "--strict")
        self.ends(sub)
        self.assertEqual(sub.stdout().count(b"\n"), 201)

    def test_json_logs_are_json(self):
        config = self.file("log.toml", "[log]\nformat = \"json\"\n")
        pub = self.pub("--config", config, "--count", 1)
        self.ends(pub)
        entries = [json.loads(line) for line in pub.stderr().splitlines()]
        self.assertIn("ready", [entry["event"] for entry in entries])


if __name__ == "__main__":
    main()
