"""A service manager that keeps descriptors: manager.py HOLDFAST STORE [OPTION...]

Starts `holdfast run`, and takes what the program below gives away. Kills the supervisor then, starts it again with those descriptors, as
systemd does, and says what it was told and how that one ended.
"""

import array
import os
import signal
import socket
import sys

holdfast, store, *options = sys.argv[1:]

program = """
import array, os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect('\\0' + os.environ['NOTIFY_SOCKET'][1:])
def say(text, *fds):
    s.sendmsg([text.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
if 'LISTEN_FDS' in os.environ:
    print(os.environ['LISTEN_FDNAMES'], os.read(3, 5).decode(), os.read(4, 5).decode(), flush=True)
    say('EXTEND_TIMEOUT_USEC=7000000')
    say('FDSTOREREMOVE=1\\nFDNAME=memory')
    say('BARRIER=1', os.open('/dev/null', 0))
    sys.exit(0)
for name, text in ('memory', b'state'), ('more', b'other'):
    fd = os.memfd_create(name)
    os.write(fd, text)
    os.lseek(fd, 0, 0)
    say('FDSTORE=1\\nFDNAME=' + name + ('\\nFDPOLL=0' if name == 'more' else ''), fd)
time.sleep(1000)
"""

ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
ours.bind("\0holdfast-test-manager-%d" % os.getpid())


def start(descriptors):
    pid = os.fork()
    if pid != 0:
        return pid
    environment = dict(os.environ, NOTIFY_SOCKET="@holdfast-test-manager-%d" % os.getppid())
    if descriptors:
        high = [os.dup2(fd, 100 + index) for index, (_, fd) in enumerate(descriptors)]
        for index, fd in enumerate(high):
            os.dup2(fd, 3 + index)
        environment["LISTEN_PID"] = str(os.getpid())
        environment["LISTEN_FDS"] = str(len(descriptors))
        environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in descriptors)
    arguments = [holdfast, "run", "--store", store, "--termination-log", "", *options, "--", "python3", "-c", program]
    os.execve(holdfast, arguments, environment)


def message():
    text, ancillary, _, _ = ours.recvmsg(4096, 4096)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % 4])
    return dict(line.split("=", 1) for line in text.decode().split("\n") if "=" in line), list(descriptors)


pid = start([])
stored = []
while len(stored) < 2:
    said, descriptors = message()
    if said.get("FDSTORE") == "1":
        print("stores", said["FDNAME"], said.get("FDPOLL", "1"), flush=True)
        stored += [(said["FDNAME"], fd) for fd in descriptors]
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
pid = start(stored)
_, status = os.waitpid(pid, 0)
ours.setblocking(False)
while True:
    try:
        said, _ = message()
    except BlockingIOError:
        break
    for key in "EXTEND_TIMEOUT_USEC", "FDSTOREREMOVE":
        if key in said:
            print(key, said[key], said.get("FDNAME", ""), flush=True)
print("end", os.waitstatus_to_exitcode(status), flush=True)
