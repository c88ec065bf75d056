// A fresh process in the place of this one: same pid, same arguments, kept descriptors, and no signal lost between the two.

#include "async_restart.h"
#include "async_program.h"
#include "async_sleep.h"
#include "async_spool.h"
#include "async_signals.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "kept_table.h"
#include "thread_sampling.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/resource.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/// The thread that restarts the process, or changes what a restart begins with; 0 for none.
static _Atomic(int32_t) restarter;
/// Whether it restarts.
static _Atomic(bool) is_restarting;

bool hf_async_is_restarting(void) { return atomic_load_explicit(&is_restarting, memory_order_acquire); }

void hf_async_await_restart(void) {
    for (;;) {
        int32_t holder = atomic_load_explicit(&restarter, memory_order_acquire);
        if (holder == 0 || !hf_async_is_restarting()) {
            return;
        }
        HF_SYSCALL4(SYS_futex, &restarter, FUTEX_WAIT_PRIVATE, holder, 0);
    }
}

/// One at a time: of two threads that fault together, the second would mark as close-on-exec what the first keeps.
///
/// Returns false to the thread that has begun already.
static bool begin(void) {
    int32_t self = (int32_t)HF_SYSCALL0(SYS_gettid);
    for (;;) {
        int32_t holder = 0;
        if (atomic_compare_exchange_strong_explicit(
                &restarter, &holder, self, memory_order_acquire, memory_order_acquire)) {
            return true;
        }
        if (holder == self) {
            return false;
        }
        HF_SYSCALL4(SYS_futex, &restarter, FUTEX_WAIT_PRIVATE, holder, 0);
    }
}

/// Ends what `begin` has begun, if it has.
static void finish(bool has_begun) {
    if (!has_begun) {
        return;
    }
    atomic_store_explicit(&restarter, 0, memory_order_release);
    hf_async_wake(&restarter);
}

const HFRestartPlan *hf_async_exchange_restart_plan(const HFRestartPlan *plan) {
    // A thread that restarts reads the plan, and holds the lock: so the one that comes back is nobody's.
    bool is_free = begin();
    const HFRestartPlan *before =
        atomic_exchange_explicit(&hf_capture_state.restart_plan, plan, memory_order_acq_rel);
    finish(is_free);
    return is_free ? before : NULL;
}

int hf_async_exchange_kept_table(int table, int replacement) {
    bool is_free = begin();
    long result = HF_SYSCALL3(SYS_dup3, replacement, table, O_CLOEXEC);
    finish(is_free);
    return result < 0 ? (int)result : 0;
}

static void close_on_exec(long descriptor) { HF_SYSCALL3(SYS_fcntl, descriptor, F_SETFD, FD_CLOEXEC); }

/// The number that a name in /proc/self/fd is; below 0 for another name.
static long number_of(const char *name) {
    long number = 0;
    for (; *name >= '0' && *name <= '9'; name += 1) {
        number = number * 10 + (*name - '0');
    }
    return *name == 0 ? number : -1;
}

