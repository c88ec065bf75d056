// A supervisor's children. supervise_shims.h says why each function is here.

#include "supervise_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// linux/close_range.h, which Debian 12's glibc has not.
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/// More than LISTEN_FDS and the standard three will ever be.
enum { most_descriptors = 512 };

int hf_close_on_exec_from(int first) {
    return (int)syscall(SYS_close_range, (unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC);
}

/// Writes the number of the process into ten bytes, without leading zeros and without stdio, which a forked child may not use.
static void write_number(char *text, int number) {
    char digits[10];
    int count = 0;
    do {
        digits[count] = (char)('0' + number % 10);
        count += 1;
        number /= 10;
    } while (number > 0);
    for (int i = 0; i < count; i += 1) {
        text[i] = digits[count - 1 - i];
    }
    text[count] = '\0';
}

__attribute__((noreturn)) static void fail(int outcome, int stage) {
    HFStartFailure failure = {stage, errno};
    ssize_t count = write(outcome, &failure, sizeof failure);
    (void)count;
    _exit(127);
}

/// Gives the child the descriptors of the plan, from 0 on. Returns the end of the pipe, which may have moved.
static int place_descriptors(const HFProgramPlan *plan, int outcome) {
    // First out of the way: one may have the number that another is to get.
    int copies[most_descriptors];
    int first_free = (int)plan->descriptor_count;
    int moved = fcntl(outcome, F_DUPFD_CLOEXEC, first_free);
    if (moved < 0) {
        fail(outcome, HFStartStageDescriptors);
    }
    for (uint32_t i = 0; i < plan->descriptor_count; i += 1) {
        copies[i] = fcntl(plan->descriptors[i], F_DUPFD_CLOEXEC, first_free);
        if (copies[i] < 0) {
            fail(moved, HFStartStageDescriptors);
        }
    }
    for (uint32_t i = 0; i < plan->descriptor_count; i += 1) {
        if (dup2(copies[i], (int)i) < 0) {
            fail(moved, HFStartStageDescriptors);
        }
    }
    // Before Linux 5.11 there is no such call: then what this program was given by its parent could stay open, and it marks that itself.
    (void)hf_close_on_exec_from(first_free);
    return moved;
}

/// Whether our parent had us ignore SIGHUP: nohup(1).
static bool ignores_hangup;

__attribute__((noreturn)) static void begin(const HFProgramPlan *plan, int outcome, int parent) {
    int self = getpid();
    if (setpgid(0, 0) != 0) {
        fail(outcome, HFStartStageGroup);
    }
    // SIGTTOU is blocked still, without which this would stop the child.
    if (plan->terminal >= 0) {
        (void)tcsetpgrp(plan->terminal, self);
    }
    if (plan->death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, plan->death_signal) != 0) {
            fail(outcome, HFStartStageParent);
        }
        // It may have ended before it was asked for. Then nobody reads the pipe either.
        if (getppid() != parent) {
            _exit(127);
        }
    }
    if (plan->directory != NULL && chdir(plan->directory) != 0) {
        fail(outcome, HFStartStageDirectory);
    }
    outcome = place_descriptors(plan, outcome);
    for (int i = 0; i < HF_OWN_NUMBERS; i += 1) {
        if (plan->own_number[i] != NULL) {
            write_number(plan->own_number[i], self);
        }
    }
    // By the kernel's own form: sigaction(3) refuses the two signals that the C library keeps to itself.
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } by_default;
    memset(&by_default, 0, sizeof by_default);
    for (int number = 1; number < NSIG; number += 1) {
        // As nohup(1) wants it.
        if (number == SIGHUP && ignores_hangup) {
            continue;
        }
        (void)syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof by_default.mask);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(plan->path, plan->arguments, plan->environment);
    fail(outcome, HFStartStageExec);
}

int hf_program_start(const HFProgramPlan *plan, int *outcome) {
    int ends[2];
    if (plan->descriptor_count > most_descriptors) {
        errno = EMFILE;
        return -1;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return -1;
    }
    int parent = getpid();
    int pid = fork();
    if (pid == 0) {
        begin(plan, ends[1], parent);
    }
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return -1;
    }
    // Both sides do it, so that neither meets a child without its group. It fails if the program has begun, which has done it then.
    (void)setpgid(pid, pid);
    *outcome = ends[0];
    return pid;
}

/// waitid(2) of the kernel, which tells more than that of the C library: what the child used.
static int wait_for(idtype_t type, int pid, int options, HFChildEvent *event) {
    siginfo_t info;
    struct rusage usage;
    memset(&info, 0, sizeof info);
    memset(&usage, 0, sizeof usage);
    // In threads of this process, too (__WALL is not accepted by waitid(2) before Linux 4.7; children of fork(2) need none).
    if (syscall(SYS_waitid, type, pid, &info, options | WNOHANG, &usage) != 0) {
        return -1;
    }
    if (info.si_pid == 0) {
        return 0;
    }
    *event = (HFChildEvent){
        .pid = info.si_pid,
        .code = info.si_code,
        .status = info.si_status,
        .user = info.si_uid,
        .user_microseconds = usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec,
        .system_microseconds = usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec,
        .peak_kilobytes = usage.ru_maxrss,
        .major_faults = usage.ru_majflt,
    };
    return 1;
}

int hf_child_look(HFChildEvent *event) {
    return wait_for(P_ALL, 0, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT, event);
}

int hf_child_take(int pid, HFChildEvent *event) {
    return wait_for(P_PID, pid, WEXITED | WSTOPPED | WCONTINUED, event);
}

int hf_child_take_stop(int pid, HFChildEvent *event) { return wait_for(P_PID, pid, WSTOPPED | WCONTINUED, event); }

int hf_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1); }

int hf_signals_take(void) {
    sigset_t all;
    sigfillset(&all);
    struct sigaction hangup;
    ignores_hangup = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
    if (ignores_hangup) {
        sigdelset(&all, SIGHUP);
    }
    // Those of faults, too: one that somebody sends is passed on. A fault of our own ends us all the same (linux/kernel/signal.c, force_sig).
    if (sigprocmask(SIG_SETMASK, &all, NULL) != 0) {
        return -1;
    }
    // What is ignored never comes, and our parent may have had these ignored (nohup(1)).
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    (void)sigaction(SIGCHLD, &action, NULL);
    return signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
}

int hf_signalfd_next(int descriptor, HFSignal *signal) {
    struct signalfd_siginfo info;
    if (read(descriptor, &info, sizeof info) != (ssize_t)sizeof info) {
        return 0;
    }
    *signal = (HFSignal){(int32_t)info.ssi_signo, info.ssi_code, (int32_t)info.ssi_pid, info.ssi_uid};
    return 1;
}

enum { shared_page_size = 4096 };

int hf_shared_page_make(void) {
    int descriptor = memfd_create("holdfast-standby", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) {
        return -1;
    }
    // Nobody who has it can cut it under the others, who would get SIGBUS.
    if (ftruncate(descriptor, shared_page_size) != 0 || fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

void *hf_shared_page_map(int descriptor) {
    int seals = fcntl(descriptor, F_GET_SEALS);
    struct stat status;
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &status) != 0 ||
        status.st_size != shared_page_size) {
        return NULL;
    }
    void *page = mmap(NULL, shared_page_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return page == MAP_FAILED ? NULL : page;
}

void hf_shared_page_unmap(void *page) { munmap(page, shared_page_size); }

int hf_terminal_take(int terminal, int group) { return tcsetpgrp(terminal, group); }
