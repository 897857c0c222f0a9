#!/usr/bin/env python3
"""What comes out of stream-sub is what went into stream-pub, value for value and stamp for stamp."""

import base64
import json
import random
import struct
import subprocess

from harness import AWKWARD, ToolTest, main, markers, recording, shortest, to_single, wait_until

FILE = ("--wait-consumers", 1, "--linger", 20)


class Csv(ToolTest):
    def carry(self, content, link, *pub_options):
        """The CSV that a subscriber makes of a CSV that a publisher reads."""
        pub = self.pub("--input", self.file("in.csv", content), "--bind", link, *FILE, *pub_options)
        sub = self.sub("--connect", pub.endpoint(), "--strict", "--output", self.folder / "out.csv")
        self.ends(pub)
        self.ends(sub)
        return (self.folder / "out.csv").read_bytes()

    def test_a_recording_of_some_megabytes(self):
        content = recording(32, 8000, lambda rng: shortest(rng.gauss(0, 50)))
        self.assertGreater(len(content), 4_000_000)
        for link in self.links():
            self.same_bytes(self.carry(content, link), content)

    def test_every_numeric_format(self):
        def whole(bits):
            return lambda rng: str(rng.choice([rng.randrange(-2 ** (bits - 1), 2 ** (bits - 1)), -2 ** (bits - 1),
                                               2 ** (bits - 1) - 1, 0]))

        def real(single):
            special = ["nan", "inf", "-inf", "0", "-0"]

            def value(rng):
                number = rng.choice([rng.gauss(0, 1), rng.uniform(-1e30, 1e30), rng.uniform(-1e-30, 1e-30)])
                text = shortest(to_single(number) if single else number, single)
                return rng.choice([text, text, text, rng.choice(special)])

            return value

        formats = {"float32": real(True), "float64": real(False), "int8": whole(8), "int16": whole(16),
                   "int32": whole(32), "int64": whole(64)}
        for name, value in formats.items():
            with self.subTest(format=name):
                content = recording(3, 300, value)
                self.same_bytes(self.carry(content, self.links()[0], "--format", name), content)

    def test_every_numeric_format_in_sync_mode(self):
        for name in ("float32", "float64", "int8", "int16", "int32", "int64"):
            for link in self.links():
                content = recording(5, 200, lambda rng: str(rng.randrange(-100, 100)))
                got = self.carry(content, link, "--format", name, "--mode", "sync", "--chunk", 7)
                self.same_bytes(got, content)

    def test_markers_with_awkward_strings(self):
        for channels in (1, 3):
            for link in self.links():
                content = markers(channels)
                self.same_bytes(self.carry(content, link, "--format", "string"), content)

    def test_blobs(self):
        rng = random.Random(5)
        blobs = [b"", b"\0", b"\xff" * 3, *(rng.randbytes(rng.randrange(200_000)) for _ in range(20))]
        rows = [f"{i}.5,{base64.b64encode(blob).decode()}" for i, blob in enumerate(blobs)]
        content = ("stamp,ch0\n" + "\n".join(rows) + "\n").encode()
        for link in self.links():
            self.same_bytes(self.carry(content, link, "--format", "blob"), content)

    def test_a_regular_rate_keeps_given_stamps(self):
        content = recording(4, 500, lambda rng: str(rng.randrange(1000)))
        self.same_bytes(self.carry(content, self.links()[0], "--rate", 5000), content)

    def test_labels_units_and_awkward_names(self):
        labels = ["Fp1", '"a,b"', '"say ""hi"""', "µ"]
        content = recording(4, 10, lambda rng: "1", labels=labels)
        self.same_bytes(self.carry(content, self.links()[0], "--unit", "microvolts"), content)

    def test_the_sequence_column_is_added_and_passed_over(self):
        content = recording(2, 50, lambda rng: str(rng.randrange(9)))
        pub = self.pub("--input", self.file("in.csv", content), *FILE)
        sub = self.sub("--connect", pub.endpoint(), "--sequence")
        self.ends(pub)
        self.ends(sub)
        lines = sub.stdout().decode().splitlines()
        self.assertEqual(lines[0], "stamp,sequence,E0,E1")
        self.assertEqual([line.split(",")[1] for line in lines[1:]], [str(i) for i in range(50)])
        self.same_bytes(self.carry(sub.stdout(), self.links()[1]), content)


class Raw(ToolTest):
    def test_bytes_are_the_same(self):
        content = random.Random(3).randbytes(8 * 4 * 50_000)
        for mode in ("async", "sync"):
            for link in self.links():
                pub = self.pub("--input", self.file("in.raw", content), "--input-format", "raw", "--channels", 8,
                               "--format", "int32", "--bind", link, "--mode", mode, *FILE)
                sub = self.sub("--connect", pub.endpoint(), "--output-format", "raw", "--output",
                               self.folder / "out.raw", "--strict", "--when-full", "hold")
                self.ends(pub)
                self.ends(sub)
                self.same_bytes((self.folder / "out.raw").read_bytes(), content)

    def test_strings_have_no_raw_form(self):
        pub = self.pub("--format", "string", "--rate", 0)
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "raw")
        self.ends(sub, 1)
        self.assertIn("raw output cannot hold", sub.stderr())


