"""Topologies as containers: the compose files as users run them."""

import collections
import json
import os
import subprocess
import threading
import time

from checks import Failed, expect, wait_until


def run(*command, environment=None, check=True, timeout=600):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          env={**os.environ, **(environment or {})})
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def each_line(command, take):
    """Calls take(line) on a thread of its own for each line that the command writes, as it comes."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               text=True)

    def read():
        for line in process.stdout:
            if line.endswith("\n"):
                take(line)
        process.wait()

    threading.Thread(target=read, daemon=True).start()
    return process


class Events:
    """What the engine says of containers, as it happens: that costs no more than the news do."""

    def __init__(self):
        self.seen = collections.defaultdict(dict)  # of each container, by the event's name, the latest
        kinds = [f"--filter=event={kind}" for kind in ("start", "kill", "die", "health_status")]
        self.process = each_line(["docker", "events", "--since", f"{time.time() - 1:.3f}", "--filter=type=container",
                                  *kinds, "--format={{json .}}"], self.take)

    def take(self, line):
        event = json.loads(line)
        kind, _, what = event["Action"].partition(":")
        entry = {"at": event["timeNano"] / 1e9, "what": what.strip(), **event["Actor"]["Attributes"]}
        self.seen[event["Actor"]["ID"]][kind] = entry

    def of(self, container, kind):
        return self.seen[container].get(kind)


class Member:
    """A container of a service."""

    def __init__(self, engine, container):
        self.engine, self.container = engine, container
        self.follow()

    def follow(self):
        self.written = []  # to stdout, each line an object
        self.whole = False  # it was read once more after its end
        self.follower = each_line(["docker", "logs", "--follow", self.container], self.take)

    def take(self, line):
        if line.startswith("{"):
            self.written.append(json.loads(line))

    def event(self, kind, after=0.0):
        """The latest of that kind, waited for."""
        def look():
            entry = self.engine.events.of(self.container, kind)
            return entry if entry and entry["at"] > after else None

        return wait_until(look, f"{kind} of container {self.container[:12]}")

    def lines(self):
        """What it wrote to stdout as JSON lines."""
        if not self.running() and not self.whole:
            self.written = [json.loads(line) for line in run("docker", "logs", self.container).splitlines()
                            if line.startswith("{")]
            self.whole = True
        return list(self.written)

    def running(self):
        """Until it has ended."""
        started = self.event("start")
        died = self.engine.events.of(self.container, "die")
        return not died or died["at"] < started["at"]

    def exit_code(self):
        return int(self.event("die")["exitCode"])

    def kill(self):
        began = self.event("start")["at"]
        run("docker", "kill", "--signal", "KILL", self.container)
        self.event("die", after=began)

    def start(self):
        before = self.event("start")["at"]
        run("docker", "start", self.container)
        self.event("start", after=before)
        self.follower.terminate()
        self.follow()

    def pause(self):
        run("docker", "pause", self.container)

    def unpause(self):
        run("docker", "unpause", self.container)

    def stop_time(self):
        """Of one that was stopped: seconds from the signal to the end, as the engine saw them; None: it had ended."""
        asked = self.engine.events.of(self.container, "kill")
        died = self.event("die", after=self.event("start")["at"])
        return died["at"] - asked["at"] if asked and asked["at"] <= died["at"] else None

    def stop(self):
        run("docker", "stop", "--time", "10", self.container)
        return self.stop_time()

    def log(self):
        done = subprocess.run(["docker", "logs", "--tail", "30", self.container], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.stdout

    def healthy(self):
        """As the engine found by the image's HEALTHCHECK."""
        said = self.engine.events.of(self.container, "health_status")
        return bool(said) and said["what"] == "healthy"

    def check(self):
        """The HEALTHCHECK, now."""
        check = json.loads(run("docker", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", self.container))
        return subprocess.run(["docker", "exec", self.container, *check[1:]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def networks(self):
        found = json.loads(run("docker", "inspect", "--format", "{{json .NetworkSettings.Networks}}", self.container))
        return {name: network["IPAddress"] for name, network in found.items()}

    def disconnect(self):
        self.cut = list(self.networks())
        for network in self.cut:
            run("docker", "network", "disconnect", "--force", network, self.container)

    def connect(self):
        for network in self.cut:
            run("docker", "network", "connect", network, self.container)


class Engine:
    name = "docker"

    def __init__(self, root, image, tag):
        self.root, self.image, self.tag = root, image, tag
        self.events = Events()

    @staticmethod
    def why_not():
        try:
            run("docker", "info")
            run("docker", "compose", "version")
        except (OSError, Failed) as problem:
            return f"no Docker engine with Compose: {str(problem).splitlines()[0]}"
        return ""

    def prepare(self, prebuilt):
        """Builds the images; from what is built already if a folder is given."""
        arguments = ["--build-arg", f"RIVULET_PREBUILT={prebuilt.name}"] if prebuilt else []
        context = prebuilt.parent if prebuilt else self.root
        for target, suffix in (("runtime", ""), ("examples", "-examples"), ("impair", "-impair")):
            run("docker", "build", "--file", str(self.root / "docker/Dockerfile"), "--target", target, "--tag",
                self.image + suffix, *arguments, str(context), timeout=3600)

    def check_image(self):
        """What the image promises, beside what the runs show."""
        config = json.loads(run("docker", "image", "inspect", "--format", "{{json .Config}}", self.image))
        labels = {name.removeprefix("org.opencontainers.image.") for name in config["Labels"]}
        expect({"title", "description", "version", "revision", "licenses"} <= labels, f"labels: {config['Labels']}")
        expect(config["StopSignal"] == "SIGTERM" and config["Healthcheck"]["Test"], f"{config}")
        who = run("docker", "run", "--rm", self.image, "id", "-u").strip()
        expect(who != "0", "programs run as root")
        size, base = (int(run("docker", "image", "inspect", "--format", "{{.Size}}", name))
                      for name in (self.image, "debian:bookworm-slim"))
        expect(size - base < 40e6, f"{size / 1e6:.0f} MB, {(size - base) / 1e6:.0f} of them beyond the base image")
        return f"user {who}, {size / 1e6:.0f} MB, {(size - base) / 1e6:.0f} of them beyond the base image"

    def topology(self, file, label, settings):
        return Topology(self, file, label, settings)

    def close(self):
        self.events.process.terminate()


class Topology:
    def __init__(self, engine, file, label, settings):
        self.engine = engine
        self.file = engine.root / "docker" / file
        self.project = f"{engine.tag}-{label}"
        self.environment = {"RIVULET_IMAGE": engine.image, **settings}
        self.changing = threading.Lock()  # up() and down() may be called by different threads
        self.known = {}  # members by container
        self.by_service = collections.defaultdict(list)

    def compose(self, *arguments, check=True):
        return run("docker", "compose", "--project-name", self.project, "--file", str(self.file), *arguments,
                   environment=self.environment, check=check)

    def up(self, *services, scale=None):
        scaled = [f"--scale={name}={count}" for name, count in (scale or {}).items()]
        with self.changing:
            self.compose("up", "--detach", "--no-build", "--pull", "never", "--no-recreate", *scaled, *services)
        self.by_service.clear()
        found = self.compose("ps", "--all", "--quiet").split()
        for entry in json.loads(run("docker", "inspect", *found)):
            labels = entry["Config"]["Labels"]
            if entry["Id"] not in self.known:
                self.known[entry["Id"]] = Member(self.engine, entry["Id"])
            member = self.known[entry["Id"]]
            number = int(labels["com.docker.compose.container-number"])
            self.by_service[labels["com.docker.compose.service"]].append((number, member))

    def services(self):
        return self.compose("config", "--services").split()

    def members(self, service):
        return [member for _, member in sorted(self.by_service[service], key=lambda entry: entry[0])]

    def attach(self, member, network):
        """Plugs it into one more of the file's networks; its address there."""
        name = f"{self.project}_{network}"
        run("docker", "network", "connect", name, member.container)
        return member.networks()[name]

    def stop(self):
        """As `docker compose stop`: all at once."""
        self.compose("stop", "--timeout", "10")

    def down(self):
        for member in self.known.values():
            member.follower.terminate()
        with self.changing:
            self.compose("down", "--volumes", "--timeout", "2", check=False)