/// Closes on exec what /proc/self/fd names; false if it cannot be read.
static bool close_listed_on_exec(void) {
    long folder = HF_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
    if (folder < 0) {
        return false;
    }
    char entries[2048] __attribute__((aligned(8)));
    long size;
    while ((size = HF_SYSCALL3(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        // struct linux_dirent64 (getdents(2)): an entry's length is at offset 16, its name at 19.
        for (long offset = 0; offset + 19 < size;) {
            uint16_t length;
            __builtin_memcpy(&length, entries + offset + 16, sizeof length);
            long number = number_of(entries + offset + 19);
            if (number > 2) {
                close_on_exec(number);
            }
            if (length == 0) {
                break;
            }
            offset += length;
        }
    }
    HF_SYSCALL1(SYS_close, folder);
    return size == 0;
}

/// As many descriptors as the kernel gives a process unless fs.nr_open was raised (fs/file.c, sysctl_nr_open): a tenth of a second.
enum { most_counted = 1024 * 1024 };

/// Closes on exec everything but the standard three, whoever opened it.
static void close_all_on_exec(void) {
    // Since Linux 5.11; a sandbox may not know it.
    if (HF_SYSCALL3(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 || close_listed_on_exec()) {
        return;
    }
    // The limit may be 2^30 and more: what lies beyond these stays open in the next process.
    struct rlimit limit = {0, 0};
    HF_SYSCALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
    for (unsigned long i = 3; i < limit.rlim_cur && i < most_counted; i += 1) {
        close_on_exec((long)i);
    }
}

/// Ignores the fault signals that were ignored before capture, as execve(2) keeps it; gives back what stood there.
static void ignore_as_before(HFKernelAction ours[HF_REPORTED_SIGNAL_COUNT]) {
    HFKernelAction ignore = {.handler = (uintptr_t)SIG_IGN};
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        bool ignored = hf_capture_state.previous[i].sa_handler == SIG_IGN;
        HF_SYSCALL4(
            SYS_rt_sigaction, hf_async_fault_signals[i], ignored ? &ignore : NULL, &ours[i], HF_KERNEL_SIGSET_SIZE);
    }
}

static void take_back(const HFKernelAction ours[HF_REPORTED_SIGNAL_COUNT]) {
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        HF_SYSCALL4(SYS_rt_sigaction, hf_async_fault_signals[i], &ours[i], 0, HF_KERNEL_SIGSET_SIZE);
    }
}

void hf_async_restart(void) {
    const HFCaptureConfiguration *configuration = &hf_capture_state.configuration;
    if (configuration->executable == NULL || configuration->arguments == NULL || hf_async_is_exiting()) {
        return;
    }
    // A handler that interrupts a change of what a restart begins with goes on: the change is made or not, by one instruction
    // or one system call. What interrupts a restart does not.
    bool is_free = begin();
    if (!is_free && hf_async_is_restarting()) {
        return;
    }
    const HFRestartPlan *plan = atomic_load_explicit(&hf_capture_state.restart_plan, memory_order_acquire);
    if (plan == NULL) {
        finish(is_free);
        return;
    }
    // From here on the handler of an observed signal waits for the restart (hf_async_await_restart): on this thread, for ever.
    uint64_t observed = atomic_load_explicit(&hf_capture_state.observed_signals, memory_order_relaxed);
    uint64_t before = 0;
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, &observed, &before, HF_KERNEL_SIGSET_SIZE);
    atomic_store_explicit(&is_restarting, true, memory_order_release);
    close_all_on_exec();
    hf_async_keep_descriptors(plan->kept_table, true);
    hf_async_hand_spool_over(true);
    hf_async_hold_signals();
    HFKernelAction faults[HF_REPORTED_SIGNAL_COUNT];
    ignore_as_before(faults);
    hf_async_suspend_sampling();
    // execve(2) keeps the signal mask: a process that begins with the fault signals blocked would die unreported. The observed
    // ones wait until it has handlers for them again (hf_signal_release): by default it would die of a SIGHUP now.
    uint64_t mask = hf_capture_state.initial_mask |
                    atomic_load_explicit(&hf_capture_state.observed_signals, memory_order_relaxed);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    hf_async_check_spool();
    // Before: what comes after is the next process.
    __atomic_store_n(&configuration->spool->end, HF_END_RESTARTED, __ATOMIC_RELAXED);
    if (hf_async_is_complete_program(configuration->executable)) {
        HF_SYSCALL3(SYS_execve, configuration->executable, configuration->arguments, plan->environment);
    }
    if (configuration->fallback_executable != NULL) {
        HF_SYSCALL3(SYS_execve, configuration->fallback_executable, configuration->arguments, plan->environment);
    }
    __atomic_store_n(&configuration->spool->end, HF_END_NONE, __ATOMIC_RELAXED);
    hf_async_continue_sampling();
    take_back(faults);
    hf_async_unhold_signals();
    // No child that is started from now on is meant to have them.
    hf_async_keep_descriptors(plan->kept_table, false);
    hf_async_hand_spool_over(false);
    atomic_store_explicit(&is_restarting, false, memory_order_release);
    finish(is_free);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, HF_KERNEL_SIGSET_SIZE);
}
