#!/usr/bin/env python3
"""Twenty streams over all links, disturbed at random, every sample of them checked.

    tests/soak/run.py --bin build/dev/bin --seconds 600 [--seed 7]

Publishers, relays and consumers are killed, stopped and restarted, consumers left unread, links cut, all from the seed.
Each stream counts: sample number i carries i in every channel, so that content and sequence are checked at once, and
each break of the sequence has to be one that the consumer has reported. Ends with a table; exit code 1 when a sample was
lost without a report, repeated or wrong, when something leaked, or when a program failed. The seed is printed: with it
the same disturbances come again, at about the same times.
"""

import argparse
import os
import pathlib
import random
import selectors
import shutil
import signal
import sys
import tempfile
import time

from cast import Consumer, Failure, Network, Publisher, Relay, spare_port, why_no_namespaces

LINKS = ("zmq+tcp", "zmq+ipc", "posix+tcp", "posix+unix")
STREAMS = 20
WARM_UP = 10  # seconds until all buffers are full
MEMORY_SLACK = 12 << 20  # bytes that a process may gain by chance
KINDS = ("kill publisher", "restart publisher", "stop publisher", "kill relay", "kill consumer", "stop consumer",
         "leave consumer unread", "cut link")


class Stream:
    """A publisher, perhaps a relay or a network between, a consumer that is left alone, and one that is not."""

    def __init__(self, soak, number):
        link = LINKS[number % len(LINKS)]
        group = number // len(LINKS)
        self.name = f"s{number:02}"
        self.network = soak.network if group == 3 and link.endswith("tcp") else None
        self.publisher_suffers = group == 1 or (group == 3 and not self.network)
        self.relay = None
        host = self.network.inner if self.network else "127.0.0.1"
        self.rate = soak.random.choice((100, 250, 500)) if group != 4 else 1000
        self.publisher = Publisher(soak, self.name, soak.endpoint(link, self.name, host), self.rate, self.network)
        source = self.publisher
        if group == 2:
            self.relay = Relay(soak, self.name, self.publisher.endpoint, soak.endpoint(link, self.name + "r", "127.0.0.1"))
            source = self.relay
        self.quiet = not (self.publisher_suffers or self.relay or self.network)
        self.steady = Consumer(soak, self.name + "-steady", source.endpoint)
        self.victim = Consumer(soak, self.name + "-victim", source.endpoint)

    def actors(self):
        return [actor for actor in (self.publisher, self.relay, self.steady, self.victim) if actor]

    def left_alone(self):
        """Those that nobody disturbs, whose size must stay. A publisher behind a relay serves its consumers while that
        is gone, and those that found it may stay with it."""
        return ([] if self.publisher_suffers or self.relay else [self.publisher]) + [self.steady]


