# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of README. Called by Tools/pictures.

Usage: pictures.py ROOT PRODUCTS CHROMIUM FOLDER

The pictures show what the programs printed. Only the name of this machine and the paths on it are replaced.
"""

import html
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

root, products, chromium, folder = (pathlib.Path(argument) for argument in sys.argv[1:])

# What the agent is asked, and how many seconds later the next thing.
REQUESTS = [
    ("FAULT nil-unwrap", 2),
    ("FAULT null-write", 4),
    ("FAULT nil-unwrap", 1),
    ("STALL lock 1300", 3),
    ("FAULT index-out-of-range", 5),
    ("FAULT wild-pointer", 4),
    ("FAULT nil-unwrap", 3),
    ("FAULT as-bang", 6),
    ("FAULT null-write", 2),
    ("STALL busy 1700", 4),
    ("FAULT nil-unwrap", 2),
]
# How often the greeter is to fault. Five times would quarantine its timer.
GREETER_FAULTS = 3
PATIENCE_SECONDS = 120
TERMINAL_COLUMNS = 124

REPLACEMENTS = [
    (f"{root}/.build/x86_64-unknown-linux-gnu/debug/", "/usr/local/bin/"),
    (f"{root}/Tests/Programs/greeter/", "/src/greeter/Sources/greeter/"),
    (f"{root}/", "/src/holdfast/"),
    (f" on {socket.gethostname()},", " on mx1,"),
    (f'"{socket.gethostname()}"', '"mx1"'),
]


def environment(store):
    own = {key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST_")}
    return own | {"HOLDFAST_STORE": str(store), "TZ": "UTC"}


def anonymous(text):
    for own, shown in REPLACEMENTS:
        text = text.replace(own, shown)
    return text


def stop(process):
    process.send_signal(signal.SIGTERM)
    if process.wait(PATIENCE_SECONDS) != 0:
        sys.exit(f"{process.args[-1]} ended with status {process.returncode}")


def run_greeter(store):
    greeter = subprocess.Popen(
        ["stdbuf", "-oL", products / "greeter"], env=environment(store), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    faults = 0
    for line in greeter.stdout:
        faults += line.startswith("fault ")
        if faults == GREETER_FAULTS:
            break
    stop(greeter)


def run_agent(store):
    agent = subprocess.Popen(
        [products / "holdfast-agent", "--port", "0"], env=environment(store), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    port = int(agent.stdout.readline().split()[1].rpartition(":")[2])
    for request, pause in REQUESTS:
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
            client.sendall(f"{request}\n".encode())
            try:
                client.recv(100)
            except ConnectionResetError:
                pass
        # Not to wait for something: the picture has a time axis.
        time.sleep(pause)
    stop(agent)
    for report in (store / "reports").glob("*.json"):
        report.write_text(anonymous(report.read_text()))
    # The index does not notice a report that was changed in place.
    (store / "reports" / ".index").unlink(missing_ok=True)


def terminal_output(command, store):
    """What a command writes to a terminal, with its colours."""
    reader, writer = pty.openpty()
    subprocess.run(["stty", "cols", str(TERMINAL_COLUMNS), "rows", "80", "-onlcr"], stdin=writer, check=True)
    own = environment(store) | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PAGER": "cat"}
    process = subprocess.Popen(command, env=own, stdin=writer, stdout=writer, stderr=writer)
    os.close(writer)
    output = b""
    while True:
        try:
            block = os.read(reader, 65536)
        except OSError:  # EIO: the terminal's last user is gone.
            break
        if not block:
            break
        output += block
    if process.wait() != 0:
        sys.exit(f"{command} failed: {output.decode()}")
    return anonymous(output.decode())


# A terminal's sixteen colours on its dark ground.
GROUND, TEXT = "#1b1f24", "#d7dce2"
COLOURS = dict(zip(range(30, 38), ["#5c6370", "#f28b82", "#a8d08d", "#e8c170", "#8ab4f8", "#d7a8f0", "#80cbc4", "#d7dce2"]))
COLOURS |= {code + 60: colour for code, colour in COLOURS.items()}
WIDTH, HEIGHT, MARGIN = 7.83, 18, 16


def drawing(prompt, output):
    """A picture of a terminal, as SVG."""
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{prompt}\x1b[0m"] + output.rstrip().split("\n")
    columns = max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">',
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
        f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="{TEXT}">',
    ]
    for row, line in enumerate(lines):
        column, style = 0, {}
        for piece in re.split(r"(\x1b\[[\d;]*m)", line):
            if escape := re.fullmatch(r"\x1b\[([\d;]*)m", piece):
                for code in (int(code or 0) for code in escape[1].split(";")):
                    if code == 0:
                        style = {}
                    elif code == 1:
                        style["font-weight"] = "bold"
                    elif code == 2:
                        style["opacity"] = "0.6"
                    elif code in COLOURS:
                        style["fill"] = COLOURS[code]
                continue
            # Every run has its place and its length, so that the columns agree in any font.
            attributes = "".join(f' {key}="{value}"' for key, value in style.items())
            for run in re.finditer(r"\S+(?: \S+)*", piece):
                parts.append(
                    f'<text x="{MARGIN + (column + run.start()) * WIDTH:.1f}" y="{MARGIN + (row + 0.75) * HEIGHT:.1f}" '
                    f'textLength="{len(run[0]) * WIDTH:.1f}"{attributes}>{html.escape(run[0])}</text>'
                )
            column += len(piece)
    return "\n".join(parts + ["</g>", "</svg>", ""])


with tempfile.TemporaryDirectory() as temporary:
    folder.mkdir(exist_ok=True)
    greeter, agent, page = (pathlib.Path(temporary) / name for name in ("greeter", "agent", "page.html"))
    run_greeter(greeter)
    run_agent(agent)
    shown = terminal_output([products / "crashreport", "show", "last"], greeter)
    (folder / "show.svg").write_text(drawing("crashreport show last", shown))
    subprocess.run([products / "crashreport", "report", "--html", page], env=environment(agent), check=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1100, "height": 1300}, color_scheme="light", offline=True)
        view.goto(page.as_uri())
        view.locator(".group summary", has_text="Unexpectedly found nil").first.click()
        view.screenshot(path=folder / "page.png")
        browser.close()