class Lines(ToolTest):
    def test_each_line_is_a_marker_when_it_comes(self):
        for link in self.links():
            pub = self.pub("--input", "-", "--input-format", "lines", "--bind", link, *FILE, stdin=subprocess.PIPE)
            sub = self.sub("--connect", pub.endpoint(), "--output-format", "jsonl", "--sequence", "--summary", "json")
            sub.wait_event("ready")
            texts = [text for text in AWKWARD if "\n" not in text]
            for number, text in enumerate(texts):
                pub.process.stdin.write(text.encode() + b"\n")
                pub.process.stdin.flush()
                self.wait_for_lines(sub, number + 1)  # it came although the input is still open
            pub.process.stdin.close()
            self.ends(pub)
            self.ends(sub)
            samples = [json.loads(line) for line in sub.stdout().splitlines()]
            self.assertEqual([s["values"] for s in samples], [[text] for text in texts])
            self.assertEqual([s["sequence"] for s in samples], list(range(len(texts))))

    def wait_for_lines(self, sub, number):
        wait_until(lambda: sub.stdout().count(b"\n") >= number, f"line {number} of {sub.describe()}")


class Frames(ToolTest):
    def capture(self, content, *pub_options):
        pub = self.pub("--input", self.file("in.csv", content), "--name", "Captured", "--type", "EEG", "--metadata",
                       "amp.serial=17", *FILE, *pub_options)
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "frames", "--output",
                       self.folder / "x.frames", "--strict")
        self.ends(pub)
        self.ends(sub)
        return self.folder / "x.frames"

    def replay(self, path, link, *pub_options):
        pub = self.pub("--input", path, "--input-format", "frames", "--bind", link, *FILE, *pub_options)
        sub = self.sub("--connect", pub.endpoint(), "--strict", "--output", self.folder / "out.csv")
        self.ends(pub)
        self.ends(sub)
        return pub, (self.folder / "out.csv").read_bytes()

    def test_a_capture_replays_the_same_samples(self):
        numbers = recording(16, 3000, lambda rng: shortest(rng.gauss(0, 1)))
        for content, options in ((numbers, ()), (numbers, ("--rate", 20000)), (markers(2), ("--format", "string"))):
            path = self.capture(content, *options)
            for link in self.links():
                pub, got = self.replay(path, link)
                self.same_bytes(got, content)
                ready = pub.wait_event("ready")
                self.assertEqual((ready["name"], ready["type"]), ("Captured", "EEG"))

    def test_a_capture_of_a_subscriber_that_was_killed_is_readable(self):
        pub = self.pub("--signal", "counter", "--format", "int64", "--channels", 1, "--rate", 2000)
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "frames", "--output", self.folder / "x.frames")
        sub.wait_event("ready")
        wait_until(lambda: (self.folder / "x.frames").stat().st_size > 20_000, "a capture of some size")
        sub.kill()
        whole = (self.folder / "x.frames").read_bytes()
        for cut in (0, 1, 7, 100):
            path = self.file("cut.frames", whole[: len(whole) - cut])
            _, got = self.replay(path, self.links()[0], "--unpaced")
            values = [int(line.split(b",")[1]) for line in got.splitlines()[1:]]
            self.assertGreater(len(values), 100)
            self.assertEqual(values, list(range(values[0], values[0] + len(values))))

    def test_what_is_no_capture_is_refused(self):
        pub = self.pub("--input", self.file("x", "stamp,a\n1,2\n"), "--input-format", "frames")
        self.ends(pub, 1)
        self.assertIn("no capture", pub.stderr())


class Generators(ToolTest):
    def test_counter_counts_in_every_format_and_mode(self):
        sizes = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d"}
        for mode in ("async", "sync"):
            for name, code in sizes.items():
                options = ("--on-full", "wait") if mode == "async" else ("--mode", "sync")
                pub = self.pub("--signal", "counter", "--format", name, "--channels", 3, "--count", 2000, "--unpaced",
                               *options, *FILE)
                sub = self.sub("--connect", pub.endpoint(), "--output-format", "raw", "--output",
                               self.folder / "out.raw", "--strict", "--when-full", "hold")
                self.ends(pub)
                self.ends(sub)
                got = [v[0] for v in struct.iter_unpack(code, (self.folder / "out.raw").read_bytes())]
                expected = [i for i in range(2000) for _ in range(3)]
                if name == "int8":
                    expected = [(i + 128) % 256 - 128 for i in expected]
                self.assertEqual(got, expected, f"{mode} {name}")

    def test_strings_count_too(self):
        pub = self.pub("--format", "string", "--channels", 2, "--rate", 0, "--interval", 0.001, "--count", 20, *FILE)
        sub = self.sub("--connect", pub.endpoint(), "--output-format", "jsonl")
        self.ends(pub)
        self.ends(sub)
        self.assertEqual([json.loads(line)["values"] for line in sub.stdout().splitlines()],
                         [[str(i), str(i)] for i in range(20)])


if __name__ == "__main__":
    main()
