"""Sends made-up messages to both sockets of a supervisor: of the program that it runs, and of who gives orders.

    strangers.py SEED CONTROL-SOCKET

Nothing of it asks for an end: the supervisor has to go on as if nothing had happened.
"""

import os
import random
import socket
import sys

random.seed(int(sys.argv[1]))
name = os.environ["NOTIFY_SOCKET"]
notify = "\0" + name[1:] if name[0] == "@" else name
memory = os.memfd_create("made up")

assignments = [
    b"READY=1", b"STATUS=", b"WATCHDOG=1", b"EXTEND_TIMEOUT_USEC=", b"MAINPID=", b"FDSTORE=1", b"FDSTOREREMOVE=1", b"FDNAME=",
    b"FDPOLL=0", b"BARRIER=1", b"ERRNO=", b"MONOTONIC_USEC=", b"X_HOLDFAST=1", b"X_HOLDFAST_LINK=1", b"X_HOLDFAST_HANDOVER=1",
    b"X_HOLDFAST_RESTS=1", b"=", b"\n", b"\n", b"\0",
    b"18446744073709551616", b"-1", b"1", b"\xff\xfe", b"\x1b[31m", b"x" * 300, b":" * 70,
]
orders = [b"status", b"describe", b"probe", b"statu", b"orders", b"", b"\0", b" ", b"\n", b"no program", b"\xff" * 40, b"y" * 5000]


def made_up(pieces):
    parts = [random.choice(pieces) for _ in range(random.randint(0, 8))]
    if random.random() < 0.3:
        parts.append(random.randbytes(random.randint(0, 64)))
    return b"".join(parts)


def send(to, message):
    descriptors = [memory] * random.choice([0, 0, 0, 1, 2, 40])
    try:
        socket.send_fds(to, [message], descriptors)
    except OSError:
        pass  # Too long, or it was hung up.


program = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
program.connect(notify)
for _ in range(3000):
    send(program, made_up(assignments))
for _ in range(300):
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stranger.settimeout(0.01)
    stranger.connect(sys.argv[2])
    for _ in range(random.randint(0, 3)):
        send(stranger, made_up(orders))
    if random.random() < 0.5:
        try:
            stranger.recv(1 << 18)
        except OSError:
            pass  # There may be no answer, if nothing was asked.
    stranger.close()
print("done", os.getpid(), flush=True)
signal_nothing, _ = os.pipe()
os.read(signal_nothing, 1)
