"""Who takes part in a soak: programs that can be disturbed, and what their consumers must see."""

import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import time


class Failure(Exception):
    pass


_ports = set()


def spare_port():
    """A TCP port that nobody uses, and that is no ephemeral one: nobody gets it by chance while it is given up for a
    moment."""
    while True:
        port = 20000 + int.from_bytes(os.urandom(2), "big") % 10000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _ports:
            _ports.add(port)
            return port


def _run(*command, check=True):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if check and done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stdout}")
    return done


def why_no_namespaces():
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    if not shutil.which("ip"):
        return "needs ip (package iproute2)"
    name = f"rvsprobe{os.getpid()}"
    made = _run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return f"cannot make network namespaces here: {made.stdout.strip()}"
    pair = _run("ip", "-n", name, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", check=False)
    _run("ip", "netns", "del", name, check=False)
    return f"this kernel lacks veth: {pair.stdout.strip()}" if pair.returncode != 0 else ""


class Network:
    """A namespace with a cable to it, which can be pulled out."""

    def __init__(self, soak):
        self.name = f"rvs{os.getpid()}"
        self.device = f"rvs{os.getpid() % 100000}"
        self.busy = False
        subnet = f"10.{100 + os.getpid() // 250 % 100}.{os.getpid() % 250}"
        self.inner = f"{subnet}.2"
        _run("ip", "netns", "add", self.name)
        _run("ip", "link", "add", self.device, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        _run("ip", "addr", "add", f"{subnet}.1/24", "dev", self.device)
        _run("ip", "link", "set", self.device, "up")
        for command in (("link", "set", "lo", "up"), ("addr", "add", f"{self.inner}/24", "dev", "eth0"),
                        ("link", "set", "eth0", "up")):
            _run("ip", "-n", self.name, *command)

    def cut(self):
        _run("ip", "link", "set", self.device, "down")

    def recover(self):
        _run("ip", "link", "set", self.device, "up")
        self.busy = False

    def close(self):
        _run("ip", "link", "del", self.device, check=False)
        _run("ip", "netns", "del", self.name, check=False)


class Actor:
    """A program; disturbed, it is `busy` until it has recovered."""

    def __init__(self, soak, program, name, arguments, prefix=()):
        self.soak, self.program, self.name, self.arguments, self.prefix = soak, program, name, arguments, prefix
        self.busy = self.stopped = False
        self.lives = 0
        self.start()

    def start(self):
        self.lives += 1
        base = self.soak.folder / f"{self.program}-{self.name}-{self.lives}"
        self.events_path, self.error_path = base.with_suffix(".events"), base.with_suffix(".err")
        command = [*self.prefix, str(self.soak.bin / self.program), *map(str, self.arguments),
                   "--events", str(self.events_path)]
        with open(self.error_path, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                            env=self.soak.environment, cwd=self.soak.folder)

    def events(self, *names):
        if not self.events_path.exists():
            return []
        found = [json.loads(line) for line in self.events_path.read_bytes().split(b"\n")[:-1]]
        return [event for event in found if event["event"] in names]

    def check_running(self):
        if not self.busy and self.process.poll() is not None:
            errors = self.error_path.read_text(errors="replace")[-500:]
            raise Failure(f"{self.program} {self.name} ended by itself with {self.process.returncode}: {errors}")

    def ended(self):
        return self.process.poll() is not None

    def check_end(self):
        if self.process.returncode != 0:
            self.soak.failures.append(f"{self.program} {self.name} ended with {self.process.returncode}: "
                                      f"{self.error_path.read_text(errors='replace')[-500:]}")

    def size(self):
        """Descriptors, threads, bytes of memory."""
        folder = f"/proc/{self.process.pid}"
        with open(f"{folder}/statm") as file:
            pages = int(file.read().split()[1])
        return len(os.listdir(f"{folder}/fd")), len(os.listdir(f"{folder}/task")), pages * os.sysconf("SC_PAGESIZE")

    # --- disturbances, and what ends them

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.forget_output()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def end(self):
        self.asked = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def recover(self):
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
            self.stopped = False
        else:
            if self.process.poll() is None:  # it was asked to end
                if time.monotonic() > self.asked + 60:
                    raise Failure(f"{self.program} {self.name} did not end within 60 s of SIGTERM")
                self.soak.later(0.1, self.recover)
                return
            self.forget_output()
            self.start()
        self.busy = False

    def forget_output(self):
        self.process.stdout.close()

    def destroy(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.forget_output()


class Publisher(Actor):
    def __init__(self, soak, name, endpoint, rate, network):
        self.endpoint = endpoint
        prefix = ("ip", "netns", "exec", network.name) if network else ()
        super().__init__(soak, "stream-pub", name, (
            "--name", name, "--source-id", f"soak-{name}", "--signal", "counter", "--format", "int64", "--channels", 2,
            "--rate", rate, "--chunk", max(1, rate // 200), "--bind", endpoint, "--json"), prefix)

    def final_sequence(self):
        """After the last sample of its last life."""
        return self.events("summary")[-1]["samples"]


class Relay(Actor):
    def __init__(self, soak, name, source, endpoint):
        self.endpoint = endpoint
        super().__init__(soak, "stream-relay", name, ("--connect", source, "--bind", endpoint))


class Consumer(Actor):
    """Checks each line that its program writes: stamp, sequence, and the sequence again in both channels."""

    def __init__(self, soak, name, endpoint):
        self.checked = self.reported = self.unreported = self.repeated = self.wrong = 0
        self.notes = []
        super().__init__(soak, "stream-sub", name, (
            "--connect", endpoint, "--sequence", "--on-end", "wait", "--timeout", 0, "--summary", "json"))

    def start(self):
        super().start()
        self.rest = b""
        self.next = None  # the sequence number that comes next
        self.excuses = []  # gaps and segments that its events tell of, not used yet
        self.told = 0  # events seen
        self.unread = False
        self.header = True
        os.set_blocking(self.process.stdout.fileno(), False)
        fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)  # this script may have to wait for its turn
        self.soak.selector.register(self.process.stdout, selectors.EVENT_READ, self)

    def forget_output(self):
        if not self.process.stdout.closed:
            if not self.unread:
                self.soak.selector.unregister(self.process.stdout)
            self.unread = False
            self.process.stdout.close()

    def leave_unread(self):
        self.soak.selector.unregister(self.process.stdout)
        self.unread = True

    def recover(self):
        if self.unread:
            self.soak.selector.register(self.process.stdout, selectors.EVENT_READ, self)
            self.unread = self.busy = False
        else:
            super().recover()

    def oldest_ms(self):
        """How old a sample was at most when it was pulled: the longest stall on its way here."""
        summaries = self.events("summary")
        return summaries[-1]["age_ms"]["max"] if summaries else 0

    def read(self):
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 18)
        except BlockingIOError:
            return
        if not data:  # it has ended
            self.soak.selector.unregister(self.process.stdout)
            self.unread = True
            return
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.check(line)

    def check(self, line):
        if self.header or line.startswith(b"stamp"):
            self.header = False
            return
        try:
            sequence, first, second = map(int, line.split(b",")[1:])
        except ValueError:
            self.wrong += 1
            self.notes.append(f"{self.name}: no sample: {line[:80]!r}")
            return
        self.checked += 1
        if first != sequence or second != sequence:
            self.wrong += 1
            self.notes.append(f"{self.name}: sample {sequence} carries {first}, {second}")
        if self.next is not None and sequence != self.next:
            self.explain(sequence)
        self.next = sequence + 1

    def explain(self, sequence):
        """A break in the sequence: a gap that was reported, or another segment. Events are written before samples."""
        events = self.events("gap", "segment")
        self.excuses += events[self.told:]
        self.told = len(events)
        while self.excuses:
            excuse = self.excuses.pop(0)
            if excuse["event"] == "segment":
                self.next = None  # numbers begin anew, wherever
                if not (self.excuses and self.excuses[0]["event"] == "gap"
                        and self.excuses[0]["first_seq"] + self.excuses[0]["count"] == sequence):
                    return
                continue
            self.reported += excuse["count"]
            if excuse["first_seq"] + excuse["count"] == sequence and self.next in (None, excuse["first_seq"]):
                return
        if self.next is not None and sequence > self.next:
            self.unreported += sequence - self.next
            self.notes.append(f"{self.name}: samples {self.next} to {sequence - 1} are missing, and no event says so")
        else:
            self.repeated += 1
            self.notes.append(f"{self.name}: sample {sequence} where {self.next} was to come")

    def has_all(self, final):
        """It received, or reported as lost, all before `final`."""
        if self.next == final:
            return True
        gaps = self.events("gap")
        return bool(gaps) and gaps[-1]["first_seq"] == self.next and gaps[-1]["first_seq"] + gaps[-1]["count"] == final

