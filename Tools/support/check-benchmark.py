# SPDX-License-Identifier: Apache-2.0
"""Checks what holdfast-benchmark prints and writes: check-benchmark.py PEERS COMMAND..."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

PEERS = ["cfrunloop", "libuv", "glib"]
# One row of each kind that is quick to measure.
PATTERN = "self-driven|idle poll|ADD one of 1,000 timers|guarded"
NAMES = [
    "self-driven pass",
    "idle poll",
    "add one of 1,000 timers",
    "system calls, self-driven pass",
    "system calls, idle poll",
    "guarded call",
]


def measure(command, peers, folder, pattern):
    """Runs the benchmark and returns its status, its table and its rows."""
    file = os.path.join(folder, "rows.json")
    if os.path.exists(file):
        os.unlink(file)
    arguments = command + ["--peers", peers, "--quick", "--only", pattern, "--json", file]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    rows = None
    if os.path.exists(file):
        with open(file, encoding="utf-8") as stream:
            rows = json.load(stream)
    return done.returncode, done.stdout, rows


def check(condition, complaint):
    if not condition:
        sys.exit("check-benchmark: " + complaint)


def is_value(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def check_rows(status, text, rows, broken=None):
    check(status == 0 and rows is not None, f"it ended with status {status}: {text}")
    check([row["row"] for row in rows] == NAMES, f"the rows are {[row['row'] for row in rows]}")
    for row in rows:
        name = row["row"]
        check(set(row) == {"row", "unit", "holdfast", "peers"}, f"{name} has the keys {sorted(row)}")
        check(row["unit"] == ("calls" if name.startswith("system calls") else "ns"), f"the unit of {name}")
        check(is_value(row["holdfast"]), f"{name} has no value")
        check(name in text, f"{name} is not in the table")
        if name == "guarded call":
            check(set(row["peers"]) == {"plain call"}, f"the peers of {name}")
            continue
        wanted = PEERS + ["epoll"] if name.endswith("idle poll") else PEERS
        check(list(sorted(row["peers"])) == sorted(wanted), f"the peers of {name} are {sorted(row['peers'])}")
        for peer, value in row["peers"].items():
            if peer == broken:
                check(value is None, f"{name}: a broken peer has the value {value}")
                check(f"{name}, {peer}: not measured: is broken" in text, f"{name}: nothing says why there is no value")
            else:
                check(is_value(value), f"{name}: {peer} has no value")


def main():
    peers, command = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        check_rows(*measure(command, peers, folder, PATTERN))

        broken = os.path.join(folder, "peers")
        shutil.copytree(peers, broken)
        with open(os.path.join(broken, "libuv"), "w", encoding="utf-8") as stream:
            stream.write("#!/bin/sh\necho is broken >&2\nexit 1\n")
        check_rows(*measure(command, broken, folder, PATTERN), broken="libuv")

        status, text, rows = measure(command, peers, folder, "no row is called that")
        check(status != 0 and rows is None, f"a pattern that finds nothing gives {status}: {text}")
    print("    the benchmark's table and file are as they should be")


main()
