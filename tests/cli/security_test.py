"""Keys, as files and flags: stream-keygen, and what the other programs do with them."""

import json
import os
import stat

from harness import ToolTest, main, wait_until


class Keys(ToolTest):
    def keygen(self, *arguments, code=0):
        tool = self.start("stream-keygen", *arguments)
        self.ends(tool, code)
        return tool

    def test_secrets_are_for_their_owner_only_whatever_the_umask(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.keygen("amp")
        self.keygen("--session-key", "lab")
        os.umask(0o777)
        self.keygen("dark")
        for name, mode in (("amp.key", 0o600), ("amp.pub", 0o644), ("lab.session", 0o600), ("dark.key", 0o600)):
            self.assertEqual(stat.S_IMODE((self.folder / name).stat().st_mode), mode, name)

    def test_nothing_is_overwritten_and_nothing_half_made(self):
        self.keygen("amp")
        secret = (self.folder / "amp.key").read_bytes()
        tool = self.keygen("amp", code=1)
        self.assertIn("amp.key", tool.stderr())
        self.assertEqual((self.folder / "amp.key").read_bytes(), secret)
        (self.folder / "amp.key").unlink()
        self.keygen("amp", code=1)  # amp.pub is still there
        self.assertFalse((self.folder / "amp.key").exists())
        self.keygen("no/such/folder/x", code=1)
        self.keygen(code=2)
        self.keygen("--show", "--session-key", "x", code=2)

    def test_what_is_printed_is_public(self):
        shown = json.loads(self.keygen("amp", "--json").stdout())
        self.assertEqual((shown["secret_key_file"], shown["public_key_file"]), ("amp.key", "amp.pub"))
        self.assertEqual((self.folder / "amp.pub").read_text().split()[0], shown["public_key"])
        self.assertEqual(json.loads(self.keygen("--show", "amp.key", "--json").stdout()),
                         {k: shown[k] for k in ("public_key", "id")})
        secret = [l for l in (self.folder / "amp.key").read_text().splitlines() if l.startswith("curve-secret:")][0]
        for tool in (self.keygen("--show", "amp.key"), self.keygen("other"), self.keygen("--session-key", "lab")):
            self.assertNotIn("curve-secret:", tool.stdout().decode())
            self.assertNotIn(secret.split(":", 1)[1], tool.stdout().decode())


class Security(ToolTest):
    def setUp(self):
        super().setUp()
        for name in ("amp", "viewer", "stranger"):
            self.ends(self.start("stream-keygen", name))
        for name in ("lab", "elsewhere"):
            self.ends(self.start("stream-keygen", "--session-key", name))
        self.lab = ("--session", f"cli-{os.getpid()}-{self.id().rsplit('.')[-1]}"[:64])
        self.owner = (*self.lab, "--secret-key", "amp.key", "--client-key", "viewer.pub", "--session-key", "lab.session")
        self.viewer = (*self.lab, "--secret-key", "viewer.key", "--server-key", "amp.pub", "--session-key",
                       "lab.session")

    def publish(self, *arguments, **how):
        tool = self.pub("--name", "EEG", "--source-id", "amp-17", "--rate", 200, "--signal", "counter", "--format",
                        "int32", "--channels", 1, *arguments, **how)
        tool.wait_event("ready")
        return tool

    def test_found_and_received_with_everything_required(self):
        self.publish(*self.owner, "--require-security", "--bind", "zmq+tcp://127.0.0.1:*", "--bind",
                     f"zmq+ipc://{self.folder}/eeg")
        sub = self.sub("--name", "EEG", *self.viewer, "--require-security", "--count", 50, "--timeout", 60,
                       "--summary", "json", "--output", "out.csv")
        self.ends(sub)
        self.assertEqual(self.summary(sub)["dropped"], 0)
        ls = self.start("stream-ls", "--json", "--stats", "--metadata", "--minimum", 1, "--timeout", 60, *self.viewer)
        self.ends(ls)
        (line,) = ls.stdout().splitlines()
        stream = json.loads(line)
        self.assertTrue(all("?key=" in e for e in stream["endpoints"] + stream["service"]), stream)
        self.assertIn("refused", stream["stats"])
        self.assertGreater(stream["discovery"]["received"], 0)
        self.assertEqual(stream["discovery"]["unauthenticated"], 0)

    def test_a_stranger_is_refused_and_both_sides_say_so(self):
        pub = self.publish(*self.owner, "--bind", "zmq+tcp://127.0.0.1:*")
        sub = self.sub("--connect", pub.endpoint(), *self.lab, "--secret-key", "stranger.key", "--server-key", "amp.pub",
                       "--timeout", 2)
        self.ends(sub, 3)
        self.assertIn("refused this program's key", sub.stderr())
        wait_until(lambda: "key_refused" in pub.stderr() and "connection_refused" in pub.stderr(), "the refusal's log")
        shown = self.start("stream-keygen", "--show", "stranger.key", "--json")
        self.ends(shown)
        self.assertIn(json.loads(shown.stdout())["id"], pub.stderr())
        ls = self.start("stream-ls", "--json", "--stats", "--minimum", 1, "--timeout", 60, *self.viewer)
        self.ends(ls)
        self.assertGreater(json.loads(ls.stdout().splitlines()[0])["stats"]["refused"], 0)

    def test_beacons_of_another_lab_are_counted(self):
        self.publish(*self.owner, "--bind", "zmq+tcp://127.0.0.1:*")
        self.publish(*self.lab, "--bind", "zmq+tcp://127.0.0.1:*")  # plain
        ls = self.start("stream-ls", "--stats", "--minimum", 2, "--timeout", 3, *self.viewer)
        self.ends(ls, 3)
        self.assertRegex(ls.stdout().decode(), r"beacons and questions: .* [1-9]\d* unauthenticated")
        self.assertIn("session key", ls.stderr())
        self.assertIn("beacon_refused", ls.stderr())

    def test_required_refuses_what_is_plain(self):
        def refused(tool, *mentioned):
            self.ends(tool, 2)
            for text in mentioned:
                self.assertIn(text, tool.stderr())

        everything = (*self.owner, "--require-security")
        refused(self.pub("--bind", "posix+tcp://127.0.0.1:*", *everything), "security is required", "zmq+tcp")
        refused(self.pub("--bind", f"posix+unix://{self.folder}/x", *everything), "security is required")
        refused(self.sub("--connect", "posix+tcp://127.0.0.1:9", *everything), "security is required")
        refused(self.pub(*self.lab, "--require-security"), "secret_key", "stream-keygen")
        refused(self.pub(*self.lab, "--require-security", "--secret-key", "amp.key"), "session_key", "beacons")
        os.chmod(self.folder / "amp.key", 0o640)
        refused(self.pub(*self.owner), "amp.key", "chmod 600 amp.key", "0640")
        os.chmod(self.folder / "amp.key", 0o600)
        refused(self.pub(*self.lab, "--secret-key", "amp.pub"), "amp.pub")
        refused(self.pub(*self.lab, "--secret-key", "none.key"), "none.key")

    def test_a_libzmq_without_curve_is_named(self):
        preload = os.environ.get("RIVULET_NO_CURVE")
        if not preload:
            self.skipTest("sanitizers want to be the first library")
        tool = self.pub(*self.owner, variables={"LD_PRELOAD": preload})
        self.ends(tool, 2)
        self.assertIn("built without", tool.stderr())
        self.publish(*self.lab, variables={"LD_PRELOAD": preload})  # without keys nobody needs it

    def test_a_configuration_file_says_the_same(self):
        (self.folder / "secure.toml").write_text(
            '[security]\nrequired = true\nsecret_key = "amp.key"\nclients = ["viewer.pub"]\n'
            'session_key = "lab.session"\n')
        pub = self.publish("--config", "secure.toml", *self.lab, "--bind", "zmq+tcp://127.0.0.1:*")
        self.assertIn("?key=", pub.endpoint())
        sub = self.sub("--connect", pub.endpoint(), "--count", 10, "--timeout", 60, "--output-format", "none",
                       *self.viewer)
        self.ends(sub)

    def test_plain_sockets_of_a_program_with_keys_are_named(self):
        pub = self.publish(*self.owner, "--bind", "posix+tcp://127.0.0.1:*")
        self.assertIn("posix_plain", pub.stderr())
        self.assertIn("neither encrypted nor authenticated", pub.stderr())

    def test_a_relay_between_a_secured_and_a_plain_network(self):
        pub = self.publish(*self.owner, "--bind", "zmq+tcp://127.0.0.1:*")
        (self.folder / "plain.toml").write_text("")
        (self.folder / "secure.toml").write_text(
            '[security]\nsecret_key = "viewer.key"\nservers = ["amp.pub"]\nsession_key = "lab.session"\n')
        relay = self.start("stream-relay", "--config", "secure.toml", "--to-config", "plain.toml", *self.lab,
                           "--connect", pub.endpoint(), "--bind", "zmq+tcp://127.0.0.1:*")
        relay.wait_event("ready")
        sub = self.sub("--name", "EEG", *self.lab, "--count", 10, "--timeout", 60, "--output-format", "none")
        self.ends(sub)


if __name__ == "__main__":
    main()
