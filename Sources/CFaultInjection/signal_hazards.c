// Faults that come as other signals than the usual ones, and circumstances in which a signal is hard to catch or to look into.

#include "fault_function.h"
#include "hazard_injection.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /// More than anything else in the process writes to a file.
    file_limit_bytes = 1 << 30,
    /// Long gone from the kernel (lookup_dcookie(2)), so nobody else calls it.
    unused_system_call = SYS_lookup_dcookie,
};

/// Has the kernel answer one system call of all threads with an action of seccomp(2), from now on and in what is executed next.
static bool filter_system_call(int number, unsigned int action) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

HF_FAULT_FUNCTION void faultMaskedSignals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    __asm__ volatile("ud2");
}

HF_FAULT_FUNCTION void faultUnreadableMemory(void) {
    if (filter_system_call(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM)) {
        __asm__ volatile("ud2");
    }
}

HF_FAULT_FUNCTION void faultForbiddenSystemCall(void) {
    if (filter_system_call(unused_system_call, SECCOMP_RET_TRAP)) {
        syscall(unused_system_call, 0, NULL, 0);
    }
}

HF_FAULT_FUNCTION void faultProcessorTimeLimit(void) {
    struct rlimit limit;
    struct rusage used;
    getrlimit(RLIMIT_CPU, &limit);
    getrusage(RUSAGE_SELF, &used);
    // The kernel counts whole seconds, and sends the signal once a second from the limit on (setrlimit(2)).
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1);
    setrlimit(RLIMIT_CPU, &limit);
    for (volatile bool spin = true; spin;) {
    }
}

HF_FAULT_FUNCTION void faultFileSizeLimit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = file_limit_bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
    int file = memfd_create("file-size-limit", MFD_CLOEXEC);
    if (pwrite(file, "", 1, file_limit_bytes) < 0) {
        close(file);
    }
}
