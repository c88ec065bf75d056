# Runs the frame probe's cases one after the other, and writes what gdb sees of each fault's stack: a line of JSON per case.
#
# Called by gdb (`gdb -batch -nx -x gdb_frames.py`), with the probe in $JUDGE_PROGRAM, the cases in $JUDGE_CASES, separated by
# colons, the store in $JUDGE_STORE, where to look for debug files in $JUDGE_DEBUG, and the file to write in $JUDGE_OUTPUT.

import json
import os
import re

import gdb

MOST_FRAMES = 5000

for setting in [
    "pagination off",
    "confirm off",
    "print demangle off",
    "print inferior-events off",
    "print thread-events off",
    "startup-with-shell off",
    "debuginfod enabled off",
    "auto-load off",
    "backtrace past-main on",
    "backtrace limit unlimited",
    "style enabled off",
    "complaints 0",
]:
    gdb.execute("set " + setting)
gdb.execute("set debug-file-directory " + os.environ["JUDGE_DEBUG"])
gdb.execute("file " + os.environ["JUDGE_PROGRAM"])
# All but the debugger's own.
gdb.execute("handle all nostop noprint pass", to_string=True)


def is_walker(thread):
    return thread is not None and thread.name == "holdfast-crash"


def run(case):
    """Runs to the breakpoint that the probe meets when it has walked its own stack. Returns whether it came there."""
    gdb.execute("set args {} {} --debugger".format(case, os.environ["JUDGE_STORE"]))
    gdb.execute("run", to_string=True)
    # A case may have a breakpoint of its own as its fault.
    while gdb.selected_thread() is not None and not is_walker(gdb.selected_thread()):
        gdb.execute("signal SIGTRAP", to_string=True)
    return is_walker(gdb.selected_thread())


def frame_behind_handler(thread):
    """The frame that the innermost signal frame of a thread interrupted, or None."""
    thread.switch()
    frame = gdb.newest_frame()
    for _ in range(64):
        if frame is None:
            return None
        if frame.type() == gdb.SIGTRAMP_FRAME:
            return frame.older()
        frame = frame.older()
    return None


def source(frame):
    place = frame.find_sal()
    if place.symtab is None or place.line == 0:
        return None, 0
    return place.symtab.fullname(), place.line


def describe(frame):
    function = frame.function()
    file, line = source(frame)
    return {
        "address": frame.pc(),
        "function": function.linkage_name if function is not None else frame.name(),
        "hasSymbol": function is not None,
        "file": file,
        "line": line,
        "inlined": frame.type() == gdb.INLINE_FRAME,
        "isTailCall": frame.type() == gdb.TAILCALL_FRAME,
        "isSignalFrame": frame.type() == gdb.SIGTRAMP_FRAME,
    }


def walk(frame):
    frames = []
    try:
        while frame is not None and len(frames) < MOST_FRAMES:
            frames.append(describe(frame))
            frame = frame.older()
    except gdb.error as error:
        return frames, str(error)
    return frames, None


RUNNER = "runJobInEstablishedExecutorContext"
# Parts of async functions: what follows an await, and what follows another suspension (swift/docs/ABI/Mangling.rst).
PART = re.compile(r"T[QY]\d+_$")
SEARCHED_WORDS = 512


def peek(address):
    """The word at an address; 0 if there is no memory: neither a context nor a function."""
    try:
        return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")
    except (gdb.error, OverflowError):
        return 0


def symbol(address):
    """The symbol that begins at an address, and its file; None if none does."""
    text = gdb.execute("info symbol {:#x}".format(address), to_string=True).strip()
    match = re.match(r"(\S+(?: \S+)*?) in section \S+(?: of (.*))?$", text)
    return None if match is None or " + " in match.group(1) else (match.group(1), match.group(2) or "")


def chain(context):
    """The names of the functions that await, as the contexts of a task have them; None if that is no context."""
    names = []
    for _ in range(512):
        if context % 8 != 0 or context < 4096:
            return None
        parent = peek(context)
        found = symbol(peek(context + 8))
        if found is None:
            return None
        if parent == 0:
            return names if "libswift_Concurrency" in found[1] else None
        if PART.search(found[0]) is None:
            return None
        names.append(found[0])
        context = parent
    return None


def awaits(frame):
    """Finds the context of the async function that a job runs, and follows it."""
    function = None
    while frame is not None and RUNNER not in (frame.name() or ""):
        function = frame
        frame = frame.older()
    if frame is None or function is None:
        return []

    def register(name):
        return int(function.read_register(name)) & (1 << 64) - 1

    def contexts():
        """Where a frame with a frame pointer keeps it, then the registers that a call preserves, then what else is in the frame."""
        yield peek(register("rbp") - 8)
        for name in ["r14", "rbx", "rbp", "r12", "r13", "r15"]:
            yield register(name)
        for index in range(SEARCHED_WORDS):
            yield peek(register("rsp") + 8 * index)

    return next((names for names in map(chain, contexts()) if names is not None), [])


output = open(os.environ["JUDGE_OUTPUT"], "w")
for case in os.environ["JUDGE_CASES"].split(":"):
    result = {"case": case, "pid": 0, "frames": [], "awaits": [], "error": None}
    try:
        if run(case):
            inferior = gdb.selected_inferior()
            result["pid"] = inferior.pid
            # Others stand in signal handlers, too, in which their stacks are sampled.
            faulted = int(gdb.parse_and_eval("(long) $rdi"))
            for thread in inferior.threads():
                first = frame_behind_handler(thread) if thread.ptid[1] == faulted else None
                if first is not None:
                    result["frames"], result["error"] = walk(first)
                    if case.startswith("await-"):
                        result["awaits"] = awaits(first)
            while gdb.selected_thread() is not None:
                gdb.execute("continue", to_string=True)
        else:
            result["error"] = "it ended before its stack was walked"
    except gdb.error as error:
        result["error"] = str(error)
        if gdb.selected_thread() is not None:
            gdb.execute("kill", to_string=True)
    print(json.dumps(result), file=output, flush=True)
