// Ways to take from a process what a fault handler reads memory by.

#include "hazard_injection.h"
#include "system_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int hf_refuse_memory_reads(void) {
    // What container runtimes answer to a system call that is not on their list (seccomp(2), SECCOMP_RET_ERRNO).
    return hf_sandbox_refuse(SYS_process_vm_readv, EPERM) ? 0 : errno;
}

int hf_close_memory_files(void) {
    char own[64];
    snprintf(own, sizeof own, "/proc/%d/mem", (int)getpid());
    int count = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor += 1) {
        char link[64];
        char path[64] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        if (readlink(link, path, sizeof path - 1) > 0 && strcmp(path, own) == 0) {
            // Something else in its place is worse than nothing.
            int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
            dup2(other, descriptor);
            close(other);
            count += 1;
        }
    }
    return count;
}
