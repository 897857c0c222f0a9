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
from checks import Failed, Row, expect, received, table, wait_until, whole  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKS = ("zmq/tcp", "zmq/ipc", "posix/tcp", "posix/ipc")
SECONDS = 20  # of data, at least
LONG = 3600  # until the test ends it
DELAY_MS = 20  # as docker/lossy.yaml has it

live = []  # topologies that are up
ending = threading.Event()


def end_on_signal(engine):
    """Nothing is left behind."""
    def end(number):
        try:
            for topology in list(live):
                topology.down()  # waits for what is being put up
            engine.close()
        finally:
            os._exit(128 + number)

    def begin(number, _frame):  # the thread that this interrupts may hold any lock
        ending.set()
        threading.Thread(target=end, args=(number,)).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, begin)


class Run:
    """One compose project, from up to down."""

    def __init__(self, engine, label, file, link="zmq/tcp", seconds=LONG, **settings):
        self.label, self.link = label, link
        # Checks of health cost more than the streams do: for faults they are of no use.
        given = {"RIVULET_LINK": link, "RIVULET_SECONDS": str(seconds), "RIVULET_HEALTH_INTERVAL": "1h", **settings}
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
            if not member.running() and len(self.events(member, name)) < number:
                raise Failed(f"{self.label}: it ended without its {name} event\n{member.log()}")
            return None

        return wait_until(look, f"{self.label}: event {name} number {number}")

    def samples(self, member, name=None):
        """That it has pushed, received or passed on, as it says each second; of one of several streams, if named."""
        status = [s for s in self.events(member, "status") if name is None or s["name"] == name]
        if not member.running():
            raise Failed(f"{self.label}: it ended\n{member.log()}")
        return status[-1]["samples"] if status else 0

    def more(self, member, samples=1):
        """Waits for as many more samples, and tells how many there are then."""
        goal = self.samples(member) + samples
        wait_until(lambda: self.samples(member) >= goal, f"{self.label}: {samples} more samples")
        return self.samples(member)

    def flows(self, member):
        """Samples have come, and come."""
        self.more(member)
        self.more(member)

    def summary(self, member, number=1):
        return self.wait_event(member, "summary", number)

    def end(self, member):
        """Stops it; its summary."""
        member.stop()
        return self.summary(member)

    def healthy(self, *services):
        for service in services:
            for number, member in enumerate(self.members(service), 1):
                wait_until(member.healthy, f"{self.label}: {service}-{number} to be healthy")

    def stopped(self, *services, limit=2.0):
        """What was stopped has ended at once: as done, or, where it first heard that the publisher ended, as that."""
        for service in services:
            for member in self.members(service):
                seconds, code = member.stop_time(), member.exit_code()
                ends = {s["end"] for s in self.events(member, "summary")}
                by_itself = code == 5 and "ended" in ends
                if code != 0 and not by_itself:
                    raise Failed(f"{self.label}: {service} ended with exit code {code}\n{member.log()}")
                if seconds is None:
                    expect(by_itself, f"{self.label}: {service} had ended before it was stopped")
                else:
                    expect(seconds < limit, f"{self.label}: {service} took {seconds:.1f} s to stop")

    def publishes_without_loss(self, *services):
        for service in services:
            said = self.end(self.one(service))
            expect(said["dropped"] == said["kicked"] == 0, f"{self.label}: {service}: {said}")


# --- topologies -----------------------------------------------------------------------------------------------------


def subscribers(run, service, expected, rate_hz=1000):
    """Lets them have their share of data; their summaries, which must have everything."""
    members = run.members(service)
    expect(len(members) == expected, f"{run.label}: {len(members)} {service}, not {expected}")
    rows = []
    for number, member in enumerate(members, 1):
        wait_until(lambda: run.samples(member) >= rate_hz * SECONDS, f"{run.label}: {SECONDS} s of data")
        summary = run.end(member)
        received(summary, rate_hz * SECONDS)
        rows.append(Row(run.link, run.label.split(" ")[0], f"{service}-{number}", summary))
    return rows


