#!/usr/bin/env python3
"""Writes seed corpora and dictionaries of the configuration targets from config/rivulet.toml; what fuzzing found goes
beside these, under a name of its own."""

import pathlib
import re

HERE = pathlib.Path(__file__).parent
DEFAULTS = (HERE / "../../../config/rivulet.toml").read_text()

lines, variables, words = [], [], set()
section = ""
for line in DEFAULTS.splitlines():
    if match := re.match(r"\[(\w+)\]", line):
        section = match[1]
        lines.append(line)
        words.add(line)
    elif match := re.match(r"(?:# )?(\w+) = (.*?)(?: #.*)?$", line):
        key, value = match.groups()
        if not line.startswith("#"):
            lines.append(f"{key} = {value}")
        words.update((key, f"[{section}]\n{key} = {value}\n", value))
        variables.append((f"RIVULET_{section}_{key}".upper(), value.strip('"')))

FILES = {
    "defaults": "\n".join(lines) + "\n",
    "empty": "",
    "dotted": "tuning.watchdog = '20s'\ntuning.send_timeout = 0\n",
    "inline": "session = {name = 'Labor 3 ä'}\nports = {first = 5000, last = 5100, advertise = ['a', 'b']}\n",
    "unknown_key": "[tuning]\nwatchdgo = 3\n",
    "unknown_section": "[tunning]\nwatchdog = '3s'\n",
    "wrong_type": "[tuning]\nwatchdog = [1979-05-27]\nmax_frame = 1.5\n",
    "key_outside": "watchdog = '3s'\n",
    "conflict": "[ports]\nfirst = 6000\nlast = 5000\n",
    "twice": "[ports]\nfirst = 1\nfirst = 2\n",
    "long_text": '[session]\nname = """\\\n  ' + "x" * 70 + '"""\n',
    "escapes": '[session]\nname = "\\u0041\\t\\U0001F600"\n',
    "numbers": "[tuning]\nmax_frame = 0x1_0000\nmax_consumers = +1_0\n",
    "deep": "a = " + "[" * 300 + "]" * 300 + "\n",
    "deep_tables": "a = " + "{b=" * 300 + "1" + "}" * 300 + "\n",
    "cut": "[tuning\nwatch",
    "not_utf8": b"[session]\nname = '\xff\xfe'\n",
}
VARIABLES = {
    "defaults": "\n".join(f"{name}={value}" for name, value in variables if value != "[]") + "\n",
    "some": "RIVULET_SESSION_NAME=lab\nRIVULET_PORTS_FIRST=5000\nRIVULET_PORTS_LAST=5100\nHOME=/root\n",
    "list": "RIVULET_PORTS_ADVERTISE=a, b,c\nRIVULET_DISCOVERY_KNOWN_PEERS=lab-pc:5,[::1]:6\n",
    "misspelt": "RIVULET_SESION_NAME=x\n",
    "not_ours": "RIVULET_SERVICE_HOST=10.0.0.1\n",
    "empty_value": "RIVULET_SESSION_NAME=\n",
    "bad_number": "RIVULET_PORTS_FIRST=65536\nRIVULET_TUNING_LINGER=1.5parsec\n",
}


def write(folder, seeds):
    path = HERE / "corpus" / folder
    path.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def quoted(word):
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\x0a") + '"\n'


write("file", FILES)
write("variables", VARIABLES)
(HERE / "file.dict").write_text("".join(map(quoted, sorted(words))))
(HERE / "variables.dict").write_text("".join(quoted(f"{name}={value}\n") for name, value in variables))
