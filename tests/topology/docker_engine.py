"""Topologies as containers: the compose files as users run them."""

import json
import os
import subprocess
import time

from checks import Failed


def run(*command, environment=None, check=True, timeout=600):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          env={**os.environ, **(environment or {})})
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Member:
    """A container of a service."""

    def __init__(self, container):
        self.container = container

    def lines(self):
        """What it wrote to stdout as JSON lines."""
        out = []
        for line in run("docker", "logs", self.container).splitlines():
            if line.startswith("{"):
                out.append(json.loads(line))
        return out

    def state(self):
        return json.loads(run("docker", "inspect", "--format", "{{json .State}}", self.container))

    def running(self):
        return self.state()["Running"]

    def exit_code(self):
        return self.state()["ExitCode"]

    def kill(self):
        run("docker", "kill", "--signal", "KILL", self.container)

    def start(self):
        run("docker", "start", self.container)

    def pause(self):
        run("docker", "pause", self.container)

    def unpause(self):
        run("docker", "unpause", self.container)

    def stop(self):
        """Seconds from the signal to the end, as the engine saw them."""
        since = time.time() - 1
        run("docker", "stop", "--time", "10", self.container)
        seen = run("docker", "events", "--since", f"{since:.3f}", "--until", f"{time.time():.3f}", "--filter",
                   f"container={self.container}", "--format", "{{json .}}")
        times = {}
        for line in seen.splitlines():
            event = json.loads(line)
            times.setdefault(event["Action"], event["timeNano"] / 1e9)
        return times["die"] - times["kill"]

    def log(self):
        done = subprocess.run(["docker", "logs", "--tail", "30", self.container], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.stdout

    def networks(self):
        found = json.loads(run("docker", "inspect", "--format", "{{json .NetworkSettings.Networks}}", self.container))
        return list(found)

    def disconnect(self):
        self.cut = self.networks()
        for network in self.cut:
            run("docker", "network", "disconnect", "--force", network, self.container)

    def connect(self):
        for network in self.cut:
            run("docker", "network", "connect", network, self.container)


class Engine:
    name = "docker"

    def __init__(self, root, image, tag):
        self.root, self.image, self.tag = root, image, tag

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

    def topology(self, file, label, settings):
        return Topology(self, file, label, settings)


class Topology:
    def __init__(self, engine, file, label, settings):
        self.file = engine.root / "docker" / file
        self.project = f"{engine.tag}-{label}"
        self.environment = {"RIVULET_IMAGE": engine.image, **settings}

    def compose(self, *arguments, check=True):
        return run("docker", "compose", "--project-name", self.project, "--file", str(self.file), *arguments,
                   environment=self.environment, check=check)

    def up(self, *services, scale=None):
        scaled = [f"--scale={name}={count}" for name, count in (scale or {}).items()]
        self.compose("up", "--detach", "--no-build", "--pull", "never", "--no-recreate", *scaled, *services)

    def compose_services(self):
        return self.compose("config", "--services").split()

    def members(self, service):
        found = self.compose("ps", "--all", "--quiet", service).split()
        order = json.loads(run("docker", "inspect", *found)) if found else []
        order.sort(key=lambda c: int(c["Config"]["Labels"].get("com.docker.compose.container-number", 1)))
        return [Member(c["Id"]) for c in order]

    def down(self):
        self.compose("down", "--volumes", "--timeout", "2", check=False)
