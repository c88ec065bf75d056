// What a restart in place hands to the next process: its plan, and descriptors. One thread at a time restarts or changes that.

#include "async_proc.h"
#include "async_restart.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif
#ifndef CLONE_FILES
#define CLONE_FILES 0x400
#endif

/// The thread that restarts the process, or changes the plan; 0 for none.
static _Atomic(int32_t) restarter;
/// Whether it restarts.
static _Atomic(bool) is_restarting;
/// Replaced as a whole.
static const HFRestartPlan *_Atomic plan;

const HFRestartPlan *hf_async_restart_plan(void) { return atomic_load_explicit(&plan, memory_order_acquire); }

void hf_async_set_restarting(bool restarts) { atomic_store_explicit(&is_restarting, restarts, memory_order_release); }

bool hf_async_is_restarting(void) { return atomic_load_explicit(&is_restarting, memory_order_acquire); }

void hf_async_await_restart(void) {
    for (;;) {
        int32_t holder = atomic_load_explicit(&restarter, memory_order_acquire);
        if (holder == 0 || !hf_async_is_restarting()) {
            return;
        }
        hf_async_sleep_while(&restarter, (uint32_t)holder, HF_FOR_EVER);
    }
}

bool hf_async_begin_restart(void) {
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
        hf_async_sleep_while(&restarter, (uint32_t)holder, HF_FOR_EVER);
    }
}

bool hf_async_has_begun_restart(void) {
    return atomic_load_explicit(&restarter, memory_order_relaxed) == (int32_t)HF_SYSCALL0(SYS_gettid);
}

void hf_async_finish_restart(bool has_begun) {
    if (!has_begun) {
        return;
    }
    atomic_store_explicit(&restarter, 0, memory_order_release);
    hf_async_wake(&restarter);
}

const HFRestartPlan *hf_async_exchange_restart_plan(const HFRestartPlan *replacement) {
    // A thread that restarts holds the lock while it reads the plan. If we get the lock, nobody reads the old plan.
    bool is_free = hf_async_begin_restart();
    const HFRestartPlan *before =
        atomic_exchange_explicit(&plan, replacement, memory_order_acq_rel);
    hf_async_finish_restart(is_free);
    return is_free ? before : NULL;
}

int hf_async_exchange_kept_table(int table, int replacement) {
    bool is_free = hf_async_begin_restart();
    long result = HF_SYSCALL3(SYS_dup3, replacement, table, O_CLOEXEC);
    hf_async_finish_restart(is_free);
    return result < 0 ? (int)result : 0;
}

// MARK: Descriptors

static void close_on_exec(long descriptor) { HF_SYSCALL3(SYS_fcntl, descriptor, F_SETFD, FD_CLOEXEC); }

/// Marks the descriptors in /proc/self/fd close-on-exec; false if the folder cannot be read.
static bool close_listed_on_exec(void) {
    HFFolder folder;
    hf_async_begin_entries(&folder, hf_async_open(AT_FDCWD, "/proc/self/fd"));
    if (folder.descriptor < 0) {
        return false;
    }
    const char *name;
    while ((name = hf_async_next_entry(&folder)) != NULL) {
        int32_t number = hf_async_number_of(name);
        if (number > STDERR_FILENO) {
            close_on_exec(number);
        }
    }
    HF_SYSCALL1(SYS_close, folder.descriptor);
    return folder.size == 0;
}

/// A process has no more descriptors unless fs.nr_open was raised (fs/file.c, sysctl_nr_open). It takes a tenth of a second.
enum { most_counted = 1024 * 1024 };

void hf_async_close_all_on_exec(void) {
    // Since Linux 5.11; a sandbox may not know it.
    if (HF_SYSCALL3(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE) == 0) {
        return;
    }
    HF_SYSCALL1(SYS_unshare, CLONE_FILES);
    if (close_listed_on_exec()) {
        return;
    }
    // The limit may be 2^30 and more: descriptors above `most_counted` stay open in the next process.
    struct rlimit limit = {0, 0};
    HF_SYSCALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
    for (unsigned long i = 3; i < limit.rlim_cur && i < most_counted; i += 1) {
        close_on_exec((long)i);
    }
}
