#!/usr/bin/env python3
"""stream-relay: every pair of links, loss that stays visible, loops refused, publishers that come, go and come back."""

import itertools
import json
import os
import signal
import uuid

from harness import LIMIT, ToolTest, main, wait_until


class Relay(ToolTest):
    def setUp(self):
        super().setUp()
        # Tests run side by side on one machine: a session each keeps them apart.
        self.session = f"relay-{uuid.uuid4().hex[:12]}"

    def relay(self, *arguments, **how):
        relay = self.start("stream-relay", "--session", self.session, *arguments, **how)
        relay.wait_event("started")
        return relay

    def publish(self, *arguments):
        pub = self.pub("--session", self.session, "--signal", "counter", "--format", "int64", "--channels", 2,
                       *arguments)
        pub.wait_event("ready")
        return pub

    def subscribe(self, *arguments):
        return self.sub("--session", self.session, "--timeout", LIMIT, "--summary", "json", *arguments)

    def rows(self, path):
        """Sequence number, stamp and values of each sample."""
        header, *rows = [line.split(",") for line in path.read_text().splitlines()]
        sequence, stamp = header.index("sequence"), header.index("stamp")
        return [(int(row[sequence]), row[stamp], row[2:]) for row in rows]

    def relayed(self, source, target, *relay_options):
        """A stream that is taken at both ends: what came out of the outlet, and what came through the relay."""
        pub = self.publish("--bind", source, "--rate", 1000, "--wait-consumers", 2, "--count", 500, "--on-full", "wait",
                           "--metadata", "amplifier.serial=17", "--channel-labels", "left,right", "--linger", 30)
        relay = self.relay("--connect", pub.endpoint(), "--bind", target, "--on-end", "exit", *relay_options)
        out = relay.wait_event("ready")
        far = self.subscribe("--connect", out["endpoints"][0], "--output", self.folder / "far.csv", "--strict",
                             "--sequence")
        far.wait_event("ready")
        near = self.subscribe("--connect", pub.endpoint(), "--output", self.folder / "near.csv", "--strict",
                              "--sequence")
        for tool in (pub, near, far, relay):
            self.ends(tool)
        return pub, relay, near, far

    def test_every_pair_of_links_keeps_numbers_stamps_and_labels(self):
        for number, (a, b) in enumerate(itertools.product(range(4), repeat=2)):
            with self.subTest(source=a, target=b):
                pub, relay, _, far = self.relayed(self.links()[a], self.links()[b])
                near_rows, far_rows = self.rows(self.folder / "near.csv"), self.rows(self.folder / "far.csv")
                self.assertEqual(len(far_rows), 500)
                self.assertEqual(near_rows, far_rows, "bit for bit")
                ready = far.wait_event("ready")
                self.assertEqual((ready["origin"], ready["relays"]), (pub.wait_event("ready")["uid"], 1))
                self.assertIn("left", (self.folder / "far.csv").read_text().splitlines()[0])
                summary = relay.wait_event("summary")
                self.assertEqual((summary["samples"], summary["dropped"], summary["output"]["sent"]), (500, 0, 500))
                self.assertEqual(summary["end"], "ended")

    def test_strings_are_relayed(self):
        pub = self.pub("--session", self.session, "--format", "string", "--channels", 1, "--rate", 0, "--interval",
                       0.01, "--bind", self.links()[0])
        relay = self.relay("--connect", pub.endpoint(), "--bind", self.links()[3])
        sub = self.subscribe("--connect", relay.wait_event("ready")["endpoints"][0], "--count", 20, "--sequence",
                             "--output", self.folder / "far.csv")
        self.ends(sub)
        for sequence, _, values in self.rows(self.folder / "far.csv"):
            self.assertEqual(values, [str(sequence)])
        self.interrupt(pub)
        self.interrupt(relay)

    def test_loss_before_the_relay_is_visible_behind_it(self):
        # The relay is stopped for longer than its outlet's and the kernel's buffers reach.
        pub = self.pub("--session", self.session, "--signal", "counter", "--format", "int64", "--channels", 128,
                       "--bind", self.links()[2], "--rate", 5000, "--buffer", "0.1")
        relay = self.relay("--connect", pub.endpoint(), "--bind", self.links()[1])
        far = self.subscribe("--connect", relay.wait_event("ready")["endpoints"][0], "--output-format", "none")
        far.wait_event("status")
        relay.send(signal.SIGSTOP)
        before = pub.wait_event("status", len(pub.events("status")) + 1)["samples"]
        wait_until(lambda: pub.events("status")[-1]["samples"] > before + 10_000, "10 MB beyond all buffers")
        relay.send(signal.SIGCONT)
        gap = far.wait_event("gap")
        lost = relay.wait_event("gap")
        self.assertEqual((gap["first_seq"], gap["count"]), (lost["first_seq"], lost["count"]))
        for tool in (pub, far, relay):
            self.interrupt(tool)
        summary = far.wait_event("summary")
        self.assertGreater(summary["dropped"], 0)
        self.assertEqual(summary["samples"] + summary["dropped"], summary["seq_last"] - summary["seq_first"] + 1)

    def interrupt(self, tool):
        tool.send(signal.SIGTERM)
        self.assertEqual(tool.wait(), 0, tool.describe())

    def listed(self, *arguments):
        ls = self.start("stream-ls", "--session", self.session, "--json", *arguments)
        ls.wait()
        return [json.loads(line) for line in ls.stdout().splitlines()]

    def test_the_direct_way_is_taken_unless_told_otherwise(self):
        relay = self.relay("--name", "EEG")
        pub = self.publish("--name", "EEG", "--bind", "posix+tcp://127.0.0.1:*", "--rate", 100)
        uid = pub.wait_event("ready")["uid"]
        out = relay.wait_event("ready")
        self.assertEqual((out["origin"], out["relays"]), (uid, 1))
        both = self.listed("--via", "any", "--minimum", 2, "--timeout", LIMIT)
        self.assertEqual(sorted(s["uid"] for s in both), sorted([uid, out["uid"]]))
        self.assertEqual([s["uid"] for s in self.listed()], [uid])
        sub = self.subscribe("--name", "EEG", "--count", 10, "--output-format", "none")
        self.ends(sub)
        self.assertEqual(sub.wait_event("ready")["uid"], uid)
        sub = self.subscribe("--name", "EEG", "--via", "any", "--minimum", 2, "--count", 10, "--output-format", "none")
        self.ends(sub)
        self.assertEqual({event["uid"] for event in sub.events("ready")}, {uid, out["uid"]})
        # Its own output is the relay's to be seen as well, and is not taken again.
        self.assertEqual(len(relay.events("ready")), 1)
        self.assertEqual(relay.events("refused"), [])

    def test_a_ring_of_relays_is_no_loop(self):
        """Two sessions, a relay each way: what comes back is refused, and ends with the publisher."""
        other = f"{self.session}-b"
        pub = self.publish("--name", "EEG", "--bind", "posix+tcp://127.0.0.1:*", "--rate", 100)
        there = self.relay("--name", "EEG", "--to-session", other)
        there.wait_event("ready")
        back = self.start("stream-relay", "--session", other, "--to-session", self.session, "--name", "EEG")
        ready = back.wait_event("ready")
        self.assertEqual((ready["origin"], ready["relays"]), (pub.wait_event("ready")["uid"], 2))
        refused = there.wait_event("refused")
        self.assertEqual((refused["uid"], refused["reason"]), (ready["uid"], "loop"))
        self.interrupt(pub)
        wait_until(lambda: self.listed("--via", "any", "--timeout", 1) == [], "the ring to be empty")
        for relay in (there, back):
            self.interrupt(relay)
            self.assertEqual(len(relay.events("ready")), 1, "nothing went round")

    def test_a_named_endpoint_that_leads_back_is_refused(self):
        pub = self.publish("--bind", self.links()[1], "--rate", 100)
        path = f"zmq+ipc://{self.folder}/first"
        again = f"posix+unix://{self.folder}/second"
        first = self.relay("--connect", pub.endpoint(), "--connect", again, "--bind", path)
        second = self.relay("--connect", path, "--bind", again)
        self.assertEqual(second.wait_event("ready")["relays"], 2)
        self.assertEqual(first.wait_event("refused")["reason"], "loop")
        for tool in (pub, first, second):
            self.interrupt(tool)

    def test_a_restarted_publisher_is_a_new_segment(self):
        link = self.known_links()[2]
        publish = ("--name", "EEG", "--source-id", "amp-1", "--bind", link, "--rate", 1000)
        first = self.publish(*publish)
        relay = self.relay("--name", "EEG", "--to-session", f"{self.session}-b", "--bind", self.links()[3])
        sub = self.subscribe("--connect", relay.wait_event("ready")["endpoints"][0], "--output-format", "none")
        sub.wait_event("status")
        first.kill()
        second = self.publish(*publish)
        segment = relay.wait_event("segment")
        self.assertEqual(segment["origin"], second.wait_event("ready")["uid"])
        self.assertEqual(sub.wait_event("segment")["uid"], segment["uid"])
        count = len(sub.events("status"))
        sub.wait_event("status", count + 2)
        for tool in (sub, relay, second):
            self.interrupt(tool)
        summary = sub.wait_event("summary")
        self.assertEqual((summary["segments"], summary["dropped"], summary["repeated"]), (2, 0, 0))

    def test_a_restarted_relay_goes_on_with_the_same_stream(self):
        pub = self.publish("--name", "EEG", "--source-id", "amp-1", "--bind", self.links()[0], "--rate", 1000)
        other = f"{self.session}-b"
        relay = ("--name", "EEG", "--to-session", other, "--history", "all")
        first = self.relay(*relay)
        first.wait_event("ready")
        sub = self.sub("--session", other, "--timeout", LIMIT, "--name", "EEG", "--output", self.folder / "far.csv",
                       "--sequence", "--summary", "json")
        sub.wait_event("status")
        first.kill()
        second = self.relay(*relay)
        uid = second.wait_event("ready")["uid"]
        wait_until(lambda: self.consumers(second) > 0, "the subscriber to come over")
        sub.wait_event("status", len(sub.events("status")) + 2)
        for tool in (sub, second, pub):
            self.interrupt(tool)
        summary = sub.wait_event("summary")
        self.assertEqual((summary["segments"], summary["dropped"], summary["repeated"]), (1, 0, 0), uid)
        sequences = [sequence for sequence, _, _ in self.rows(self.folder / "far.csv")]
        self.assertEqual(sequences, list(range(sequences[0], sequences[0] + len(sequences))))

    def consumers(self, relay):
        return relay.events("status")[-1]["consumers"] if relay.events("status") else 0

    def test_streams_that_come_and_go_are_followed(self):
        relay = self.relay("--name", "S*", "--bind", f"posix+unix://{self.folder}/{{name}}-{{uid}}")
        pubs = [self.publish("--name", name, "--bind", "posix+tcp://127.0.0.1:*", "--rate", 100)
                for name in ("S1", "S2", "other", "S3")]
        relay.wait_event("ready", 3)
        self.interrupt(pubs[0])
        ended = relay.wait_event("summary")
        self.assertEqual((ended["name"], ended["end"]), ("S1", "ended"))
        self.interrupt(relay)
        self.assertEqual({event["name"] for event in relay.events("ready")}, {"S1", "S2", "S3"})
        self.assertEqual(len(relay.stdout().splitlines()), 3, "a line each")

    def test_control_messages_reach_the_producer_and_replies_the_consumer(self):
        other = f"{self.session}-b"
        producer = self.start("examples/control_producer", variables={"RIVULET_SESSION_NAME": self.session})
        relay = self.relay("--name", "loop", "--to-session", other)
        consumer = self.start("examples/control_consumer", "--seconds", LIMIT,
                              variables={"RIVULET_SESSION_NAME": other})
        wait_until(lambda: consumer.stdout(), "the consumer to be answered")
        for tool in (consumer, producer, relay):
            self.interrupt(tool)
        result, handled = self.summary(consumer), self.summary(producer)["handled"]
        self.assertGreater(result["answered"], 0)
        self.assertIn(handled, (result["asked"], result["asked"] - 1))

    def test_drops_behind_the_relay_are_its_own(self):
        """A consumer that is stopped for longer than the relay's and the kernel's buffers reach."""
        pub = self.pub("--session", self.session, "--signal", "counter", "--format", "int64", "--channels", 128,
                       "--bind", self.links()[2], "--rate", 5000)
        relay = self.relay("--connect", pub.endpoint(), "--bind", self.links()[2], "--buffer", "0.1")
        far = self.subscribe("--connect", relay.wait_event("ready")["endpoints"][0], "--output-format", "none")
        far.wait_event("status")
        far.send(signal.SIGSTOP)
        wait_until(lambda: relay.events("status")[-1]["dropped"] > 0, "drops")
        far.send(signal.SIGCONT)
        far.wait_event("gap")
        for tool in (far, relay, pub):
            self.interrupt(tool)
        lost, through, pushed = (tool.wait_event("summary") for tool in (far, relay, pub))
        self.assertEqual((through["dropped"], pushed["dropped"]), (0, 0), "none before the relay")
        self.assertGreater(lost["dropped"], 0)
        # The last of them may have been dropped after the consumer had been told to end.
        self.assertGreaterEqual(through["output"]["dropped"], lost["dropped"])

    def test_nothing_is_done_between_samples_once_a_stream_was_opened_at_the_second_try(self):
        path = self.folder / "source"
        pub = self.publish("--name", "EEG", "--bind", f"posix+unix://{path}", "--rate", 100)
        hidden = path.rename(self.folder / "hidden")
        relay = self.relay("--name", "EEG", "--bind", self.links()[3])
        relay.wait_event("refused")
        hidden.rename(path)
        relay.wait_event("ready")
        before = self.processor_time(relay)
        samples = relay.wait_event("status")["samples"]
        wait_until(lambda: relay.events("status")[-1]["samples"] >= samples + 300, "samples")
        self.assertLess(self.processor_time(relay) - before, 0.3, "seconds of work in the time of 300 samples")
        for tool in (relay, pub):
            self.interrupt(tool)

    @staticmethod
    def processor_time(tool):
        """Seconds that the first thread has been at work, which is only needed where streams come and go."""
        with open(f"/proc/{tool.process.pid}/task/{tool.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_waiting_lets_the_outlet_feel_a_slow_consumer(self):
        pub = self.publish("--bind", self.links()[2], "--unpaced", "--count", 3_000_000, "--on-full", "wait",
                           "--buffer", "1MiB", "--wait-consumers", 1, "--linger", 60, "--send-timeout", 0)
        relay = self.relay("--connect", pub.endpoint(), "--bind", self.links()[2], "--on-full", "wait", "--buffer",
                           "1MiB", "--send-timeout", 0, "--on-end", "exit")
        sub = self.subscribe("--connect", relay.wait_event("ready")["endpoints"][0], "--when-full", "hold", "--strict",
                             "--output-format", "none")
        for tool in (pub, sub, relay):
            self.ends(tool)
        summary = sub.wait_event("summary")
        self.assertEqual(summary["dropped"], 0)
        self.assertEqual(relay.wait_event("summary")["dropped"], 0)

    def test_what_makes_no_sense_is_refused(self):
        for arguments, code in (((), 2), (("--name", "x", "--send-timeout", "1"), 2),
                                (("--name", "x", "--bind", "zmq+ipc:///x/{nme}"), 2),
                                (("--connect", "nonsense"), 2), (("--name", "x", "--timeout", "0.5"), 3)):
            tool = self.start("stream-relay", "--session", self.session, *arguments)
            self.assertEqual(tool.wait(), code, tool.describe())
            self.assertIn("stream-relay: ", tool.stderr())


if __name__ == "__main__":
    main()
