// Faults and circumstances that the kernel knows of.

#include "fault_function.h"
#include "fault_injection.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// --- What the kernel raises for what a process asks of it, and a sandbox ---------------------------------------------

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

// --- What a fault handler reads memory by ----------------------------------------------------------------------------

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

// --- Circumstances in which a fault is hard to catch, or to look into ------------------------------------------------

HF_FAULT_FUNCTION void faultMaskedSignals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    __asm__ volatile("ud2");
}

HF_FAULT_FUNCTION void faultUnreadableMemory(void) {
    if (hf_refuse_memory_reads() == 0) {
        __asm__ volatile("ud2");
    }
}

// --- What a thread has beside its stack ------------------------------------------------------------------------------

// Intel's manual, volume 1, 3.4.3: TF is bit 8, DF bit 10, AC bit 18.

HF_FAULT_FUNCTION void trapByTrapFlag(void) {
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tnop" ::: "memory", "cc");
}

HF_FAULT_FUNCTION void trapWithAlignmentChecks(void) {
    __asm__ volatile("pushfq\n\torq $0x40400, (%%rsp)\n\tpopfq\n\tud2" ::: "memory", "cc");
}

HF_FAULT_FUNCTION unsigned long processorFlags(void) {
    unsigned long flags;
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags)::"memory");
    return flags;
}

// What `TaskLocal.withValue` calls (swift/stdlib/public/Concurrency/TaskLocal.cpp). In a debug build that is a function of the library,
// whose frame denies. Weak: not every program that faults on purpose has the library.
extern void swift_task_localValuePush(const void *key, void *value, const void *type)
    __attribute__((weak, swiftcall));

void bindTaskLocal(const void *key, void *value, const void *type) {
    if (swift_task_localValuePush != NULL) {
        swift_task_localValuePush(key, value, type);
    }
}

void waitWithSignalMask(const void *mask) {
    struct timespec limit = {.tv_sec = 10, .tv_nsec = 0};
    ppoll(NULL, 0, &limit, mask);
}

void waitByEpollWithSignalMask(const void *mask) {
    struct epoll_event event;
    struct timespec limit = {.tv_sec = 10, .tv_nsec = 0};
    epoll_pwait2(epoll_create1(EPOLL_CLOEXEC), &event, 1, &limit, mask);
}

// Programs use them still.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
void blockSignalsByOldCalls(void) {
    sigblock(-1);
    sigsetmask(-1);
    sighold(SIGSEGV);
    sigset(SIGSEGV, SIG_HOLD);
}
#pragma clang diagnostic pop

void blockSignalsByKernel(void) {
    uint64_t all = ~0ULL;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
}

bool blocksFaultSignals(void) {
    static const int faults[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i += 1) {
        if ((mask & 1ULL << (faults[i] - 1)) != 0) {
            return true;
        }
    }
    return false;
}

static int callFunction(void *function) {
    ((void (*)(void))function)();
    return 0;
}

void callOnThreadOfC11(void (*function)(void)) {
    thrd_t thread;
    thrd_create(&thread, callFunction, (void *)function);
}

static void callValue(union sigval value) { ((void (*)(void))value.sival_ptr)(); }

void callOnThreadOfTimer(void (*function)(void)) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = callValue};
    event.sigev_value.sival_ptr = (void *)function;
    timer_t timer;
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
        timer_settime(timer, 0, &soon, NULL);
    }
}

bool beginProcessNamespace(void) { return syscall(SYS_unshare, CLONE_NEWPID) == 0; }
