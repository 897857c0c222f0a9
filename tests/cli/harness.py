"""What the end-to-end tests of the tools share: start programs, wait for what they say, end what was started.

RIVULET_BIN names the folder with the programs. Everything a test makes lies in a temporary folder of its own.
"""

import functools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import waiting  # noqa: E402

BIN = pathlib.Path(os.environ["RIVULET_BIN"]).resolve()
LIMIT = 90  # seconds
wait_until = functools.partial(waiting.wait_until, limit=LIMIT)


class Tool:
    """A running program; its output goes to files, unless a stream is asked for."""

    count = 0

    def __init__(self, folder, name, arguments, stdin=subprocess.DEVNULL, stdout=None, prefix=(), variables=None):
        Tool.count += 1
        self.name = f"{pathlib.Path(name).name}-{Tool.count}"
        self.stdout_path = folder / f"{self.name}.stdout"
        self.stderr_path = folder / f"{self.name}.stderr"
        self.events_path = folder / f"{self.name}.events"
        command = [*prefix, str(BIN / name), *map(str, arguments)]
        has_events = name in ("stream-pub", "stream-sub", "stream-relay")
        if has_events and "--events" not in command and "--help" not in command:
            command += ["--events", str(self.events_path)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RIVULET_")}
        environment["HOME"] = str(folder)
        environment.update(variables or {})
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(command, stdin=stdin, stdout=stdout or out, stderr=err, cwd=folder,
                                            env=environment)
        self.command = command

    def stdout(self):
        return self.stdout_path.read_bytes()

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def events(self, name=None):
        """Events written so far, a line that is still being written left out."""
        if not self.events_path.exists():
            return []
        lines = self.events_path.read_bytes().split(b"\n")[:-1]
        events = [json.loads(line) for line in lines]
        return [e for e in events if name is None or e["event"] == name]

    def wait_event(self, name, number=1):
        """The number-th event of that name."""

        def look():
            ended = self.process.poll() is not None
            found = self.events(name)
            if len(found) >= number:
                return found[number - 1]
            if ended:
                raise AssertionError(f"{self.describe()} ended before event {name} number {number}")
            return None

        return wait_until(look, f"event {name} of {self.describe()}")

    def endpoint(self):
        return self.wait_event("ready")["endpoints"][0]

    def wait(self, limit=LIMIT):
        """The exit code."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.describe()} did not end within {limit} s") from None

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()

    def describe(self):
        return f"{' '.join(self.command)}\n  stderr: {self.stderr()[-2000:]}"


class ToolTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        # Short, since socket paths are limited to 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rv-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.sockets = 0

    def start(self, name, *arguments, **how):
        tool = Tool(self.folder, name, arguments, **how)
        self.addCleanup(tool.kill)
        return tool

    def pub(self, *arguments, **how):
        return self.start("stream-pub", *arguments, **how)

    def sub(self, *arguments, **how):
        return self.start("stream-sub", *arguments, **how)

    def links(self):
        """Endpoints to bind to, one of each kind."""
        self.sockets += 1
        return ["zmq+tcp://127.0.0.1:*", f"zmq+ipc://{self.folder}/z{self.sockets}", "posix+tcp://127.0.0.1:*",
                f"posix+unix://{self.folder}/p{self.sockets}"]

    def known_links(self):
        """Endpoints that are known before anybody binds."""
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            ports = [first.getsockname()[1], second.getsockname()[1]]
        _, ipc, _, unix = self.links()
        return [f"zmq+tcp://127.0.0.1:{ports[0]}", ipc, f"posix+tcp://127.0.0.1:{ports[1]}", unix]

    def ends(self, tool, code=0):
        got = tool.wait()
        self.assertEqual(got, code, tool.describe())

    def summary(self, tool):
        """The JSON line that a tool wrote at its end to stdout."""
        return json.loads(tool.stdout().splitlines()[-1])

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def same_bytes(self, got, expected):
        if got == expected:
            return
        at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b), min(len(got), len(expected)))
        self.fail(f"{len(got)} bytes instead of {len(expected)}, first difference at {at}: "
                  f"{got[max(at - 40, 0):at + 40]!r} instead of {expected[max(at - 40, 0):at + 40]!r}")


def shortest(value, single=False):
    """A number as the tools write it: the fewest digits that read back as it, as fixed or exponent, what is shorter."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    for digits in range(1, 18):
        text = f"{value:.{digits - 1}e}"
        back = float(text)
        if (to_single(back) if single else back) == value:
            break
    mantissa, exponent = text.split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    scientific = f"{mantissa}e{int(exponent):+03d}"
    digits_after = max(len(mantissa.lstrip("-").replace(".", "")) - 1 - int(exponent), 0)
    fixed = f"{value:.{digits_after}f}"
    return fixed if len(fixed) <= len(scientific) else scientific


def to_single(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def recording(channels, samples, value, seed=1, labels=None):
    """A CSV with jittered stamps; value(random) gives the text of a value."""
    rng = random.Random(seed)
    labels = labels or [f"E{c}" for c in range(channels)]
    lines = ["stamp," + ",".join(labels)]
    stamp = 1000.0
    for _ in range(samples):
        stamp += rng.uniform(0.0005, 0.0015)
        lines.append(shortest(stamp) + "," + ",".join(value(rng) for _ in range(channels)))
    return ("\n".join(lines) + "\n").encode()


AWKWARD = ["plain", "", " leading and trailing ", "comma, inside", 'quote " inside', '"', '""', "line\nbreak", "\r\n",
           "tab\there", "Müller µV € 😀", "nan", "1e5", "a" * 10000, "\\n", "{name}", "end"]


def csv_field(text):
    if text and (text[0] == " " or text[-1] == " ") or any(c in text for c in '",\r\n\0'):
        return '"' + text.replace('"', '""') + '"'
    return text


def markers(channels=1):
    """A CSV of awkward strings."""
    rows = ["stamp," + ",".join(f"ch{c}" for c in range(channels))]
    for i in range(len(AWKWARD)):
        row = [csv_field(AWKWARD[(i + c) % len(AWKWARD)]) for c in range(channels)]
        rows.append(f"{i}.25," + ",".join(row))
    return ("\n".join(rows) + "\n").encode()


def main():
    """Exit code 77: nothing could be tested here (ctest says "Skipped")."""
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        raise SystemExit(1)
    if result.skipped and len(result.skipped) >= result.testsRun:
        raise SystemExit(77)
