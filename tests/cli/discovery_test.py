"""stream-ls, and stream-sub with streams that are searched."""

import json
import os
import pathlib
import signal
import time

from harness import ToolTest, main, wait_until


class Discovery(ToolTest):
    """Each test has a lab of its own, so that it sees no stream of another."""

    def setUp(self):
        super().setUp()
        self.lab = ("--session", f"cli-{os.getpid()}-{self.id().rsplit('.')[-1]}"[:64])

    def publish(self, name, *arguments):
        tool = self.pub("--name", name, "--rate", "100", "--bind", "posix+tcp://127.0.0.1:*", *self.lab, *arguments)
        tool.wait_event("ready")
        return tool

    def ls(self, *arguments):
        return self.start("stream-ls", *self.lab, *arguments)

    def listed(self, *arguments, code=0):
        tool = self.ls("--json", *arguments)
        self.ends(tool, code)
        return [json.loads(line) for line in tool.stdout().splitlines()]

    # --- stream-ls

    def test_a_table_for_people(self):
        self.publish("EEG", "--type", "EEG", "--source-id", "amp-17", "--channels", "3")
        tool = self.ls("--minimum", "1", "--timeout", "60")
        self.ends(tool)
        head, line = tool.stdout().decode().splitlines()
        self.assertEqual(head.split(), ["NAME", "TYPE", "CHANNELS", "RATE", "SOURCE", "ID", "HOST", "ENDPOINT"])
        for text in ("EEG", "3 x float32", "100 Hz", "amp-17", "posix+tcp://127.0.0.1:"):
            self.assertIn(text, line)

    def test_json_for_programs(self):
        pub = self.publish("EEG", "--type", "T", "--source-id", "amp's \"17\"", "--format", "int16")
        (stream,) = self.listed("--minimum", "1", "--timeout", "60")
        ready = pub.wait_event("ready")
        self.assertEqual(stream["uid"], ready["uid"])
        self.assertEqual(stream["endpoints"], ready["endpoints"])
        self.assertEqual((stream["name"], stream["type"], stream["source_id"], stream["format"], stream["rate_hz"],
                          stream["channels"], stream["session"]),
                         ("EEG", "T", "amp's \"17\"", "int16", 100, 8, self.lab[1]))

    def test_selectors(self):
        for name, kind in (("EEG-1", "EEG"), ("EEG-2", "EEG"), ("keys", "Markers")):
            self.publish(name, "--type", kind, "--source-id", f"source of {name}")

        def names(*arguments, count):
            return sorted(s["name"] for s in self.listed(*arguments, "--minimum", str(count), "--timeout", "60"))

        self.assertEqual(names(count=3), ["EEG-1", "EEG-2", "keys"])
        self.assertEqual(names("--name", "EEG*", count=2), ["EEG-1", "EEG-2"])
        self.assertEqual(names("--name", "EEG-1", "--name", "keys", count=2), ["EEG-1", "keys"])
        self.assertEqual(names("--type", "Markers", count=1), ["keys"])
        self.assertEqual(names("--name", "*-?", "--source-id", "*2", count=1), ["EEG-2"])
        uid = self.listed("--name", "keys", "--minimum", "1", "--timeout", "60")[0]["uid"]
        self.assertEqual(names("--uid", uid, count=1), ["keys"])

    def test_all_are_listed_without_waiting_for_the_timeout(self):
        for number in range(4):
            self.publish(f"s{number}")
        began = time.monotonic()
        self.assertEqual(len(self.listed("--timeout", "600")), 4)
        self.assertLess(time.monotonic() - began, 300)

    def test_nothing_found_is_exit_code_3(self):
        tool = self.ls("--timeout", "0.3")
        self.ends(tool, 3)
        self.assertIn("found 0 of 1 stream within", tool.stderr())
        self.publish("there")
        tool = self.ls("--name", "EEG", "--timeout", "1")
        self.ends(tool, 3)
        self.assertIn("with name EEG", tool.stderr())
        self.assertIn("others there: there", tool.stderr())

    def test_a_health_check_is_quiet(self):
        tool = self.ls("--minimum", "1", "--quiet", "--timeout", "0.3")
        self.ends(tool, 3)
        self.assertEqual((tool.stdout(), tool.stderr()), (b"", ""))
        self.publish("EEG")
        tool = self.ls("--minimum", "1", "--quiet", "--timeout", "60")
        self.ends(tool)
        self.assertEqual((tool.stdout(), tool.stderr()), (b"", ""))
        self.ends(self.ls("--minimum", "2", "--quiet", "--timeout", "1"), 3)

    def test_signals_end_a_search_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            tool = self.ls("--minimum", "1", "--timeout", "0")
            wait_until(lambda: tool.process.poll() is None and self.searches(tool), "the search to begin")
            tool.send(number)
            self.ends(tool)

    @staticmethod
    def searches(tool):
        """Its signals are handled, so that it is beyond its start."""
        for line in pathlib.Path(f"/proc/{tool.process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:") or line.startswith("SigBlk:"):
                if int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
                    return True
        return False

    def test_watching_shows_what_comes_and_goes(self):
        tool = self.ls("--watch", "--json")

        def events():
            return [(e["event"], e["name"]) for e in map(json.loads, tool.stdout().splitlines())]

        pub = self.publish("EEG")
        wait_until(lambda: ("appeared", "EEG") in events(), "the stream")
        pub.send(signal.SIGINT)
        self.ends(pub)
        wait_until(lambda: ("disappeared", "EEG") in events(), "its end")
        tool.send(signal.SIGINT)
        self.ends(tool)

    def test_contradictions_are_usage_errors(self):
        for arguments in (("--quiet", "--json"), ("--quiet", "--watch"), ("--quiet", "--stats"),
                          ("--minimum", "0"), ("--nmae", "x"), ("--known-peer", "a:b:c"), ("--session", "")):
            self.ends(self.start("stream-ls", *arguments), 2)

    def test_metadata_that_beacons_have_no_room_for(self):
        self.publish("EEG", "--channels", "2", "--channel-labels", "Fp1,Fp2", "--unit", "microvolts", "--metadata",
                     "amplifier.model=X-\x1b-17")
        asked = ("--metadata", "--minimum", "1", "--timeout", "60")
        (stream,) = self.listed(*asked)
        tree = {node["name"]: node for node in stream["metadata"]["children"]}
        self.assertEqual(stream["metadata"]["name"], "desc")
        self.assertEqual(tree["amplifier"]["children"][0], {"name": "model", "value": "X-\x1b-17"})
        labels = [node["value"] for channel in tree["channels"]["children"] for node in channel["children"]
                  if node["name"] == "label"]
        self.assertEqual(labels, ["Fp1", "Fp2"])
        tool = self.ls(*asked)
        self.ends(tool)
        text = tool.stdout().decode()
        self.assertIn("\n      label: Fp2\n", text)
        self.assertIn("\n    model: X-?-17\n", text)
        (plain,) = self.listed("--minimum", "1", "--timeout", "60")
        self.assertNotIn("metadata", plain)

    def test_statistics(self):
        self.publish("EEG", "--signal", "counter", "--channels", "1")
        sub = self.sub("--name", "EEG", "--output-format", "none", "--timeout", "60", *self.lab)
        sub.wait_event("ready")
        asked = ("--stats", "--minimum", "1", "--timeout", "60")

        def look():
            (stream,) = self.listed(*asked)
            return stream["stats"] if stream["stats"] and stream["stats"]["sent"] > 0 else None

        stats = wait_until(look, "samples that were sent")
        self.assertGreaterEqual(stats["pushed"], stats["sent"])
        self.assertEqual((stats["consumers"], len(stats["current"]), stats["dropped"], stats["kicked"]), (1, 1, 0, 0))
        self.assertIn("stream-sub", stats["current"][0]["name"])
        tool = self.ls(*asked)
        self.ends(tool)
        text = tool.stdout().decode()
        self.assertIn("1 now, 1 ever", text)
        self.assertIn(stats["current"][0]["name"], text)

    def test_watching_with_details(self):
        self.publish("EEG")
        watch = self.ls("--watch", "--json", "--stats", "--metadata")
        (line,) = wait_until(lambda: watch.stdout().splitlines(), "the stream")
        stream = json.loads(line)
        self.assertEqual((stream["event"], stream["stats"]["consumers"]), ("appeared", 0))
        self.assertEqual(stream["metadata"]["name"], "desc")
        watch.send(signal.SIGINT)
        self.ends(watch)

    # --- stream-sub

    def test_a_stream_by_name(self):
        pub = self.publish("EEG", "--signal", "counter", "--channels", "1")
        sub = self.sub("--name", "E?G", "--count", "10", "--timeout", "60", *self.lab)
        self.ends(sub)
        self.assertEqual(len(sub.stdout().splitlines()), 11)
        self.assertEqual(sub.wait_event("ready")["link"], pub.endpoint())

    def test_either_may_start_first(self):
        sub = self.sub("--source-id", "amp-17", "--count", "10", "--output-format", "none", "--timeout", "0", *self.lab)
        self.publish("EEG", "--source-id", "amp-17")
        self.ends(sub)

    def test_several_streams_at_once(self):
        for number in range(3):
            self.publish(f"s{number}", "--signal", "counter")
        sub = self.sub("--name", "s*", "--minimum", "3", "--count", "20", "--timeout", "60", "--output",
                       f"{self.folder}/{{name}}.csv", *self.lab)
        self.ends(sub)
        for number in range(3):
            self.assertEqual(len((self.folder / f"s{number}.csv").read_bytes().splitlines()), 21)

    def test_nothing_found_in_time(self):
        sub = self.sub("--name", "nobody", "--timeout", "0.3", *self.lab)
        self.ends(sub, 3)
        self.assertIn("found 0 of 1 stream with name nobody", sub.stderr())

    def test_a_signal_ends_the_search_at_once(self):
        sub = self.sub("--name", "nobody", "--timeout", "0", *self.lab)
        wait_until(lambda: self.searches(sub), "the search to begin")
        sub.send(signal.SIGINT)
        self.ends(sub)

    def test_a_restarted_stream_is_found_on_its_new_port(self):
        first = self.publish("EEG", "--source-id", "amp-17")
        sub = self.sub("--name", "EEG", "--on-end", "wait", "--output-format", "none", "--timeout", "60", *self.lab)
        sub.wait_event("ready")
        first.send(signal.SIGTERM)
        self.ends(first)
        second = self.publish("other name", "--source-id", "amp-17")
        segment = sub.wait_event("segment")
        self.assertEqual(segment["uid"], second.wait_event("ready")["uid"])
        self.assertEqual(segment["link"], second.endpoint())
        sub.send(signal.SIGINT)
        self.ends(sub)

    def test_which_stream_is_asked(self):
        sub = self.sub()
        self.ends(sub, 2)
        self.assertIn("--name", sub.stderr())
        self.ends(self.sub("--connect", "posix+tcp://127.0.0.1:1", "--minimum", "2"), 2)


if __name__ == "__main__":
    main()
