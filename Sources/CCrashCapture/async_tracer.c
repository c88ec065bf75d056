// Asks proc(5) who traces us.

#include "async_tracer.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <stddef.h>

/// The number behind "TracerPid:" in the file, 0 when there is none.
static long tracer_in(const char *path) {
    static const char key[] = "\nTracerPid:";
    long descriptor = HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0) {
        return 0;
    }
    long tracer = 0;
    size_t matched = 0;
    char buffer[256];
    for (;;) {
        long count = HF_SYSCALL3(SYS_read, descriptor, buffer, sizeof buffer);
        if (count == -EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        for (long i = 0; i < count; i += 1) {
            char byte = buffer[i];
            if (matched == sizeof key - 1) {
                if (byte == '\n') {
                    goto found;
                }
                if (byte >= '0' && byte <= '9') {
                    tracer = tracer * 10 + (byte - '0');
                }
            } else if (byte == key[matched]) {
                matched += 1;
            } else {
                // Only the key's first byte can begin it again: it is in there once.
                matched = byte == key[0] ? 1 : 0;
            }
        }
    }
found:
    HF_SYSCALL1(SYS_close, descriptor);
    return tracer;
}

bool hf_async_is_traced(void) {
    // A tracer holds threads (ptrace(2)): debuggers take all, but not everybody does.
    return tracer_in("/proc/thread-self/status") != 0 || tracer_in("/proc/self/status") != 0;
}
