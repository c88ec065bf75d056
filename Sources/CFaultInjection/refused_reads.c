// Ways to take from a process what a fault handler reads memory by.

#include "hazard_injection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int hf_refuse_memory_reads(void) {
    // What container runtimes answer to a system call that is not on their list (seccomp(2), SECCOMP_RET_ERRNO).
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return errno;
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
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
