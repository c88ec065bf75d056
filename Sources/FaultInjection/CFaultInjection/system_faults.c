// Faults that the kernel raises for what a process asks of it, and a sandbox.

#include "system_faults.h"

#include "fault_function.h"
#include "fault_injection.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Never implemented (unimplemented(2)), so that nobody else misses it.
enum { forbidden_call = SYS_afs_syscall };

/// For all threads of the process, and for what it executes.
static bool install(struct sock_filter *code, unsigned short length) {
    struct sock_fprog program = {.len = length, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/// One call is answered, and all others are allowed.
static bool answer(int number, unsigned action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(code, sizeof code / sizeof *code);
}

bool hf_sandbox_refuse(int number, int error) { return answer(number, SECCOMP_RET_ERRNO | (unsigned)error); }

bool hf_sandbox_forbid_descriptors(unsigned first) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(code, sizeof code / sizeof *code);
}

HF_FAULT_FUNCTION void faultForbiddenCall(void) {
    if (answer(forbidden_call, SECCOMP_RET_TRAP)) {
        syscall(forbidden_call);
    }
    hf_fault_returned();
}

bool hf_sandbox_become(unsigned user) {
    // Nobody may trace a process that has changed its user (proc(5)), until it says otherwise.
    return setuid(user) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

bool hf_sandbox_refuse_threads(bool refuse) {
    struct rlimit limit;
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = refuse ? 0 : limit.rlim_max;
    return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

bool hf_sandbox_hide_processes(void) { return umount2("/proc", MNT_DETACH) == 0; }

HF_FAULT_FUNCTION void faultHalt(void) {
    // A register that holds no address: it has nothing to do with the fault.
    __asm__ volatile("movabsq $0x8123456789abcdef, %%rcx\n\thlt" : : : "rcx");
}

HF_FAULT_FUNCTION void faultInterrupt(void) {
    __asm__ volatile("movabsq $0x8123456789abcdef, %%rcx\n\tint $0x33" : : : "rcx");
}

HF_FAULT_FUNCTION void faultFileSize(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_FSIZE, &limit);
    int file = memfd_create("limited", MFD_CLOEXEC);
    char byte = 0;
    ssize_t count = pwrite(file, &byte, sizeof byte, 1 << 30);
    close(file);
    if (count <= 0) {
        hf_fault_returned();
    }
}

HF_FAULT_FUNCTION void faultProcessorTime(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_CPU, &limit);
    // Whole seconds, of which one may be over already.
    limit.rlim_cur = 1;
    setrlimit(RLIMIT_CPU, &limit);
    uint64_t before = hf_fault_returned_count();
    while (hf_fault_returned_count() == before) {
    }
}
