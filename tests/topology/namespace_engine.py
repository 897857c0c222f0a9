"""The same topologies without Docker: a network namespace for a container, a bridge for a network.

The compose files say what runs where. Understood is what they use: command, environment, hostname, networks, scale,
network_mode.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from checks import Failed

serial = itertools.count(1)
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def run(*command, check=True):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


class Network:
    """A bridge in a namespace of its own: the root namespace's firewall has no say in it."""

    def __init__(self, number):
        self.space = f"rvt{os.getpid()}-{next(serial)}"
        self.prefix = f"10.{90 + number // 250}.{number % 250}"
        self.hosts = itertools.count(1)
        run("ip", "netns", "add", self.space)
        run("ip", "-n", self.space, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        run("ip", "-n", self.space, "link", "set", "br0", "up")

    def address(self):
        return f"{self.prefix}.{next(self.hosts)}"

    def plug(self, space, device, address):
        port = f"p{next(serial)}"
        run("ip", "-n", self.space, "link", "add", port, "type", "veth", "peer", "name", device, "netns", space)
        run("ip", "-n", self.space, "link", "set", port, "master", "br0", "up")
        run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", device)
        run("ip", "-n", space, "link", "set", device, "up")

    def close(self):
        run("ip", "netns", "del", self.space, check=False)


class Member:
    """A process in a namespace with an interface a network."""

    def __init__(self, topology, service, plugs, command, environment, hostname):
        self.topology, self.service = topology, service
        self.command, self.hostname = command, hostname
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("RIVULET_")}, **environment}
        self.space = f"rvt{os.getpid()}-{next(serial)}"
        self.out = topology.folder / f"{self.space}.out"
        self.err = topology.folder / f"{self.space}.err"
        self.process = None
        self.asked = None
        run("ip", "netns", "add", self.space)
        run("ip", "-n", self.space, "link", "set", "lo", "up")
        self.plugs = [(f"eth{i}", network, network.address()) for i, network in enumerate(plugs)]
        self.connect()

    def connect(self):
        for device, network, address in self.plugs:
            network.plug(self.space, device, address)

    def disconnect(self):
        for device, _, _ in self.plugs:
            run("ip", "-n", self.space, "link", "del", device)

    def start(self):
        names = pathlib.Path("/etc/netns") / self.space
        names.mkdir(parents=True, exist_ok=True)
        (names / "hosts").write_text(self.topology.hosts_file(self))
        inner = f'hostname "$1"; shift; exec "{self.topology.engine.root}/docker/entrypoint.sh" "$@"'
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.space, "unshare", "--uts", "sh", "-c", inner, "sh", self.hostname,
                 *self.command], stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=self.environment,
                cwd=self.topology.folder)

    def lines(self):
        if not self.out.exists():
            return []
        lines = self.out.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    def running(self):
        return self.process is not None and self.process.poll() is None

    def exit_code(self):
        return self.process.poll()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def unpause(self):
        self.process.send_signal(signal.SIGCONT)

    def ask_to_stop(self):
        self.asked = time.monotonic() if self.running() else None
        if self.asked:
            self.process.terminate()

    def stop_time(self):
        """Of one that was asked to stop: seconds until it had ended; None: it had ended before."""
        if self.asked is None:
            return None
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        return time.monotonic() - self.asked

    def stop(self):
        self.ask_to_stop()
        return self.stop_time()

    def check(self):
        """The image's HEALTHCHECK, now."""
        command = ["ip", "netns", "exec", self.space, *self.topology.engine.health_check]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment,
                              cwd=self.topology.folder).returncode == 0

    healthy = check  # nobody else asks it

    def log(self):
        return self.err.read_text(errors="replace")[-3000:] if self.err.exists() else ""

    def close(self):
        if self.running():
            self.unpause()
            self.kill()
        run("ip", "netns", "del", self.space, check=False)
        shutil.rmtree(pathlib.Path("/etc/netns") / self.space, ignore_errors=True)


