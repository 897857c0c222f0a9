#!/usr/bin/env python3
"""stream-bench: what it prints, its exit codes, and that nothing is lost where nothing may be. Never its timings."""

import csv
import io
import json
import os
import pathlib
import signal

from harness import ToolTest, main, wait_until

LOSSLESS = {"async-wait", "sync", "plain", "plain-batched", "libzmq-copied", "libzmq-zero-copy", "libzmq-released"}
SHORT = ("--quick", "--duration", 0.02)


class Bench(ToolTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "t"
        self.temporary.mkdir()
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self.temporary)
        self.addCleanup(lambda: os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before))

    def bench(self, *arguments):
        return self.start("stream-bench", *arguments)

    def rows(self, *arguments):
        tool = self.bench(*arguments, *SHORT, "--json")
        self.ends(tool)
        self.assertEqual(list(self.temporary.iterdir()), [], "left something behind")
        result = json.loads(tool.stdout())
        self.assertEqual(result["program"], "stream-bench")
        self.assertEqual(result["subcommand"], arguments[0])
        for key in ("cpu", "cores", "kernel", "version", "commit", "build", "libzmq", "time"):
            self.assertTrue(result["machine"][key], key)
        self.assertTrue(result["rows"])
        for row in result["rows"]:
            for name, values in row["metrics"].items():
                self.assertEqual(len(values["runs"]), 1, name)
                self.assertLessEqual(values["min"], values["median"], name)
                self.assertLessEqual(values["median"], values["max"], name)
        return result["rows"]

    def median(self, row, name):
        return row["metrics"][name]["median"]

    def check_transfers(self, rows, ratio):
        """Every chunk arrives, and ours are compared."""
        for row in rows:
            if row["how"] in LOSSLESS:
                self.assertGreater(self.median(row, "delivered"), 0, row["id"])
                self.assertEqual(self.median(row, "delivered"), self.median(row, "samples"), row["id"])
                self.assertEqual(self.median(row, "lost"), 0, row["id"])
                self.assertEqual(self.median(row, "lost_seen"), 0, row["id"])
            if row["how"] in ("async", "async-wait", "sync"):
                self.assertIn(ratio, row["metrics"], row["id"])

    def test_raw_compares_plain_loops_with_memcpy(self):
        rows = self.rows("raw", "--sizes", "4,4000", "--consumers", 2)
        self.check_transfers(rows, "rate_ratio")
        self.assertEqual({row["how"] for row in rows}, LOSSLESS - {"async-wait", "sync"} | {"memcpy"})
        for row in rows:
            self.assertEqual("rate_ratio" in row["metrics"], row["how"] != "memcpy", row["id"])

    def test_matrix_covers_links_modes_and_counts(self):
        rows = self.rows("matrix", "--channels", 10, "--chunks", "1,30", "--consumers", 2)
        self.check_transfers(rows, "cpu_ratio")
        ours = {(row["link"], row["how"], row["chunk"]) for row in rows if row["how"] in ("sync", "async")}
        self.assertEqual(len(ours), 4 * 2 * 2)
        for row in rows:
            if "sender_calls" in row["metrics"] and row["how"] in ("sync", "async"):
                if "posix" in row["link"]:  # as a plain loop: one for a chunk and consumer
                    self.assertLess(self.median(row, "calls_ratio"), 2, row["id"])
                self.assertAlmostEqual(self.median(row, "sender_calls_per_mb") * int(row["chunk"]) * 40e-6,
                                       self.median(row, "sender_calls"), delta=0.01)
            if row["how"] == "plain" and "sender_calls" in row["metrics"]:  # two writev a chunk, one for each consumer
                self.assertAlmostEqual(self.median(row, "sender_calls"), 2, delta=0.5)

    def test_paced_matrix_subtracts_pacing(self):
        rows = self.rows("matrix", "--channels", 4, "--rates", 1000, "--chunks", 10, "--links", "posix+unix")
        self.check_transfers(rows, "receiver_cpu_ratio")
        self.assertEqual([row["how"] for row in rows], ["nothing", "plain", "sync", "async"])
        for row in rows:
            self.assertLessEqual(self.median(row, "sender_net_cpu_us"), self.median(row, "sender_cpu_us"))

    def test_latency_of_several_streams(self):
        rows = self.rows("latency", "--streams", 3, "--modes", "async,sync,async-spin")
        self.check_transfers(rows, "p50_ratio")
        for row in rows:
            self.assertLessEqual(self.median(row, "latency_min_us"), self.median(row, "latency_p50_us"), row["id"])
            self.assertLessEqual(self.median(row, "latency_p50_us"), self.median(row, "latency_max_us"), row["id"])

    def test_throughput_loses_nothing_unless_it_may(self):
        rows = self.rows("throughput", "--sizes", "4,4000,40000", "--consumers", "1,3", "--format", "int16",
                         "--stamps", "given")
        self.check_transfers(rows, "rate_ratio")
        for row in rows:
            if row["how"] == "async":
                samples = self.median(row, "samples") * int(row["consumers"])
                self.assertEqual(self.median(row, "delivered") * int(row["consumers"]) + self.median(row, "lost"), samples)

    def test_throughput_without_consumers(self):
        for row in self.rows("throughput", "--consumers", 0, "--sizes", 4):
            self.assertGreater(self.median(row, "pushed_per_s"), 0)
            self.assertNotIn("per_s", row["metrics"])

    def test_capacity_finds_a_number_of_channels(self):
        rows = self.rows("capacity", "--links", "posix+unix,zmq+ipc")
        self.assertEqual([(row["link"], row["how"]) for row in rows],
                         [("posix+unix", "plain"), ("posix+unix", "sync"), ("posix+unix", "async"),
                          ("zmq+ipc", "libzmq-released"), ("zmq+ipc", "sync"), ("zmq+ipc", "libzmq-zero-copy"),
                          ("zmq+ipc", "async")])
        for row in rows:
            self.assertGreater(self.median(row, "channels"), 0, row["id"])
            self.assertEqual(self.median(row, "lost"), 0, row["id"])
            self.assertEqual("channels_ratio" in row["metrics"], row["how"] in ("sync", "async"), row["id"])

    def test_loop_has_all_phases_and_they_sum_up(self):
        rows = self.rows("loop", "--rates", 0, "--modes", "async,sync,async-spin")
        self.assertEqual({row["link"] for row in rows}, {"posix+tcp", "posix+unix", "zmq+tcp", "zmq+ipc"})
        for row in rows:
            self.assertGreater(self.median(row, "rounds"), 0, row["id"])
            self.assertEqual(self.median(row, "lost"), 0, row["id"])
            phases = ("make", "deliver", "decode", "process", "encode", "back", "handle")
            total = sum(self.median(row, f"{phase}_mean_us") for phase in phases)
            self.assertAlmostEqual(total / self.median(row, "total_mean_us"), 1, delta=0.01, msg=row["id"])
            self.assertGreater(self.median(row, "trip_ratio"), 1, row["id"])
            self.assertEqual("total_ratio" in row["metrics"], row["how"] != "plain" and "posix" in row["link"], row["id"])

    def test_queue_passes_all_items(self):
        rows = self.rows("queue")
        self.assertIn("sample-log", {row["queue"] for row in rows})
        for row in rows:
            self.assertEqual(self.median(row, "lost"), 0, row["id"])

    def test_encoding_is_compact(self):
        for row in self.rows("encoding"):
            if row["codec"] == "rivulet":
                payload = int(row["channels"]) * int(row["samples"]) * 4
                self.assertLess(self.median(row, "bytes"), payload + 64)
                self.assertIn("decode_ratio", row["metrics"])

    def test_scale_opens_all_streams(self):
        rows = self.rows("scale", "--streams", "1,30")
        self.assertEqual({(row["link"], row["streams"]) for row in rows},
                         {(link, n) for link in ("posix+tcp", "posix+unix", "zmq+tcp", "zmq+ipc") for n in ("1", "30")})
        for row in rows:
            for side in ("outlets", "inlets"):
                self.assertGreater(self.median(row, side + "_threads"), 0, row["id"])
                self.assertLess(self.median(row, side + "_threads"), 20, row["id"])
            self.assertGreater(self.median(row, "resolve_all_ms"), 0, row["id"])
            self.assertGreaterEqual(self.median(row, "beacon_bytes_per_s"), 0, row["id"])

    def test_report_has_a_section_and_files_of_each_subcommand(self):
        folder = self.folder / "report"
        self.ends(self.bench("report", "--folder", folder, "--links", "posix+unix", *SHORT))
        text = (folder / "report.md").read_text()
        for name in ("raw", "matrix", "latency", "throughput", "capacity", "loop", "queue", "encoding", "scale"):
            self.assertIn(f"\n## {name}\n", text)
            self.assertEqual(json.loads((folder / f"{name}.json").read_text())["subcommand"], name)
            self.assertTrue((folder / f"{name}.csv").read_text().count("\n") > 1)
        self.assertTrue((folder / "throughput-mb_per_s.svg").exists() or "gnuplot-nox" in text)

    def test_table_and_csv(self):
        what = ("throughput", "--links", "posix+unix", "--modes", "sync", "--sizes", 400, *SHORT, "--runs", 2)
        tool = self.bench(*what)
        self.ends(tool)
        lines = tool.stdout().decode().splitlines()
        self.assertRegex(lines[0], r"rivulet \d+\.\d+\.\d+ .*libzmq \d")
        self.assertIn("samples/s", lines[1])
        self.assertRegex(lines[4], r"^posix\+unix +sync .*\.\..*")  # with the runs' spread
        tool = self.bench(*what, "--csv")
        self.ends(tool)
        table = list(csv.DictReader(io.StringIO(tool.stdout().decode())))
        self.assertEqual([row["how"] for row in table], ["plain-batched", "plain", "sync"])
        self.assertGreater(float(table[2]["rate_ratio_max"]), 0)
        self.assertEqual(table[0]["rate_ratio"], "")

    def test_requirements_set_the_exit_code(self):
        what = ("encoding", *SHORT)
        self.ends(self.bench(*what, "--require", "*/1000/30:bytes_ratio<=1.5", "--require", "bytes_ratio>=0.1"))
        tool = self.bench(*what, "--require", "rivulet/*:bytes_ratio<=0.001")
        self.ends(tool, 1)
        self.assertIn("rivulet/8/1: bytes_ratio is", tool.stderr())
        tool = self.bench(*what, "--require", "nobody/*:bytes_ratio<=2")
        self.ends(tool, 1)
        self.assertIn("no row", tool.stderr())

    def test_bad_command_lines_are_named(self):
        for arguments, mentioned in [
            ((), "subcommand"),
            (("matrix", "--links", "posix+tcp,pigeon"), "'pigeon'"),
            (("matrix", "--chunks", "1,x"), "'x'"),
            (("latency", "--modes", "fast"), "async-spin"),
            (("latency", "--rates", 0), "--rates"),
            (("capacity", "--consumers", 0), "--consumers"),
            (("matrix", "--require", "encode_ns<=5"), "RATIO"),
            (("matrix", "--require", "cpu_ratio=5"), "RATIO"),
            (("matrix", "--runs", 0), "--runs"),
            (("raw", "--json", "--csv"), "--csv"),
            (("raw", "--nmae", "x"), "--nmae"),
        ]:
            tool = self.bench(*arguments)
            self.ends(tool, 2)
            self.assertIn(mentioned, tool.stderr())

    def test_help_names_all_subcommands(self):
        tool = self.start("stream-bench", "--help")
        self.ends(tool)
        for text in ("raw", "matrix", "latency", "throughput", "capacity", "loop", "queue", "encoding", "scale", "report", "--require", "Examples:"):
            self.assertIn(text, tool.stdout().decode())

    def test_a_signal_ends_it_with_its_workers(self):
        tool = self.bench("throughput", "--duration", 600, "--links", "posix+tcp", "--modes", "sync")
        children = pathlib.Path(f"/proc/{tool.process.pid}/task/{tool.process.pid}/children")
        workers = wait_until(lambda: len(pids := children.read_text().split()) == 2 and pids, "two workers")
        tool.send(signal.SIGTERM)
        self.ends(tool, 5)
        for pid in workers:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    main()
