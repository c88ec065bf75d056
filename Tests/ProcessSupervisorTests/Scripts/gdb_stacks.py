# Writes the stack of each thread of the process that gdb is attached to: a line with the thread and the program counter of each frame.
#
# Called by gdb (`gdb -batch -nx -p PID -x gdb_stacks.py`).

import gdb

for setting in ["backtrace past-main on", "backtrace past-entry on", "backtrace limit unlimited", "debuginfod enabled off"]:
    gdb.execute("set " + setting)

for thread in gdb.selected_inferior().threads():
    thread.switch()
    counters = []
    frame = gdb.newest_frame()
    while frame is not None:
        # What was inlined, or has ended by calling another function, is in no place of its own on the stack.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            counters.append("%x" % frame.pc())
        frame = frame.older()
    print("stack", thread.ptid[1], *counters)