class Engine:
    name = "namespaces"

    def __init__(self, root, bin_folder):
        self.root, self.bin = root, bin_folder
        self.networks = itertools.count()
        found = re.search(r"HEALTHCHECK .*\\\n\s*CMD (\[.*\])", (root / "docker/Dockerfile").read_text())
        self.health_check = json.loads(found.group(1))

    @staticmethod
    def why_not():
        if os.geteuid() != 0:
            return "network namespaces need root"
        try:
            import yaml  # noqa: F401
        except ImportError:
            return "needs python3-yaml"
        probe = f"rvt{os.getpid()}-probe"
        try:
            run("ip", "netns", "add", probe)
            run("ip", "-n", probe, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            run("ip", "-n", probe, "link", "add", "b0", "type", "bridge")
        except (OSError, Failed) as problem:
            return f"no network namespaces here: {problem}"
        finally:
            run("ip", "netns", "del", probe, check=False)
        return ""

    def prepare(self, _prebuilt):
        pass

    def topology(self, file, label, settings):
        return Topology(self, file, label, settings)

    def close(self):
        pass


class Topology:
    def __init__(self, engine, file, label, settings):
        import yaml
        self.engine = engine
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rvt-"))
        text = VARIABLE.sub(lambda m: settings.get(m.group(1), m.group(2) or ""),
                            (engine.root / "docker" / file).read_text())
        self.file = yaml.safe_load(text.replace("$$", "$"))
        (self.folder / "impair").symlink_to(engine.root / "docker/impair.py")
        self.networks = {name: Network(next(engine.networks)) for name in self.file["networks"]}
        self.all = {}

    def up(self, *services, scale=None):
        wanted = services or list(self.file["services"])
        fresh = []
        for name in wanted:
            service = self.file["services"][name]
            count = (scale or {}).get(name, service.get("scale", 1))
            present = self.all.setdefault(name, [])
            while len(present) < count:
                member = self.make(name, service, len(present) + 1)
                present.append(member)
                fresh.append(member)
            fresh += [m for m in present if m not in fresh and not m.running()]
        for member in fresh: # all addresses are known now
            member.start()

    def make(self, name, service, number):
        environment = {key: str(value) for key, value in (service.get("environment") or {}).items()}
        environment |= {"RIVULET_RUN_DIR": str(self.folder), "HOME": str(self.folder),
                        "PATH": f"{self.engine.bin}:{self.engine.bin}/examples:{self.folder}:"
                                "/usr/sbin:/usr/bin:/sbin:/bin"}
        plugs = [self.networks[n] for n in service.get("networks", [])]
        member = Member(self, name, plugs, service["command"], environment, service.get("hostname", f"{name}-{number}"))
        shared = service.get("network_mode", "")
        if shared.startswith("service:"):
            run("ip", "netns", "del", member.space)
            member.space = self.all[shared.removeprefix("service:")][0].space
        return member

    def hosts_file(self, asker):
        lines = ["127.0.0.1 localhost"]
        mine = [network for _, network, _ in asker.plugs]
        for members in self.all.values():
            for member in members:
                lines += [f"{address} {member.service}" for _, network, address in member.plugs if network in mine]
        return "\n".join(lines) + "\n"

    def services(self):
        return list(self.file["services"])

    def members(self, service):
        return self.all.get(service, [])

    def attach(self, member, network):
        """Plugs it into one more of the file's networks; its address there."""
        entry = (f"eth{len(member.plugs)}", self.networks[network], self.networks[network].address())
        member.plugs.append(entry)
        entry[1].plug(member.space, entry[0], entry[2])
        return entry[2]

    def stop(self):
        """All at once."""
        every = [member for members in self.all.values() for member in members]
        for member in every:
            member.ask_to_stop()
        for member in every:
            member.stop_time()

    def down(self):
        for members in self.all.values():
            for member in members:
                member.close()
        for network in self.networks.values():
            network.close()
        shutil.rmtree(self.folder, ignore_errors=True)