class Soak:
    def __init__(self, options):
        self.options = options
        self.bin = pathlib.Path(options.bin).resolve()
        self.random = random.Random(options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rvs-"))
        self.selector = selectors.DefaultSelector()
        self.injected = dict.fromkeys(KINDS, 0)
        self.leaks = {"descriptors": 0, "threads": 0, "memory": 0}
        self.failures = []
        self.todo = []  # (when, what to do)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("RIVULET_")}
        self.environment.update({
            "HOME": str(self.folder), "RIVULET_SESSION_NAME": f"soak-{os.getpid()}",
            "RIVULET_DISCOVERY_PORT": str(spare_port()), "RIVULET_DISCOVERY_MULTICAST": "false",
            "RIVULET_DISCOVERY_BROADCAST": "false", "RIVULET_TUNING_WATCHDOG": "5s", "RIVULET_TUNING_KEEPALIVE": "1s",
            "RIVULET_LOG_LEVEL": "error"})
        self.no_network = why_no_namespaces()
        self.network = None
        self.streams = []

    def endpoint(self, link, name, host):
        if link.endswith("tcp"):
            return f"{link}://{host}:{spare_port()}"
        return f"{link}://{self.folder}/{name}"

    def say(self, text):
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)

    # --- disturbances

    def later(self, seconds, action):
        self.todo.append((time.monotonic() + seconds, action))

    def disturb(self):
        """One disturbance of somebody who is not disturbed already."""
        stream = self.random.choice(self.streams)
        choices = ["kill consumer", "stop consumer", "leave consumer unread"]
        if stream.publisher_suffers:
            choices += ["kill publisher", "restart publisher", "stop publisher"] * 2
        if stream.relay:
            choices += ["kill relay"] * 4
        if stream.network:
            choices += ["cut link"] * 6
        kind = self.random.choice(choices)
        how_long = self.random.choice((0.05, 0.3, 1, 2, 5, 12)) * self.random.uniform(0.5, 1.2)
        self.inflict(stream, kind, how_long)

    def inflict(self, stream, kind, how_long):
        target = {"publisher": stream.publisher, "relay": stream.relay, "consumer": stream.victim,
                  "link": stream.network}[next(w for w in kind.split() if w in ("publisher", "relay", "consumer", "link"))]
        if target.busy:
            return
        target.busy = True
        self.injected[kind] += 1
        if self.options.verbose:
            self.say(f"{kind} of {target.name} for {how_long:.2f} s")
        verb = kind.split()[0]
        getattr(target, {"restart": "end", "leave": "leave_unread"}.get(verb, verb))()
        self.later(how_long, target.recover)

    def run_due(self):
        now = time.monotonic()
        due = [entry for entry in self.todo if entry[0] <= now]
        self.todo = [entry for entry in self.todo if entry[0] > now]
        for _, action in due:
            action()

    # --- the course of it

    def step(self, until):
        self.run_due()
        times = [when for when, _ in self.todo] + [until, time.monotonic() + 0.2]
        for key, _ in self.selector.select(max(0.0, min(times) - time.monotonic())):
            key.data.read()

    def run_until(self, until):
        while time.monotonic() < until:
            self.step(until)

    def wait_for(self, condition, what, limit=180):
        """Goes on reading until it is so."""
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                self.failures.append(f"waited {limit} s for {what()}")
                return
            self.step(time.monotonic() + 0.05)

    def check_running(self):
        for stream in self.streams:
            for actor in stream.actors():
                actor.check_running()

    def rehearse(self):
        """Each is disturbed once, so that what is made at the first time is there before sizes are compared."""
        for stream in self.streams:
            self.inflict(stream, "kill consumer", 0.3)
            if stream.publisher_suffers:
                self.inflict(stream, "kill publisher", 0.3)
            if stream.relay:
                self.inflict(stream, "kill relay", 0.3)
            if stream.network:
                self.inflict(stream, "cut link", 0.3)
        self.run_until(time.monotonic() + 1)
        self.settle()

    def settle(self):
        """Everybody is back, and all consumers receive."""
        due, self.todo = self.todo, []
        for _, action in due:
            action()
        consumers = [c for s in self.streams for c in (s.steady, s.victim)]
        before = {c: c.checked for c in consumers}
        self.wait_for(lambda: all(c.checked > before[c] for c in consumers),
                      lambda: "samples at " + ", ".join(c.name for c in consumers if c.checked <= before[c]))

    def measure(self):
        return {actor: actor.size() for stream in self.streams for actor in stream.left_alone()}

    def compare(self, before):
        def grown():
            return [(actor, size, before[actor]) for actor, size in self.measure().items()
                    if size[0] > before[actor][0] or size[1] > before[actor][1]]

        self.wait_for_size(grown)
        for actor, size in self.measure().items():
            for i, (what, slack) in enumerate((("descriptors", 0), ("threads", 0), ("memory", MEMORY_SLACK))):
                if size[i] > before[actor][i] + slack:
                    self.leaks[what] += size[i] - before[actor][i]
                    self.failures.append(f"{actor.name}: {what} grew from {before[actor][i]} to {size[i]}")

    def wait_for_size(self, grown, limit=15):
        """Connections that ended take a moment to be noticed."""
        deadline = time.monotonic() + limit
        while grown() and time.monotonic() < deadline:
            self.step(time.monotonic() + 0.1)

    def end_all(self):
        """Publishers first: their consumers must get, or report, everything up to the very last sample."""
        for stream in self.streams:
            stream.publisher.end()
        for stream in self.streams:
            self.wait_for(stream.publisher.ended, lambda s=stream: f"the end of {s.publisher.name}")
            final = stream.publisher.final_sequence()
            for consumer in (stream.steady, stream.victim):
                self.wait_for(lambda c=consumer, f=final: c.has_all(f),
                              lambda c=consumer, f=final: f"sample {f} at {c.name}, which is at {c.next}")
        for stream in self.streams:
            for actor in stream.actors():
                actor.end()
        for stream in self.streams:
            for actor in stream.actors():
                self.wait_for(actor.ended, lambda a=actor: f"the end of {a.name}")
                actor.check_end()

    def run(self):
        self.began = time.monotonic()
        print(f"seed {self.options.seed}, {self.options.seconds} s, {STREAMS} streams; programs in {self.bin}")
        print("link cuts: " + (f"left out, {self.no_network}" if self.no_network else "in a network namespace"))
        try:
            if not self.no_network:
                self.network = Network(self)
            self.streams = [Stream(self, number) for number in range(STREAMS)]
            self.wait_for(lambda: all(s.steady.checked and s.victim.checked for s in self.streams),
                          lambda: "the first samples")
            self.rehearse()
            self.run_until(time.monotonic() + WARM_UP)
            before = self.measure()
            end = max(time.monotonic() + 10, self.began + self.options.seconds - WARM_UP)
            told = time.monotonic()
            while time.monotonic() < end and not self.failures:
                self.run_until(min(end, time.monotonic() + self.random.uniform(0.1, 0.8)))
                self.disturb()
                self.check_running()
                if time.monotonic() > told + 30:
                    told = time.monotonic()
                    self.say(f"{sum(self.injected.values())} disturbances, {self.total('checked')} samples checked")
            self.settle()
            self.compare(before)
            self.end_all()
        except Failure as failure:
            self.failures.append(str(failure))
        finally:
            self.stop_all()
        code = self.report()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def stop_all(self):
        for stream in self.streams:
            for actor in stream.actors():
                actor.destroy()
        if self.network:
            self.network.close()

    def consumers(self):
        return [c for s in self.streams for c in (s.steady, s.victim)]

    def total(self, what):
        return sum(getattr(c, what) for c in self.consumers())

    def report(self):
        quiet = [s.steady for s in self.streams if s.quiet]
        harmed = sum(c.reported for c in quiet)
        if harmed:
            self.failures.append(f"undisturbed consumers of undisturbed streams lost {harmed} samples")
        worst = max((c.oldest_ms() for c in quiet), default=0)
        rows = [(f"disturbances: {kind}", self.injected[kind], None) for kind in KINDS
                if kind != "cut link" or not self.no_network]
        if self.no_network:
            rows.append(("disturbances: cut link", "left out", None))
        rows += [("disturbances", sum(self.injected.values()), None),
                 ("samples checked", self.total("checked"), None),
                 ("samples lost and reported", self.total("reported"), None),
                 ("samples lost without a report", self.total("unreported"), 0),
                 ("samples repeated", self.total("repeated"), 0),
                 ("samples with wrong content", self.total("wrong"), 0),
                 ("samples lost by undisturbed consumers", harmed, 0),
                 ("leaked descriptors", self.leaks["descriptors"], 0),
                 ("leaked threads", self.leaks["threads"], 0),
                 ("leaked memory, bytes", self.leaks["memory"], 0),
                 ("worst stall of an undisturbed consumer, ms", f"{worst:.0f}", None)]
        print()
        bad = False
        for what, value, wanted in rows:
            wrong = wanted is not None and value != wanted
            bad |= wrong
            print(f"{what:45} {value:>12}{'' if wanted is None else f'   (must be {wanted})'}{'  <-- ' if wrong else ''}")
        for failure in self.failures + [note for c in self.consumers() for note in c.notes]:
            print(f"FAILED: {failure}")
        bad |= bool(self.failures) or self.total("checked") == 0
        print(f"\n{'failed' if bad else 'passed'}; again with --seed {self.options.seed}"
              + (f"; outputs in {self.folder}" if self.options.keep else ""))
        return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder with the stream-* programs")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="default: a random one")
    parser.add_argument("--verbose", action="store_true", help="tell each disturbance")
    parser.add_argument("--keep", action="store_true", help="keep what the programs wrote")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(Soak(options).run())


if __name__ == "__main__":
    main()
