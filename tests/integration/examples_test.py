#!/usr/bin/env python3
"""Runs the examples as a reader of the README would: examples_test.py FOLDER_OF_PROGRAMS CASE LINK"""
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 100  # seconds; far beyond what any of this takes


class Run:
    """Programs over one link; none of them outlives the block."""

    def __init__(self, programs, link):
        self.programs = Path(programs)
        self.link = link
        self.started = []
        self.endpoints = {}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rivulet-")
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.folder.cleanup()

    def endpoint(self, name):
        """The endpoint of that name, known before anybody listens."""
        if name not in self.endpoints:
            place = f"127.0.0.1:{free_port()}" if self.link.endswith("+tcp") else f"{self.folder.name}/{name}"
            self.endpoints[name] = f"{self.link}://{place}"
        return self.endpoints[name]

    def start(self, program, *arguments):
        # The last samples must come out however busy the machine is.
        environment = {**os.environ, "RIVULET_TUNING_LINGER": f"{LIMIT}s", "RIVULET_TUNING_WATCHDOG": f"{LIMIT}s"}
        process = subprocess.Popen([self.programs / program, *map(str, arguments)], env=environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.title = program
        self.started.append(process)
        return process

    @staticmethod
    def finish(process):
        out, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, f"{process.title}: exit code {process.returncode}, said: {err}"
        return out, err


def free_port():
    """Below those that systems give out by themselves, so that nobody gets it before our program listens."""
    while True:
        with socket.socket() as probe:
            port = random.randrange(20000, 30000)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def check_waves(lines):
    """[(sequence, stamp, values)] of send_samples."""
    stamps = []
    for i, line in enumerate(lines):
        sequence, stamp, sine, cosine = line.split()
        assert int(sequence) == i, line
        assert abs(float(sine) - math.sin(i * 0.1)) < 1e-4 and abs(float(cosine) - math.cos(i * 0.1)) < 1e-4, line
        stamps.append(float(stamp))
    assert stamps == sorted(stamps), "stamps go back"


def readme(run):
    os.environ["README_ENDPOINT"] = run.endpoint("eeg")
    publisher = run.start("readme_publisher")
    out, _ = run.finish(run.start("readme_subscriber"))
    rows = [[float(value) for value in line.split()] for line in out.splitlines()]
    assert len(rows) == 500, out
    for i, (_, first, second) in enumerate(rows):
        assert abs(first - math.sin(i * 0.1)) < 1e-4 and abs(second - math.cos(i * 0.1)) < 1e-4, (i, first, second)
    run.finish(publisher)


def samples(run):
    sender = run.start("send_samples", run.endpoint("waves"), 0.5)
    out, err = run.finish(run.start("receive_samples", run.endpoint("waves")))
    assert "waves: 2 channels at 100 Hz" in err, err
    assert "lost" not in err, err
    assert len(out.splitlines()) == 50, out
    check_waves(out.splitlines())
    expect_listening(run, sender, "waves")


def interrupted(run):
    """A sender that is interrupted ends its stream: the receiver is told so, and has all that was pushed."""
    receiver = run.start("receive_samples", run.endpoint("waves"))  # the receiver first: it waits
    sender = run.start("send_samples", run.endpoint("waves"), 3600)
    assert "channels at" in receiver.stderr.readline()
    sender.send_signal(signal.SIGINT)
    run.finish(sender)
    out, err = run.finish(receiver)
    assert "lost" not in err, err
    check_waves(out.splitlines())


def expect_listening(run, sender, name):
    """Waits for a sender's end; what it said on stderr."""
    out, err = run.finish(sender)
    assert out == f"listening on {run.endpoint(name)}\n", out
    return err


def expect_report(text, count, mean):
    last = text.splitlines()[-1]
    assert last == f"{count} samples, 0 lost, mean of channel 0: {mean:g}", text


def chunks(run):
    sender = run.start("send_chunks", run.endpoint("spikes"), 0.5)
    out, _ = run.finish(run.start("receive_chunks", run.endpoint("spikes")))
    expect_report(out, 15000, 14999 / 2)
    expect_listening(run, sender, "spikes")


def sync(run):
    sender = run.start("send_sync", run.endpoint("probe"), 100)
    out, _ = run.finish(run.start("receive_chunks", run.endpoint("probe")))
    expect_report(out, 3000, 2999 / 2)
    assert expect_listening(run, sender, "probe") == ""


def several(run):
    senders = [run.start("send_samples", run.endpoint("waves"), 0.3),
               run.start("send_markers", run.endpoint("events"), 10)]
    out, _ = run.finish(run.start("receive_several", run.endpoint("waves"), run.endpoint("events")))
    markers = [re.fullmatch(r"events \d+\.\d{6} (.*)", line)[1] for line in out.splitlines() if line[0] == "e"]
    assert markers == [f"stimulus {n}" for n in range(1, 11)], out
    waves = [float(line.split()[2]) for line in out.splitlines() if line.startswith("waves ")]
    assert len(waves) == 30, out
    assert all(abs(value - math.sin(i * 0.1)) < 1e-4 for i, value in enumerate(waves)), out
    for sender, name in zip(senders, ("waves", "events")):
        expect_listening(run, sender, name)


def nobody(run):
    """A wrong endpoint is an error that says so."""
    for program in ("receive_samples", "send_samples"):
        process = run.start(program, f"{run.link}-nonsense://here")
        _, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 1 and f"{run.link}-nonsense" in err, err


CASES = {case.__name__: case for case in (readme, samples, interrupted, chunks, sync, several, nobody)}

if __name__ == "__main__":
    with Run(sys.argv[1], sys.argv[3]) as programs_run:
        CASES[sys.argv[2]](programs_run)
