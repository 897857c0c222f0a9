#!/usr/bin/env python3
"""Includes run one way, third-party libraries stay where they belong, public headers need only the standard library.

The table is ARCHITECTURE.md's "Folders" section in code: change both or neither.
"""

import pathlib
import re
import sys
import tempfile
import unittest

# A folder of lib/ and the folders whose headers it may include, besides its own and the public ones.
MAY_INCLUDE = {
    "core": {"service", "discovery", "transport", "samples", "wire", "clock", "platform", "config", "security"},
    "service": {"transport", "samples", "wire", "clock", "platform", "config"},
    "discovery": {"wire", "clock", "platform", "config", "security"},
    "transport": {"samples", "wire", "clock", "platform", "config", "security"},
    "security": {"platform", "config"},
    "samples": {"wire", "clock", "platform"},
    "wire": set(),
    "clock": set(),
    "platform": set(),
    "config": {"platform"},
}
# Third-party headers (a regular expression) and the folders of lib/ that may include them.
THIRD_PARTY = {
    r"zmq(_utils|_addon)?\.h(pp)?$": ("transport/zmq",),
    r"msgpack(\.h|/)": ("wire", "discovery", "service"),
    r"toml(\+\+|plusplus)": ("config",),
    r"sodium(\.h|/)": ("security",),
    r"(CLI|CLI11)": (),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"^[a-z_]+$")  # <vector>, not <sys/socket.h>
SOURCES = {".cpp", ".hpp", ".h", ".cc", ".ipp"}


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES)


def public_header_problems(root):
    public = root / "lib" / "include"
    listed = (root / "lib" / "CMakeLists.txt").read_text(encoding="utf-8")
    for path in sources(public):
        name = path.relative_to(root / "lib").as_posix()
        if not re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", listed):
            yield f"lib/{name}: not in the FILE_SET of lib/CMakeLists.txt, so it would not be installed"
        for number, quote, header in includes(path):
            if quote == '"' or not (header.startswith("rivulet/") or STANDARD.match(header)):
                yield f"lib/{name}:{number}: a public header includes {header}; allowed: <rivulet/...> and <standard>"


def library_problems(root):
    lib = root / "lib"
    for path in sources(lib):
        inside = path.relative_to(lib)
        folder = inside.parts[0]
        if folder == "include":
            continue
        where = f"lib/{inside.as_posix()}"
        if folder not in MAY_INCLUDE:
            yield f"{where}: folder {folder} has no entry in the table of layering_test.py"
            continue
        for number, _, header in includes(path):
            for pattern, allowed in THIRD_PARTY.items():
                if re.match(pattern, header) and not any(inside.is_relative_to(place) for place in allowed):
                    yield f"{where}:{number}: includes {header}; allowed only in {', '.join(allowed) or 'tools/'}"
            other = header.split("/")[0]
            if "/" in header and other in MAY_INCLUDE and other != folder and other not in MAY_INCLUDE[folder]:
                yield f"{where}:{number}: {folder} includes {header}; {folder} may include {sorted(MAY_INCLUDE[folder])}"


def outsider_problems(root):
    """Programs and examples reach the library as a user does; stream-bench also what it compares with."""
    for top in ("tools", "examples"):
        for path in sources(root / top):
            for number, _, header in includes(path):
                inside = header.split("/")[0] in MAY_INCLUDE and (root / "lib" / header).exists()
                hidden = any(re.match(p, header) for p in list(THIRD_PARTY)[:2])
                if inside or hidden and not path.is_relative_to(root / "tools" / "bench"):
                    yield f"{path.relative_to(root).as_posix()}:{number}: includes {header}, which is not public"


def problems(root):
    return [*public_header_problems(root), *library_problems(root), *outsider_problems(root)]


class Layering(unittest.TestCase):
    def test_the_tree_keeps_the_rules(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        self.assertGreater(len(sources(root / "lib")), 20, "found hardly any sources: looking in the wrong place?")
        found = problems(root)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_each_kind_of_violation_is_found(self):
        violations = {
            "lib/include/rivulet/a.hpp": "#include <zmq.h>\n",
            "lib/include/rivulet/b.hpp": "#include <sys/socket.h>\n",
            "lib/include/rivulet/c.hpp": '#include "d.hpp"\n',
            "lib/wire/w.cpp": "#include <transport/endpoint.hpp>\n",
            "lib/transport/t.cpp": '#include "core/outlet_impl.hpp"\n',
            "lib/transport/posix/p.cpp": "#  include <zmq.hpp>\n",
            "lib/core/c.cpp": "#include <msgpack.hpp>\n",
            "lib/discovery/d.cpp": "#include <sodium.h>\n",
            "lib/misc/m.cpp": "",
            "tools/pub/main.cpp": "#include <wire/frame.hpp>\n",
            "tools/sub/main.cpp": "#include <zmq.h>\n",
            "tools/bench/main.cpp": "#include <wire/frame.hpp>\n",
        }
        harmless = {
            "lib/CMakeLists.txt": "\n".join(f"include/rivulet/{x}.hpp" for x in "abc"),
            "lib/wire/frame.hpp": "#include <msgpack.hpp>\n#include <rivulet/a.hpp>\n",
            "lib/transport/zmq/z.cpp": "#include <zmq.h>\n#include <wire/frame.hpp>\n",
            "tools/bench/plain_zmq.cpp": "#include <zmq.h>\n",
            "tools/pub/options.cpp": '#include "common/csv.hpp"\n#include <CLI/CLI.hpp>\n',
        }
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**violations, **harmless}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found = problems(root)
            for name in violations:
                self.assertTrue(any(p.startswith(name + ":") for p in found), f"{name} not reported in {found}")
            for name in harmless:
                self.assertFalse(any(p.startswith(name + ":") for p in found), f"{name} reported in {found}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
