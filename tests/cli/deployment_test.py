#!/usr/bin/env python3
"""The examples of deployment: compose files, Kubernetes manifest, systemd units, and the image's entry point."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import BIN, ToolTest, main

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKS = {"zmq/tcp": "zmq+tcp://*:*", "posix/tcp": "posix+tcp://*:*", "zmq/ipc": "zmq+ipc://{folder}/{name}.sock",
         "posix/ipc": "posix+unix://{folder}/{name}.sock"}


def output(*command, **how):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=90, **how)


class Deployment(ToolTest):
    helps = {}

    def check_command(self, command, where):
        """A stream-* program that there is, with options that it has."""
        tool, *arguments = command
        if not tool.startswith("stream-"):
            return
        self.assertTrue((BIN / tool).exists(), f"{where}: no program {tool}")
        if tool not in self.helps:
            self.helps[tool] = output(str(BIN / tool), "--help").stdout
        for argument in arguments:
            if argument.startswith("--"):
                self.assertRegex(self.helps[tool], rf"(?m)(^|[\s,]){argument}[\s,:]", f"{where}: {tool} has no {argument}")

    @unittest.skipUnless(yaml, "needs python3-yaml")
    def test_compose_files(self):
        files = sorted((ROOT / "docker").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 7)
        readme = (ROOT / "docker/README.md").read_text()
        for path in files:
            with self.subTest(path.name):
                text = path.read_text()
                self.assertIn(f"({path.name})", readme, "README.md has it")
                self.assertNotRegex(text, "internal: *true|privileged|SYS_RESOURCE|memlock")
                content = yaml.safe_load(text)
                self.assertIn("services", content)
                for name, service in content["services"].items():
                    self.assertIn("image", service)
                    self.assertEqual(service["build"]["dockerfile"], "docker/Dockerfile")
                    for network in service.get("networks", []):
                        self.assertIn(network, content["networks"])
                    self.check_command(service["command"], f"{path.name}: {name}")
                    if not service.get("network_mode"):
                        self.assertEqual(service["environment"]["RIVULET_LINK"], "${RIVULET_LINK:-zmq/tcp}")

    @unittest.skipUnless(yaml, "needs python3-yaml")
    def test_kubernetes_manifest(self):
        objects = list(yaml.safe_load_all((ROOT / "config/kubernetes.yaml").read_text()))
        kinds = {(o["kind"], o["metadata"]["name"]): o for o in objects}
        self.assertEqual(len(kinds), len(objects), "each thing once")
        for thing in objects:
            self.assertIn("apiVersion", thing)
        service = kinds["Service", "publishers"]
        self.assertEqual(service["spec"]["clusterIP"], "None", "headless: the name stands for all addresses")
        self.assertEqual(service["spec"]["ports"][0]["port"], 16700)
        settings = self.file("rivulet.toml", kinds["ConfigMap", "rivulet"]["data"]["rivulet.toml"])
        self.assertIn('known_peers = ["publishers"]', settings.read_text())
        checked = output(str(BIN / "stream-ls"), "--config", str(settings), "--quiet", "--timeout", "0.2",
                         "--session", f"deployment-{os.getpid()}")
        self.assertEqual(checked.returncode, 3, f"the configuration is refused: {checked.stdout}")
        for kind in (("StatefulSet", "publisher"), ("Deployment", "subscriber")):
            spec = kinds[kind]["spec"]
            template = spec["template"]
            self.assertEqual(spec["selector"]["matchLabels"], template["metadata"]["labels"])
            maps = {v["name"]: v["configMap"]["name"] for v in template["spec"]["volumes"]}
            for container in template["spec"]["containers"]:
                self.check_command(container["args"], kind[1])
                for mount in container["volumeMounts"]:
                    self.assertIn(("ConfigMap", maps[mount["name"]]), kinds)
        self.assertEqual(kinds["StatefulSet", "publisher"]["spec"]["serviceName"], "publishers")
        self.assertEqual(service["spec"]["selector"],
                         kinds["StatefulSet", "publisher"]["spec"]["template"]["metadata"]["labels"])

    @unittest.skipUnless(yaml and shutil.which("kubectl"), "needs python3-yaml and kubectl")
    def test_kubernetes_knows_all_that_the_manifest_says(self):
        """kubectl reads it into its own types, without a cluster: what they do not have is gone when it writes them."""
        changes = {"Service": ("selector", "app=publisher"), "StatefulSet": ("env", "CHECKED=yes"),
                   "Deployment": ("env", "CHECKED=yes")}

        def known(said, taken, where):
            self.assertIs(type(said), type(taken), where)
            if isinstance(said, dict):
                for key in said:
                    self.assertIn(key, taken, f"{where}: unknown to Kubernetes")
                    known(said[key], taken[key], f"{where}.{key}")
            elif isinstance(said, list):
                for number, entry in enumerate(said):
                    known(entry, taken[number], f"{where}[{number}]")
            else:
                self.assertEqual(said, taken, where)

        def check(text):
            for said in yaml.safe_load_all(text):
                if said["kind"] != "ConfigMap":  # of any keys
                    what, value = changes[said["kind"]]
                    done = output("kubectl", "set", what, "--local", "-f", "-", "-o", "json", value,
                                  input=yaml.safe_dump(said))
                    self.assertEqual(done.returncode, 0, done.stdout)
                    known(said, json.loads(done.stdout), said["kind"])

        text = (ROOT / "config/kubernetes.yaml").read_text()
        check(text)
        for right, wrong in (("runAsNonRoot", "runAsNotRoot"), ("replicas: 2", "replicas: two"), ("clusterIP", "ip")):
            with self.assertRaises(AssertionError, msg=wrong):
                check(text.replace(right, wrong))

    def test_systemd_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("needs systemd-analyze")
        units = sorted((ROOT / "config/systemd").glob("*.service"))
        self.assertGreaterEqual(len(units), 3)
        for unit in units:
            with self.subTest(unit.name):
                text = unit.read_text()
                command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).replace("'", "").split()
                self.check_command(command, unit.name)
                # systemd looks for programs in the system's folders; these are not installed.
                text = text.replace(f"ExecStart={command[0]}", f"ExecStart={BIN / command[0]}")
                copy = self.file(unit.name.replace("@", "@EEG"), text)
                done = output("systemd-analyze", "verify", "--man=no", str(copy))
                problems = [line for line in done.stdout.splitlines() if unit.name.split("@")[0].split(".")[0] in line]
                self.assertEqual((done.returncode, problems), (0, []), done.stdout)

    def test_the_entry_point_offers_the_link_asked_for(self):
        show = self.file("stream-pub", "#!/bin/sh\necho \"$0\" \"$@\"\n")
        show.chmod(0o755)
        for other in ("stream-relay", "stream-sub"):
            shutil.copy(show, self.folder / other)

        def run(*command, link=None):
            environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", "RIVULET_RUN_DIR": "/sockets"}
            if link:
                environment["RIVULET_LINK"] = link
            return output(str(ROOT / "docker/entrypoint.sh"), *command, env=environment)

        host = os.uname().nodename
        for link, endpoint in LINKS.items():
            for tool, name in (("stream-pub", host), ("stream-relay", "{uid}")):
                bind = endpoint.replace("{folder}", "/sockets").replace("{name}", name)
                self.assertTrue(run(tool, "--x", link=link).stdout.endswith(f"{tool} --x --bind {bind}\n"))
            self.assertTrue(run("stream-sub", "--x", link=link).stdout.endswith("stream-sub --x\n"))
            self.assertTrue(run("stream-pub", "--bind", "y", link=link).stdout.endswith("stream-pub --bind y\n"))
        self.assertTrue(run("stream-pub").stdout.endswith("stream-pub\n"))
        wrong = run("stream-pub", link="tcp")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("zmq/tcp, zmq/ipc, posix/tcp, posix/ipc", wrong.stdout)


if __name__ == "__main__":
    main()