def one_to_one(run):
    run.up()
    run.healthy("pub", "sub")
    rows = subscribers(run, "sub", 1)
    run.publishes_without_loss("pub")
    return rows


def one_to_many(run):
    run.up()
    run.healthy("pub", "sub")
    rows = subscribers(run, "sub", 3)
    run.publishes_without_loss("pub")
    return rows


def many_to_one(run):
    run.up()
    run.healthy("eeg", "emg", "sub")
    sub = run.one("sub")
    rates = {"EEG": 1000, "EMG": 500}
    for name, rate_hz in rates.items():
        wait_until(lambda: run.samples(sub, name) >= rate_hz * SECONDS, f"{run.label}: {SECONDS} s of {name}")
    sub.stop()
    summaries = [run.summary(sub, number) for number in (1, 2)]
    expect({s["name"] for s in summaries} == set(rates), f"{run.label}: {summaries}")
    for s in summaries:
        received(s, rates[s["name"]] * SECONDS)
    run.publishes_without_loss("eeg", "emg")
    return [Row(run.link, "many-to-one", f"sub-1 {s['name']}", s) for s in summaries]


def relay(run):
    run.up()
    run.healthy("pub", "relay", "sub")
    ready = run.wait_event(run.one("sub"), "ready")
    expect(ready["relays"] == 1, f"{run.label}: it came another way than through the relay: {ready}")
    rows = subscribers(run, "sub", 1)
    through = run.end(run.one("relay"))
    whole(through)
    expect(through["dropped"] == 0 and through["output"]["dropped"] == 0, f"{run.label}: {through}")
    expect(ready["origin"] == through["origin"] == run.wait_event(run.one("pub"), "ready")["uid"],
           f"{run.label}: the origin is not the publisher's: {ready} {through}")
    run.publishes_without_loss("pub")
    return rows


def lossy(run):
    run.up()
    run.healthy("pub", "sub")
    rows = subscribers(run, "sub", 1)
    age, impair = rows[0].summary["age_ms"], run.one("impair")
    expect(impair.running(), f"{run.label}: nothing was impaired: {impair.log()}")
    expect(age["mean"] > DELAY_MS * 0.9, f"{run.label}: {DELAY_MS} ms of delay do not show in the ages: {age}")
    expect(age["max"] > DELAY_MS * 2, f"{run.label}: nothing had to be sent again: {age}")
    run.publishes_without_loss("pub")
    return rows


def control_loop(run):
    run.up()
    consumer = run.one("consumer")
    wait_until(lambda: not consumer.running(), f"{run.label}: the consumer's end")
    said = consumer.lines()
    expect(said and consumer.exit_code() == 0, f"{run.label}: exit code {consumer.exit_code()}\n{consumer.log()}")
    result = said[-1]
    expect(result["lost"] == 0 and result["samples"] >= 200 * SECONDS, f"{run.label}: {result}")
    expect(result["answered"] == result["asked"] > SECONDS, f"{run.label}: {result}")
    expect(result["seen"] >= result["asked"] - 1, f"{run.label}: {result}")
    producer = run.one("producer")
    producer.stop()
    handled = producer.lines()[-1]["handled"]
    expect(handled == result["asked"], f"{run.label}: {handled} handled of {result['asked']}")
    return [f"{run.link} control-loop: {result['samples']} samples, none lost; {result['asked']} asked and answered, "
            f"round trip ms {result['round_trip_ms']['mean']} / {result['round_trip_ms']['max']}"]


def known_peers(run):
    run.up()
    run.healthy("pub", "near", "far")
    rows = subscribers(run, "near", 1) + subscribers(run, "far", 1)
    if "tcp" in run.link:
        hosts = {re.sub(r"^.*//|:\d+$", "", row.summary["link"]) for row in rows}
        expect(len(hosts) == 2, f"{run.label}: both reached it at the same address: {hosts}")
    run.publishes_without_loss("pub")
    return rows


