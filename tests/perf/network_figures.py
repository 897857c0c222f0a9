#!/usr/bin/env python3
"""Prints how long it takes to find 1, 100, 1000 streams, on a host and between two, what 1000 idle streams send, what
processes with 1000 outlets and inlets take, and how soon a stream goes on after a cut of 2 s.

network_figures.py PROGRAM [SECONDS]: PROGRAM is network_probe; SECONDS of listening to the idle streams. Between
hosts (network namespaces) only as root. Figures mean something in a Release build on an idle machine.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

PROBE = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 10
HOSTS = [f"rvfig{os.getpid()}{side}" for side in "ab"]
SWITCH = f"rvfig{os.getpid()}s"
ENVIRONMENT = {**os.environ, "RIVULET_SESSION_NAME": f"figures-{os.getpid()}",
               "RIVULET_DISCOVERY_PORT": str(20000 + os.getpid() % 10000)}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def hosts():
    """Two namespaces and a switch between them; False where they cannot be made."""
    try:
        run("ip", "netns", "add", SWITCH)
        run("ip", "-n", SWITCH, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        run("ip", "-n", SWITCH, "link", "set", "br0", "up")
        for number, host in enumerate(HOSTS, 1):
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", SWITCH, "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", host)
            run("ip", "-n", SWITCH, "link", "set", f"p{number}", "master", "br0", "up")
            run("ip", "-n", host, "link", "set", "eth0", "up")
            run("ip", "-n", host, "addr", "add", f"10.90.0.{number}/24", "dev", "eth0")
        return True
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"one host only, as namespaces cannot be made: {e}")
        return False


def inside(host):
    return ["ip", "netns", "exec", host] if host else []


def sent(host, device):
    link = json.loads(run("ip", "-n", host, "-s", "-j", "link", "show", "dev", device))[0]
    return link["stats64"]["tx"]["bytes"], link["stats64"]["tx"]["packets"]


def probe(host, *arguments):
    return subprocess.Popen([*inside(host), PROBE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env=ENVIRONMENT)  # ip netns exec becomes the program: its pid is ours


def told(process, number):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"^{number}:\s+(\d+)", status, re.MULTILINE).group(1))


def thousand(host):
    """What a process with 1000 outlets and one with 1000 inlets take; connected, nothing pushed."""
    with probe(host, "publish", "1000") as publisher:
        publisher.stdout.readline()
        alone = told(publisher, "VmRSS")
        with probe(host, "open", "1000") as consumer:
            took = consumer.stdout.readline().split()[1]
            print(f"1000 outlets: {told(publisher, 'Threads')} threads, {alone / 1024:.1f} MiB, with a consumer each "
                  f"{told(publisher, 'VmRSS') / 1024:.1f} MiB", flush=True)
            print(f"1000 inlets: {told(consumer, 'Threads')} threads, {told(consumer, 'VmRSS') / 1024:.1f} MiB; "
                  f"opening one took {took} ms", flush=True)
            consumer.stdin.close()
        publisher.stdin.close()


def recovery(scheme, rounds=5):
    """How soon samples come after the switch between two hosts has let nothing through for 2 s: neither of them sees
    that its link is down, and no connection ends."""
    times = []
    with probe(HOSTS[0], "stream", f"{scheme}://10.90.0.1:7777") as publisher:
        publisher.stdout.readline()
        with probe(HOSTS[1], "follow", f"{scheme}://10.90.0.1:7777", str(rounds * 8)) as consumer:
            _, clock_ms, uncertainty_us = consumer.stdout.readline().split()
            print(f"{scheme}: the other host's clock is known {clock_ms} ms after it was asked for, to "
                  f"{uncertainty_us} us", flush=True)
            for _ in range(rounds):
                time.sleep(1)
                run("ip", "-n", SWITCH, "link", "set", "p1", "nomaster")
                time.sleep(2)  # the cut that is measured
                restored = time.monotonic()
                run("ip", "-n", SWITCH, "link", "set", "p1", "master", "br0")
                heard = 0
                while heard < restored:  # also told: silences that a busy machine made before
                    heard = float(consumer.stdout.readline().split()[1])
                times.append(heard - restored)
            lost = consumer.stdout.readline().split()[-1]
            print(f"{scheme}: goes on {sorted(times)[len(times) // 2]:.2f} s (best {min(times):.2f}, worst "
                  f"{max(times):.2f}) after a cut of 2 s; samples lost: {lost}", flush=True)
        publisher.stdin.close()
    return int(lost)


def figures(publisher_host, resolver_host, where):
    for count in (1, 100, 1000):
        with probe(publisher_host, "publish", str(count)) as publisher:
            made = publisher.stdout.readline().split()[1]
            found = subprocess.run([*inside(resolver_host), PROBE, "resolve", str(count), "11"], check=True,
                                   stdout=subprocess.PIPE, text=True, env=ENVIRONMENT).stdout
            times = sorted(float(line.split()[1]) for line in found.splitlines())
            print(f"{where}: {count:4} streams found in {times[len(times) // 2]:8.2f} ms (best {times[0]:.2f}, worst "
                  f"{times[-1]:.2f}); making an outlet took {made} ms", flush=True)
            if count == 1000 and publisher_host:
                for device in ("eth0", "lo"):
                    before, began = sent(publisher_host, device), time.monotonic()
                    time.sleep(SECONDS)  # the window of the measurement
                    after, seconds = sent(publisher_host, device), time.monotonic() - began
                    print(f"{where}: 1000 idle streams send {(after[0] - before[0]) / seconds:.0f} bytes/s in "
                          f"{(after[1] - before[1]) / seconds:.1f} packets/s on {device}", flush=True)
            publisher.stdin.close()


namespaces = os.geteuid() == 0 and hosts()
try:
    here = HOSTS[0] if namespaces else None
    figures(here, here, "one host")
    thousand(here)
    lost = 0
    if namespaces:
        figures(HOSTS[0], HOSTS[1], "two hosts")
        lost = recovery("posix+tcp") + recovery("zmq+tcp")
finally:
    for host in [*HOSTS, SWITCH]:
        subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL, check=False)
sys.exit(1 if lost else 0)
