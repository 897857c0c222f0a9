"""Discovery between hosts: network namespaces joined by bridges, within namespaces of their own. Needs root."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from harness import BIN, ToolTest, main, wait_until


def run(*command, check=True):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stdout}")
    return done


def why_not():
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    if not shutil.which("ip"):
        return "needs ip (package iproute2)"
    name = f"rvprobe{os.getpid()}"
    made = run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return f"cannot make network namespaces here: {made.stdout.strip()}"
    pair = run("ip", "-n", name, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", check=False)
    bridge = run("ip", "-n", name, "link", "add", "bridge0", "type", "bridge", check=False)
    run("ip", "netns", "del", name)
    if pair.returncode != 0 or bridge.returncode != 0:
        return f"this kernel lacks veth or bridge: {(pair.stdout + bridge.stdout).strip()}"
    return ""


REASON = why_not()


@unittest.skipIf(REASON, REASON)
class Namespaces(ToolTest):
    """Hosts a, b, c, ... with an interface each on a bridge; all names carry this process's id."""

    serial = 0

    def setUp(self):
        super().setUp()
        self.hosts = []

    def namespace(self, name):
        Namespaces.serial += 1
        full = f"rv{os.getpid()}-{Namespaces.serial}{name}"
        run("ip", "netns", "add", full)
        self.addCleanup(run, "ip", "netns", "del", full, check=False)
        return full

    def ip(self, host, *arguments):
        return run("ip", "-n", host, *arguments).stdout

    def in_host(self, host):
        return ("ip", "netns", "exec", host)

    def bridge(self):
        switch = self.namespace("sw")
        self.ip(switch, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        self.ip(switch, "link", "set", "br0", "up")
        return switch

    def host(self, name):
        full = self.namespace(name)
        self.ip(full, "link", "set", "lo", "up")
        return full

    def plug(self, host, switch, address=None, device="eth0", link_local=False):
        """A cable from the host's device to the switch."""
        Namespaces.serial += 1
        port = f"p{Namespaces.serial}"
        self.ip(switch, "link", "add", port, "type", "veth", "peer", "name", device, "netns", host)
        self.ip(switch, "link", "set", port, "master", "br0", "up")
        if not link_local:
            run(*self.in_host(host), "sysctl", "-qw", f"net.ipv6.conf.{device}.addr_gen_mode=1", check=False)
        run(*self.in_host(host), "sysctl", "-qw", f"net.ipv6.conf.{device}.accept_dad=0", check=False)
        self.ip(host, "link", "set", device, "up")
        if address:
            self.ip(host, "addr", "add", address, *(["nodad"] if ":" in address else []), "dev", device)

    def lan(self, *names, network="10.77.0"):
        switch = self.bridge()
        hosts = []
        for number, name in enumerate(names, 1):
            hosts.append(self.host(name))
            self.plug(hosts[-1], switch, f"{network}.{number}/24")
        return hosts

    def publish(self, host, name, *arguments):
        # The last --bind counts for what is offered; wildcard hosts are the interesting ones.
        bind = () if "--bind" in arguments else ("--bind", "posix+tcp://*:*")
        tool = self.pub("--name", name, *bind, *arguments, prefix=self.in_host(host))
        tool.wait_event("ready")
        return tool

    def listed(self, host, *arguments, code=0):
        done = subprocess.run([*self.in_host(host), str(BIN / "stream-ls"), "--json", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=90, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def names(self, host, *arguments, **how):
        return sorted(stream["name"] for stream in self.listed(host, *arguments, **how))

    def receives(self, host, name):
        """Samples come from host to host."""
        sub = self.sub("--name", name, "--count", "20", "--output-format", "none", "--timeout", "60",
                       prefix=self.in_host(host))
        self.ends(sub)
        return sub.events("ready")[0]["link"]

    def test_three_hosts_on_a_bridge(self):
        a, b, c = self.lan("a", "b", "c")
        self.publish(a, "from-a")
        self.publish(b, "from-b", "--bind", "zmq+tcp://*:*")
        for host in (a, b, c):
            self.assertEqual(self.names(host, "--minimum", "2", "--timeout", "60"), ["from-a", "from-b"])
        self.assertIn("//10.77.0.1:", self.receives(c, "from-a"))
        self.assertIn("//10.77.0.2:", self.receives(a, "from-b"))
        self.assertIn("//127.0.0.1:", self.receives(a, "from-a"))

    def test_a_host_with_two_networks_offers_the_address_on_the_askers(self):
        one, two = self.bridge(), self.bridge()
        middle, left, right = self.host("m"), self.host("l"), self.host("r")
        self.plug(middle, one, "10.78.1.1/24", "eth0")
        self.plug(middle, two, "10.78.2.1/24", "eth1")
        self.plug(left, one, "10.78.1.2/24")
        self.plug(right, two, "10.78.2.2/24")
        self.publish(middle, "both")
        for host, address in ((left, "10.78.1.1"), (right, "10.78.2.1")):
            endpoints = self.listed(host, "--minimum", "1", "--timeout", "60")[0]["endpoints"]
            self.assertEqual(len(endpoints), 1)
            self.assertIn(f"//{address}:", endpoints[0])
            self.receives(host, "both")

    def test_loopback_only(self):
        alone = self.host("o")
        for number in range(3):
            self.publish(alone, f"s{number}")
        self.assertEqual(self.names(alone), ["s0", "s1", "s2"])
        self.receives(alone, "s1")

    def test_no_interface_at_all(self):
        nowhere = self.namespace("n")
        self.assertEqual(self.names(nowhere, "--timeout", "0.2", code=3), [])
        self.publish(nowhere, "lonely", "--bind", f"posix+unix://{self.folder}/s")
        self.ip(nowhere, "link", "set", "lo", "up")
        wait_until(lambda: self.listed_or_none(nowhere) == ["lonely"], "the stream, once there is an interface")

    def listed_or_none(self, host):
        done = subprocess.run([*self.in_host(host), str(BIN / "stream-ls"), "--json", "--timeout", "1"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=90)
        return sorted(json.loads(line)["name"] for line in done.stdout.splitlines())

    def test_ipv6_only(self):
        switch = self.bridge()
        a, b = self.host("a"), self.host("b")
        self.plug(a, switch, "fd77::1/64")
        self.plug(b, switch, "fd77::2/64")
        self.publish(a, "six", "--bind", "zmq+tcp://*:*", "--bind", "posix+tcp://*:*")
        endpoints = self.listed(b, "--minimum", "1", "--timeout", "60")[0]["endpoints"]
        self.assertTrue(all("//[fd77::1]:" in e for e in endpoints), endpoints)
        self.receives(b, "six")
        self.receives(a, "six")

    def test_link_local_addresses_carry_their_interface(self):
        switch = self.bridge()
        a, b = self.host("a"), self.host("b")
        self.plug(a, switch, link_local=True)
        self.plug(b, switch, link_local=True)
        for host in (a, b):
            if "fe80" not in wait_until(lambda: self.ip(host, "-6", "addr", "show", "dev", "eth0"), "an address"):
                self.skipTest("this kernel gives no link-local addresses")
        self.publish(a, "local")
        endpoints = self.listed(b, "--minimum", "1", "--timeout", "60")[0]["endpoints"]
        self.assertRegex(endpoints[0], r"//\[fe80::[0-9a-f:]+%eth0\]:")
        self.receives(b, "local")

    def test_a_cut_and_restored_link(self):
        a, b = self.lan("a", "b")
        self.publish(a, "EEG")
        watch = self.start("stream-ls", "--watch", "--json", "--timeout", "0", prefix=self.in_host(b))

        def events():
            return [json.loads(line)["event"] for line in watch.stdout().splitlines()]

        wait_until(lambda: "appeared" in events(), "the stream")
        for host, device in ((a, "eth0"), (b, "eth0")):
            before = events().count("disappeared")
            self.ip(host, "link", "set", device, "down")
            wait_until(lambda: events().count("disappeared") > before, "its end")
            appeared = events().count("appeared")
            self.ip(host, "link", "set", device, "up")
            wait_until(lambda: events().count("appeared") > appeared, "its return")
        self.receives(b, "EEG")

    def test_an_address_that_comes_later(self):
        switch = self.bridge()
        a, b = self.host("a"), self.host("b")
        self.plug(b, switch, "10.79.0.2/24")
        self.publish(a, "EEG")  # has no network yet
        self.assertEqual(self.names(b, "--timeout", "0.3", code=3), [])
        self.plug(a, switch, "10.79.0.1/24")
        self.assertEqual(self.names(b, "--minimum", "1", "--timeout", "60"), ["EEG"])

    def test_half_of_all_datagrams_lost(self):
        if not shutil.which("iptables"):
            self.skipTest("needs iptables")
        a, b = self.lan("a", "b")
        for host in (a, b):
            lossy = run(*self.in_host(host), "iptables", "-A", "INPUT", "-p", "udp", "-m", "statistic", "--mode",
                        "random", "--probability", "0.5", "-j", "DROP", check=False)
            if lossy.returncode != 0:
                self.skipTest(f"this kernel cannot drop at random: {lossy.stdout.strip()}")
        for number in range(5):
            self.publish(a, f"s{number}")
        self.assertEqual(len(self.names(b, "--minimum", "5", "--timeout", "60")), 5)
        self.receives(b, "s3")

    def test_fifty_processes_of_a_host(self):
        a, b = self.lan("a", "b")
        tools = [self.pub("--name", f"s{number:02}", "--bind", "posix+tcp://*:*", "--rate", "1",
                          prefix=self.in_host(a)) for number in range(50)]
        expected = [f"s{number:02}" for number in range(50)]
        self.assertEqual(self.names(b, "--minimum", "50", "--timeout", "80"), expected)
        for tool in tools:
            tool.wait_event("ready")
        self.assertEqual(self.names(b), expected, "without --minimum all are found, too")

    def test_known_peers_across_a_router(self):
        one, two = self.bridge(), self.bridge()
        router, left, right = self.host("x"), self.host("l"), self.host("r")
        run(*self.in_host(router), "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.plug(router, one, "10.80.1.254/24", "eth0")
        self.plug(router, two, "10.80.2.254/24", "eth1")
        for host, switch, network in ((left, one, 1), (right, two, 2)):
            self.plug(host, switch, f"10.80.{network}.1/24")
            self.ip(host, "route", "add", "default", "via", f"10.80.{network}.254")
        self.publish(left, "far")
        self.publish(left, "away")
        self.assertEqual(self.names(right, "--timeout", "0.5", code=3), [], "multicasts do not cross the router")
        found = self.names(right, "--known-peer", "10.80.1.1", "--minimum", "2", "--timeout", "60")
        self.assertEqual(found, ["away", "far"], "both processes answer, although one gets the question")
        for name in found:
            sub = self.sub("--name", name, "--known-peer", "10.80.1.1", "--count", "100", "--timeout", "60",
                           "--output-format", "none", prefix=self.in_host(right))
            self.ends(sub)
            self.assertIn("//10.80.1.1:", sub.wait_event("ready")["link"])
        # The other way round: the publisher knows who is to hear of it.
        self.publish(left, "telling", "--known-peer", "10.80.2.1")
        self.assertEqual(self.names(right, "--name", "telling", "--minimum", "1", "--timeout", "60"), ["telling"])

    def test_sessions_are_separate(self):
        a, b = self.lan("a", "b")
        self.publish(a, "one", "--session", "lab1")
        self.publish(a, "two", "--session", "lab2")
        self.assertEqual(self.names(b, "--session", "lab1", "--minimum", "1", "--timeout", "60"), ["one"])
        self.assertEqual(self.names(b, "--session", "lab2", "--minimum", "1", "--timeout", "60"), ["two"])
        self.assertEqual(self.names(b, "--timeout", "0.5", code=3), [])

    # --- streams that are received meanwhile

    def stream(self, scheme, **how):
        """A counter at 1 kHz on host a, received by name on host b; both programs, and the hosts."""
        a, b = self.lan("a", "b")
        pub = self.pub("--name", "EEG", "--source-id", "amp", "--signal", "counter", "--channels", "1", "--rate",
                       "1000", "--bind", f"{scheme}://*:*", prefix=self.in_host(a), **how)
        pub.wait_event("ready")
        sub = self.sub("--name", "EEG", "--output-format", "none", "--summary", "json", "--timeout", "60",
                       prefix=self.in_host(b), **how)
        self.goes_on(sub)
        return pub, sub, a, b

    @staticmethod
    def samples(sub):
        return sub.events("status")[-1]["samples"] if sub.events("status") else 0

    def goes_on(self, sub, more=500):
        goal = self.samples(sub) + more
        wait_until(lambda: self.samples(sub) > goal, f"{more} more samples of {sub.describe()}")

    def falls_silent(self, sub):
        before = len(sub.events("status"))
        wait_until(lambda: [s for s in sub.events("status")[before:] if s["rate_hz"] == 0], "silence")

    def lost_nothing(self, sub):
        self.goes_on(sub)
        sub.send(signal.SIGINT)
        self.ends(sub)
        summary = self.summary(sub)
        self.assertEqual((summary["dropped"], summary["repeated"], summary["segments"]), (0, 0, 1), summary)
        self.assertEqual(summary["samples"], summary["seq_last"] - summary["seq_first"] + 1)
        return summary

    IMPATIENT = {"RIVULET_TUNING_WATCHDOG": "2s", "RIVULET_TUNING_KEEPALIVE": "300ms"}

    def test_a_link_that_is_cut_for_a_while_loses_nothing(self):
        for scheme in ("zmq+tcp", "posix+tcp"):
            _, sub, a, _ = self.stream(scheme)
            self.ip(a, "link", "set", "eth0", "down")
            self.falls_silent(sub)
            self.ip(a, "link", "set", "eth0", "up")
            self.lost_nothing(sub)

    def test_nor_does_one_whose_connections_are_given_up_meanwhile(self):
        for scheme in ("zmq+tcp", "posix+tcp"):
            _, sub, _, b = self.stream(scheme, variables=self.IMPATIENT)
            self.ip(b, "link", "set", "eth0", "down")
            wait_until(lambda: "connection_lost" in sub.stderr(), "the loss of the connection")
            self.ip(b, "link", "set", "eth0", "up")
            self.assertGreaterEqual(self.lost_nothing(sub)["recoveries"], 1)

    def test_a_stopped_publisher_goes_on_without_a_gap(self):
        for scheme in ("zmq+tcp", "posix+tcp"):
            pub, sub, _, _ = self.stream(scheme, variables=self.IMPATIENT)
            pub.send(signal.SIGSTOP)
            wait_until(lambda: "connection_lost" in sub.stderr(), "the loss of the connection")
            pub.send(signal.SIGCONT)
            self.lost_nothing(sub)

    def test_a_stopped_consumer_goes_on_without_a_gap(self):
        for scheme in ("zmq+tcp", "posix+tcp"):
            pub, sub, _, _ = self.stream(scheme)
            sub.send(signal.SIGSTOP)
            before = len(pub.events("status"))
            wait_until(lambda: len(pub.events("status")) > before + 3, "three seconds of samples")
            sub.send(signal.SIGCONT)
            self.lost_nothing(sub)

    def test_a_source_that_comes_back_on_another_host(self):
        for scheme in ("zmq+tcp", "posix+tcp"):
            a, b, c = self.lan("a", "b", "c")
            first = self.publish(a, "EEG", "--source-id", "amp", "--bind", f"{scheme}://*:*")
            sub = self.sub("--name", "EEG", "--output-format", "none", "--summary", "json", "--timeout", "60",
                           prefix=self.in_host(b))
            self.assertIn("//10.77.0.1:", sub.wait_event("ready")["link"])
            first.kill()
            second = self.publish(c, "EEG", "--source-id", "amp", "--bind", f"{scheme}://*:*")
            segment = sub.wait_event("segment")
            self.assertIn("//10.77.0.3:", segment["link"])
            self.assertEqual(segment["uid"], second.wait_event("ready")["uid"])
            sub.send(signal.SIGINT)
            self.ends(sub)
            self.assertEqual(self.summary(sub)["segments"], 2)

    def test_two_sources_with_one_id_are_told_to_everybody(self):
        a, b, c = self.lan("a", "b", "c")
        tools = [self.publish(host, "EEG", "--source-id", "amp") for host in (a, b)]
        tools.append(self.start("stream-ls", "--watch", prefix=self.in_host(c)))
        for tool in tools:
            wait_until(lambda t=tool: "duplicate_source" in t.stderr(), f"the warning of {tool.describe()}")
        once = self.start("stream-ls", prefix=self.in_host(c))
        self.ends(once)
        self.assertEqual(once.stderr().count("duplicate_source"), 1, once.stderr())
        for tool in tools:
            self.assertEqual(tool.stderr().count("duplicate_source"), 1, tool.describe())

    def test_a_restart_is_another_stream(self):
        a, b = self.lan("a", "b")
        first = self.publish(a, "EEG", "--source-id", "amp-17")
        uid = self.listed(b, "--minimum", "1", "--timeout", "60")[0]["uid"]
        first.kill()
        second = self.publish(a, "EEG", "--source-id", "amp-17")
        other = second.wait_event("ready")["uid"]
        self.assertNotEqual(uid, other)
        self.assertEqual([s["uid"] for s in self.listed(b, "--minimum", "1", "--timeout", "60")], [other])


if __name__ == "__main__":
    main()
