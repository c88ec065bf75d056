#include "trace_shims.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

/// Whether a thread stands still. Its end is not taken: the supervisor does that.
static bool is_stopped(int thread) {
    siginfo_t event = {0};
    return waitid(P_PID, (id_t)thread, &event, WSTOPPED | WNOHANG | __WALL) == 0 && event.si_pid == thread;
}

int hf_trace_stop(int thread, int milliseconds, uint64_t registers[HF_TRACED_REGISTERS]) {
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) {
        return -1;
    }
    // From here on it is let go by the kernel, if this process ends.
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0) {
        return -1;
    }
    // The kernel tells of it by SIGCHLD, which is the supervisor's. One that waits for a disk stops when the disk has answered.
    for (int i = 0; !is_stopped(thread); i += 1) {
        if (i >= milliseconds * 5) {
            errno = ETIMEDOUT;
            return -1;
        }
        struct timespec pause = {.tv_nsec = 200 * 1000};
        nanosleep(&pause, NULL);
    }
    struct user_regs_struct kept;
    struct iovec place = {&kept, sizeof kept};
    // NT_PRSTATUS of elf.h.
    if (ptrace(PTRACE_GETREGSET, thread, (void *)1, &place) != 0 || place.iov_len != sizeof kept) {
        int error = errno;
        hf_trace_detach(thread);
        errno = error;
        return -1;
    }
    const uint64_t all[HF_TRACED_REGISTERS] = {kept.rax, kept.rdx, kept.rcx, kept.rbx, kept.rsi, kept.rdi, kept.rbp, kept.rsp, kept.r8,
                                               kept.r9,  kept.r10, kept.r11, kept.r12, kept.r13, kept.r14, kept.r15, kept.rip};
    for (int i = 0; i < HF_TRACED_REGISTERS; i += 1) {
        registers[i] = all[i];
    }
    return 0;
}

void hf_trace_detach(int thread) { ptrace(PTRACE_DETACH, thread, NULL, NULL); }

ssize_t hf_process_read(int pid, uint64_t address, void *bytes, size_t count) {
    struct iovec local = {bytes, count};
    struct iovec remote = {(void *)(uintptr_t)address, count};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}