TOPOLOGIES = {"one-to-one": one_to_one, "one-to-many": one_to_many, "many-to-one": many_to_one, "relay": relay,
              "lossy": lossy, "control-loop": control_loop, "known-peers": known_peers}
# What a file needs besides to end by itself after enough data, where that is not up to the test.
SETTINGS = {"control-loop": {"seconds": SECONDS * 5 // 4}}

# --- faults ---------------------------------------------------------------------------------------------------------

LIVELY = {"RIVULET_TUNING_WATCHDOG": "3s", "RIVULET_TUNING_KEEPALIVE": "500ms"}
PATIENT = {"RIVULET_TUNING_BUFFER": "300s"}  # for commands of the engine, that take their time


def fault_ten_join(engine):
    run = Run(engine, "ten-join", "one-to-many.yaml")
    run.up("pub", "sub", scale={"sub": 1})
    first = run.one("sub")
    run.flows(first)
    run.up("sub", scale={"sub": 11})
    joined = run.members("sub")[1:]
    expect(len(joined) == 10, "there are not ten")
    for member in joined:
        wait_until(lambda: run.samples(member) >= 5000, "5 s of data each")
    for member in [first, *joined]:
        received(run.end(member), 5000)
    run.publishes_without_loss("pub")
    return "eleven whole streams"


def fault_publisher_killed(engine):
    run = Run(engine, "publisher-killed", "one-to-one.yaml")
    run.up()
    sub = run.one("sub")
    run.flows(sub)
    run.one("pub").kill()
    run.one("pub").start()
    run.wait_event(sub, "segment")
    run.flows(sub)
    summary = run.end(sub)
    whole(summary)
    expect((summary["segments"], summary["dropped"]) == (2, 0), f"{summary}")
    return "a new segment, nothing lost within either"


def loses_nothing(run, disturb, restore):
    """Disturbs the subscriber while 3000 samples are published; its summary."""
    run.up()
    sub, pub = run.one("sub"), run.one("pub")
    run.flows(sub)
    disturb(sub)
    run.more(pub, 3000)
    restore(sub)
    run.flows(sub)
    published = run.more(pub)
    wait_until(lambda: run.samples(sub) >= published - 5000, "the subscriber to be up to date again")
    summary = run.end(sub)
    whole(summary)
    expect(summary["dropped"] == 0 and summary["segments"] == 1, f"{summary}")
    return summary


def fault_subscriber_paused(engine):
    run = Run(engine, "subscriber-paused", "one-to-one.yaml", **PATIENT)
    summary = loses_nothing(run, lambda sub: sub.pause(), lambda sub: sub.unpause())
    expect(summary["age_ms"]["max"] > 1500, f"the pause does not show in the ages: {summary}")
    return f"nothing lost; the oldest sample came {summary['age_ms']['max'] / 1000:.1f} s late"


def cut_of(link):
    """The subscriber's network disconnected and connected again."""
    def fault(engine):
        run = Run(engine, f"network-cut-{link}", "one-to-one.yaml", link, **LIVELY, **PATIENT)
        loses_nothing(run, lambda sub: sub.disconnect(), lambda sub: sub.connect())
        return "went on where it was, nothing lost or repeated"

    return fault


def fault_relay_restarted(engine):
    run = Run(engine, "relay-restarted", "relay.yaml", **LIVELY)
    run.up()
    sub = run.one("sub")
    run.flows(sub)
    run.one("relay").kill()
    run.one("relay").start()
    run.flows(sub)
    summary = run.end(sub)
    whole(summary)
    expect(summary["segments"] == 1, f"the same stream by another relay is no new segment: {summary}")
    expect(summary["dropped"] > 0, f"what was pushed while there was no relay is not missing: {summary}")
    return f"the same stream goes on, a gap of {summary['dropped']} counted samples"


def stop_of(name):
    """Stops all services of a file at once, while data flows."""
    def fault(engine):
        run = Run(engine, f"stop-{name}", f"{name}.yaml")
        run.up()
        services = run.topology.services()
        if name == "control-loop":
            wait_until(run.one("consumer").lines, "the consumer to be answered")
        else:
            for member in (member for service in services for member in run.members(service)):
                wait_until(lambda: "impair: " in member.log() or run.samples(member) > 0, f"{name}: data everywhere")
        run.topology.stop()
        run.stopped(*services, limit=2.0)
        longest = max(member.stop_time() or 0 for service in services for member in run.members(service))
        return f"{', '.join(services)}: each within {longest:.1f} s"

    return fault


def fault_same_host_name(engine):
    run = Run(engine, "same-host-name", "many-to-one.yaml", RIVULET_HOSTNAME="twin", RIVULET_HEALTH_INTERVAL="3s")
    return f"two of one name, {len(many_to_one(run))} whole streams"


def fault_publisher_later(engine):
    run = Run(engine, "publisher-later", "one-to-one.yaml", seconds=10)
    run.up("sub")
    sub = run.one("sub")
    wait_until(lambda: not sub.check(), "the subscriber to find nothing")
    expect(sub.running() and not sub.lines(), f"it waits: {sub.lines()}")
    run.up("pub")
    received(run.summary(sub), 5000)
    expect(sub.exit_code() == 0, f"exit code {sub.exit_code()}")
    return "found when it came, received for as long as asked for"


def fault_two_networks(engine):
    """A publisher gets into a second network while it runs."""
    run = Run(engine, "two-networks", "relay.yaml", link="posix/tcp")
    run.up("pub", "sub")
    sub, pub = run.one("sub"), run.one("pub")
    wait_until(lambda: not sub.check(), "the subscriber in the other network to find nothing")
    expect(not sub.lines(), f"it came through: {sub.lines()}")
    address = run.topology.attach(pub, "analysis")
    ready = run.wait_event(sub, "ready")
    expect(ready["relays"] == 0 and f"//{address}:" in ready["link"], f"not at {address}: {ready}")
    run.flows(sub)
    received(run.end(sub), 1)
    return "found at its address in the network that it was attached to"


FAULTS = {name.removeprefix("fault_").replace("_", "-"): f for name, f in list(globals().items())
          if name.startswith("fault_")}
FAULTS |= {f"network-cut {link}": cut_of(link) for link in LINKS if "tcp" in link}
FAULTS |= {f"stop {name}": stop_of(name) for name in TOPOLOGIES}

# --- the matrix -----------------------------------------------------------------------------------------------------


def jobs(engine, quick, only):
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
    if engine.name == "docker":
        out.append(("image", lambda _: [f"image: {engine.check_image()}"]))
    for name, body in FAULTS.items():
        out.append((f"fault {name}", lambda engine, n=name, b=body: [f"fault {n}: {b(engine)}"]))
    return [job for job in out if not only or any(word in job[0] for word in only)]


def topology_job(engine, name, link, body, label):
    run = Run(engine, label, f"{name}.yaml", link, RIVULET_HEALTH_INTERVAL="3s", **SETTINGS.get(name, {}))
    return body(run)


def carry_out(engine, label, body):
    """What the job gives; nothing of it is left up."""
    tracker = Tracker(engine)
    try:
        return body(tracker)
    except Exception:
        for topology in tracker.made:
            tell_logs(topology, label)
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
        if ending.is_set():
            raise Failed("asked to end")
        self.made.append(self.engine.topology(*arguments))
        return self.made[-1]


def tell_logs(topology, label):
    for service in topology.services():
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
    tag = f"rvt{os.getpid()}"
    engine = (kind(ROOT, options.image or "rivulet-test", tag) if options.engine == "docker"
              else kind(ROOT, pathlib.Path(options.bin).resolve()))
    end_on_signal(engine)
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
            results, problem = carry_out(engine, label, body), ""
        except AssertionError as e:
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
        list(pool.map(work, jobs(engine, options.quick, options.only)))
    engine.close()
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
