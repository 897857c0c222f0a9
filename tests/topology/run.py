#!/usr/bin/env python3
"""Runs docker/*.yaml end to end, lets them exchange data, and checks what every subscriber says of it.

  tests/topology/run.py                     the whole matrix with Docker: topologies x links, then the faults
  tests/topology/run.py --quick             what CI runs: each topology on one link, one to one on all four, the faults
  tests/topology/run.py --engine namespaces               the same without Docker, as root, with build/release/bin
  tests/topology/run.py --only relay        what has that in its name

Docker: DOCKER_HOST or a local engine, with Compose v2. The image is built from docker/Dockerfile unless --image names
one.
Prints a Markdown table of all summaries and one line a fault; exit code 1 when an outcome was not the expected one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
import docker_engine  # noqa: E402
import namespace_engine  # noqa: E402
from checks import Failed, Row, expect, received, table, whole  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKS = ("zmq/tcp", "zmq/ipc", "posix/tcp", "posix/ipc")
LIMIT = 180  # seconds that a condition may take on a loaded machine
SECONDS = 20  # of data, at least


def wait_until(condition, what, limit=LIMIT):
    deadline = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"waited {limit} s for {what}")
        time.sleep(0.3)


live = []  # topologies that are up


def end_on_signal(number, _frame):
    """Nothing is left behind."""
    for topology in list(live):
        topology.down()
    os._exit(128 + number)


class Run:
    """One compose project, from up to down."""

    def __init__(self, engine, label, file, link="zmq/tcp", seconds=SECONDS, **settings):
        self.engine, self.label, self.link = engine, label, link
        self.seconds = seconds
        given = {"RIVULET_LINK": link, "RIVULET_SECONDS": str(seconds), **settings}
        self.topology = engine.topology(file, re.sub(r"[^a-z0-9]", "-", label), given)
        live.append(self.topology)
        self.up, self.members = self.topology.up, self.topology.members

    def one(self, service):
        return self.members(service)[0]

    def events(self, member, name):
        return [line for line in member.lines() if line.get("event") == name]

    def wait_event(self, member, name, number=1):
        def look():
            found = self.events(member, name)
            if len(found) >= number:
                return found[number - 1]
            if not member.running():
                found = self.events(member, name)
                expect(len(found) >= number, f"{self.label}: it ended without its {name} event\n{member.log()}")
            return None

        return wait_until(look, f"{self.label}: event {name} number {number}")

    def flows(self, member):
        """Samples have come, and come."""
        def samples():
            status = self.events(member, "status")
            expect(status or member.running(), f"{self.label}: it ended before anything came\n{member.log()}")
            return status[-1]["samples"] if status else 0

        before = wait_until(samples, f"{self.label}: samples")
        wait_until(lambda: samples() > before, f"{self.label}: more samples")

    def summary(self, member, number=1):
        return self.wait_event(member, "summary", number)

    def healthy(self, *services):
        """As Docker sees it; processes in namespaces have no health of their own."""
        if self.engine.name == "docker":
            for service in services:
                for member in self.members(service):
                    wait_until(lambda: member.state().get("Health", {}).get("Status") == "healthy",
                               f"{self.label}: {service} to be healthy")

    def stops(self, *services, limit=2.0):
        """SIGTERM ends it at once, with exit code 0."""
        for service in services:
            for member in self.members(service):
                seconds = member.stop()
                expect(member.exit_code() == 0, f"{self.label}: {service} ended with exit code {member.exit_code()}")
                expect(seconds < limit, f"{self.label}: {service} took {seconds:.1f} s to stop")


# --- topologies -----------------------------------------------------------------------------------------------------


def subscribers(run, service, expected, rate_hz=1000):
    """Their summaries; all of them must have everything."""
    wait_until(lambda: len(run.members(service)) == expected, f"{run.label}: {expected} {service}")
    rows = []
    for number, member in enumerate(run.members(service), 1):
        summary = run.summary(member)
        received(summary, rate_hz, run.seconds)
        rows.append(Row(run.link, run.label.split(" ")[0], f"{service}-{number}", summary))
    return rows


def one_to_one(run):
    run.up()
    run.healthy("pub")
    return subscribers(run, "sub", 1)


def one_to_many(run):
    run.up()
    run.healthy("pub")
    return subscribers(run, "sub", 3)


def many_to_one(run):
    run.up()
    run.healthy("eeg", "emg")
    sub = run.one("sub")
    rows = []
    summaries = [run.summary(sub, number) for number in (1, 2)]
    expect({s["name"] for s in summaries} == {"EEG", "EMG"}, f"{run.label}: {summaries}")
    for s in summaries:
        received(s, 1000 if s["name"] == "EEG" else 500, run.seconds)
        rows.append(Row(run.link, "many-to-one", f"sub-1 {s['name']}", s))
    return rows


def relay(run):
    run.up()
    run.healthy("pub", "relay")
    sub = run.one("sub")
    ready = run.wait_event(sub, "ready")
    expect(ready["relays"] == 1, f"{run.label}: it came another way than through the relay: {ready}")
    rows = subscribers(run, "sub", 1)
    run.stops("relay", limit=10)
    through = run.summary(run.one("relay"))
    whole(through)
    expect(through["dropped"] == 0 and through["output"]["dropped"] == 0, f"{run.label}: {through}")
    return rows


def lossy(run):
    run.up("pub", "sub")
    run.wait_event(run.one("sub"), "ready")
    run.up("impair")
    rows = subscribers(run, "sub", 1)
    wait_until(lambda: not run.one("impair").running(), f"{run.label}: the rule")
    expect(run.one("impair").exit_code() == 0, f"{run.label}: no rule was made: {run.one('impair').log()}")
    return rows


def control_loop(run):
    run.up()
    consumer = run.one("consumer")
    wait_until(lambda: not consumer.running(), f"{run.label}: the consumer's end")
    said = consumer.lines()
    expect(said and consumer.exit_code() == 0, f"{run.label}: exit code {consumer.exit_code()}\n{consumer.log()}")
    result = said[-1]
    expect(result["lost"] == 0, f"{run.label}: {result}")
    expect(result["answered"] == result["asked"] > 10 * run.seconds / 20, f"{run.label}: {result}")
    expect(result["seen"] >= result["asked"] - 1, f"{run.label}: {result}")
    run.stops("producer", limit=10)
    handled = run.one("producer").lines()[-1]["handled"]
    expect(handled == result["asked"], f"{run.label}: {handled} handled of {result['asked']}")
    return [f"{run.link} control-loop: {result['asked']} asked and answered, round trip ms {result['round_trip_ms']}"]


def known_peers(run):
    run.up()
    run.healthy("pub")
    rows = subscribers(run, "near", 1) + subscribers(run, "far", 1)
    if "tcp" in run.link:
        hosts = {re.sub(r"^.*//|:\d+$", "", row.summary["link"]) for row in rows}
        expect(len(hosts) == 2, f"{run.label}: both reached it at the same address: {hosts}")
    return rows


TOPOLOGIES = {"one-to-one": one_to_one, "one-to-many": one_to_many, "many-to-one": many_to_one, "relay": relay,
              "lossy": lossy, "control-loop": control_loop, "known-peers": known_peers}

# --- faults ---------------------------------------------------------------------------------------------------------

LIVELY = {"RIVULET_TUNING_WATCHDOG": "3s", "RIVULET_TUNING_KEEPALIVE": "500ms"}
LONG = 600  # ended by the test


def end_of(run, service="sub"):
    """Stops a subscriber; its summary."""
    for member in run.members(service):
        member.stop()
    return run.summary(run.one(service))


def fault_publisher_killed(engine):
    run = Run(engine, "publisher-killed", "one-to-one.yaml", seconds=LONG)
    run.up()
    sub = run.one("sub")
    run.flows(sub)
    run.one("pub").kill()
    run.one("pub").start()
    run.wait_event(sub, "segment")
    run.flows(sub)
    summary = end_of(run)
    whole(summary)
    expect((summary["segments"], summary["dropped"]) == (2, 0), f"{summary}")
    return run, "a new segment, nothing lost within either"


def loses_nothing(run, disturb, restore):
    """Disturbs the subscriber for three seconds; its summary."""
    run.up()
    sub = run.one("sub")
    run.flows(sub)
    disturb(sub)
    time.sleep(3)  # how long it is disturbed
    restore(sub)
    run.flows(sub)
    summary = end_of(run)
    whole(summary)
    expect(summary["dropped"] == 0 and summary["segments"] == 1, f"{summary}")
    return summary


def fault_subscriber_paused(engine):
    run = Run(engine, "subscriber-paused", "one-to-one.yaml", seconds=LONG)
    summary = loses_nothing(run, lambda sub: sub.pause(), lambda sub: sub.unpause())
    expect(summary["age_ms"]["max"] > 1500, f"the pause does not show in the ages: {summary}")
    return run, f"nothing lost; the oldest sample came {summary['age_ms']['max'] / 1000:.1f} s late"


def fault_network_cut(engine):
    run = Run(engine, "network-cut", "one-to-one.yaml", seconds=LONG, link="posix/tcp", **LIVELY)
    loses_nothing(run, lambda sub: sub.disconnect(), lambda sub: sub.connect())
    return run, "went on where it was, nothing lost or repeated"


def fault_relay_restarted(engine):
    run = Run(engine, "relay-restarted", "relay.yaml", seconds=LONG, **LIVELY)
    run.up()
    sub = run.one("sub")
    run.flows(sub)
    run.one("relay").kill()
    run.one("relay").start()
    run.flows(sub)
    summary = end_of(run)
    whole(summary)
    expect(summary["segments"] == 1, f"the same stream by another relay is no new segment: {summary}")
    return run, f"the same stream goes on, a gap of {summary['dropped']} counted samples"


def fault_stop(engine):
    files = {"one-to-one.yaml": ("sub", "pub"), "relay.yaml": ("relay",), "control-loop.yaml": ("producer",)}
    runs = []
    for file, services in files.items():
        run = Run(engine, f"stop-{file.removesuffix('.yaml')}", file, seconds=LONG)
        runs.append(run)
        run.up()
        if "sub" in run.topology.compose_services():
            run.flows(run.one("sub"))
        run.stops(*services, limit=2.0)
    return runs, "every service ends within 2 s, exit code 0"


def fault_same_host_name(engine):
    run = Run(engine, "same-host-name", "many-to-one.yaml", RIVULET_HOSTNAME="twin")
    return run, f"two of one name, {len(many_to_one(run))} whole streams"


def fault_publisher_later(engine):
    run = Run(engine, "publisher-later", "one-to-one.yaml", seconds=5)
    run.up("sub")
    wait_until(lambda: run.one("sub").running(), "the subscriber")
    time.sleep(2)  # it searches, and there is nothing
    run.up("pub")
    received(run.summary(run.one("sub")), 1000, 5)
    return run, "found when it came"


def fault_ten_join(engine):
    run = Run(engine, "ten-join", "one-to-many.yaml", seconds=10)
    run.up("pub", "sub", scale={"sub": 1})
    run.flows(run.one("sub"))
    run.up("sub", scale={"sub": 10})
    expect(len(run.members("sub")) == 10, "there are not ten")
    for member in run.members("sub"):
        received(run.summary(member), 1000, 10)
    return run, "ten whole streams"


def fault_two_networks(engine):
    run = Run(engine, "two-networks", "relay.yaml", link="posix/tcp")
    run.up()
    ready = run.wait_event(run.one("relay"), "ready")
    expect(ready["relays"] == 1, f"{ready}")
    received(run.summary(run.one("sub")), 1000, SECONDS)
    return run, "each side is offered the address that it can reach"


FAULTS = {name.removeprefix("fault_").replace("_", "-"): f for name, f in list(globals().items())
          if name.startswith("fault_")}

# --- the matrix -----------------------------------------------------------------------------------------------------


def jobs(quick, only):
    """(label, function of an engine that gives rows or a line)"""
    out = []
    for name, body in TOPOLOGIES.items():
        for number, link in enumerate(LINKS):
            if quick and name != "one-to-one" and number != list(TOPOLOGIES).index(name) % 2 * 2:
                continue
            if name == "lossy" and "ipc" in link:
                continue  # nothing of it goes over the network
            label = f"{name} {link}"
            out.append((label, lambda engine, n=name, l=link, b=body, s=label: topology_job(engine, n, l, b, s)))
    for name, body in FAULTS.items():
        out.append((f"fault {name}", lambda engine, n=name, b=body: fault_job(engine, n, b)))
    return [job for job in out if not only or any(word in job[0] for word in only)]


def topology_job(engine, name, link, body, label):
    run = Run(engine, label, f"{name}.yaml", link)
    try:
        return body(run)
    except Exception:
        tell_logs(run)
        raise
    finally:
        live.remove(run.topology)
        run.topology.down()


def fault_job(engine, name, body):
    tracker = Tracker(engine)
    try:
        return [f"fault {name}: {body(tracker)[1]}"]
    except Exception:
        for topology in tracker.made:
            tell_logs_of(topology, f"fault {name}")
        raise
    finally:
        for topology in tracker.made:
            live.remove(topology)
            topology.down()


class Tracker:
    """An engine that remembers what it has made."""

    def __init__(self, engine):
        self.engine, self.name, self.made = engine, engine.name, []

    def topology(self, *arguments):
        self.made.append(self.engine.topology(*arguments))
        return self.made[-1]


def tell_logs(run):
    tell_logs_of(run.topology, run.label)


def tell_logs_of(topology, label):
    for service in topology.compose_services():
        for member in topology.members(service):
            print(f"--- {label}: {service}\n{member.log()}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("docker", "namespaces"), default="docker")
    parser.add_argument("--quick", action="store_true", help="each topology on one link, one to one on all")
    parser.add_argument("--only", action="append", metavar="TEXT", help="only what has that in its name (repeatable)")
    parser.add_argument("--bin", default="build/release/bin", help="where the programs are, for namespaces")
    parser.add_argument("--image", help="use this image, and -examples, -impair of it, in place of building")
    parser.add_argument("--prebuilt", type=pathlib.Path,
                        help="folder in a build context with an installed tree, see docker/Dockerfile")
    parser.add_argument("--parallel", type=int, default=os.cpu_count() * 3, help="at once (default: 3 a processor)")
    parser.add_argument("--json", type=pathlib.Path, help="writes all summaries there, one a line")
    options = parser.parse_args()

    kind = {"docker": docker_engine, "namespaces": namespace_engine}[options.engine].Engine
    if why := kind.why_not():
        print(f"topology: skipped: {why}")
        return 77
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_on_signal)
    tag = f"rvt{os.getpid()}"
    engine = (kind(ROOT, options.image or "rivulet-test", tag) if options.engine == "docker"
              else kind(ROOT, pathlib.Path(options.bin).resolve()))
    began = time.monotonic()
    if not options.image:
        engine.prepare(options.prebuilt.resolve() if options.prebuilt else None)
    built = time.monotonic()

    rows, lines, problems = [], [], []
    lock = threading.Lock()

    def work(job):
        label, body = job
        started = time.monotonic()
        try:
            results, problem = body(engine), ""
        except Failed as e:
            results, problem = [], str(e)
        except Exception:
            results, problem = [], traceback.format_exc()
        with lock:
            for result in results:
                rows.append(result) if isinstance(result, Row) else lines.append(result)
            if problem:
                problems.append(f"{label}: {problem}")
            print(f"{'FAILED' if problem else 'ok    '} {label} ({time.monotonic() - started:.0f} s)", file=sys.stderr,
                  flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        list(pool.map(work, jobs(options.quick, options.only)))
    rows.sort(key=lambda row: (row.topology, row.link, row.subscriber))
    print(table(rows))
    print("\n".join(["", *sorted(lines)]))
    if options.json:
        options.json.write_text("".join(json.dumps({"link": r.link, "topology": r.topology, "subscriber": r.subscriber,
                                                    **r.summary}) + "\n" for r in rows))
    for problem in problems:
        print(f"\nFAILED {problem}")
    print(f"\n{options.engine}: images {built - began:.0f} s, runs {time.monotonic() - built:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
