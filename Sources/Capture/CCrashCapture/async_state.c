// The state that handlers share, which process runs, the time, and sleeping on a word. These files call this one, and it calls none of
// them.

#include "async_state.h"
#include "async_syscalls.h"

#include <linux/futex.h>
#include <time.h>

const int hf_async_fault_signals[HF_REPORTED_SIGNAL_COUNT] = {
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ};

HFCaptureState hf_capture_state;

_Thread_local HFThreadStack hf_thread_stack;
_Thread_local HFUncaughtException hf_uncaught_exception;

int32_t hf_async_process(void) {
    int32_t pid = (int32_t)HF_SYSCALL0(SYS_getpid);
    const _Atomic(bool) *is_ours = hf_capture_state.is_ours;
    return is_ours == NULL || atomic_load_explicit(is_ours, memory_order_relaxed) ? pid : -pid;
}

bool hf_async_is_exiting(void) {
    return atomic_load_explicit(&hf_capture_state.exiting, memory_order_acquire) == hf_async_process();
}

bool hf_async_queue_to_self(int signal, const siginfo_t *info) {
    long pid = HF_SYSCALL0(SYS_getpid);
    long thread = HF_SYSCALL0(SYS_gettid);
    return HF_SYSCALL4(SYS_rt_tgsigqueueinfo, pid, thread, signal, info) == 0;
}

// MARK: Time and sleep

enum { second = 1000 * 1000 * 1000 };

uint64_t hf_async_nanoseconds(clockid_t clock) {
    struct timespec time = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, clock, &time);
    return (uint64_t)time.tv_sec * second + (uint64_t)time.tv_nsec;
}

uint64_t hf_async_monotonic_nanoseconds(void) { return hf_async_nanoseconds(CLOCK_MONOTONIC); }

bool hf_async_sleep_while(const void *word, uint32_t value, uint64_t until) {
    struct timespec time = {(time_t)(until / second), (long)(until % second)};
    const struct timespec *limit = until == HF_FOR_EVER ? NULL : &time;
    // A private futex: found by its address, even if the spool has become another mapping meanwhile (async_spool.c).
    long result = HF_SYSCALL6(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, limit, 0, FUTEX_BITSET_MATCH_ANY);
    return result != -ETIMEDOUT;
}

void hf_async_wake(const void *word) { HF_SYSCALL3(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX); }

void hf_async_wake_one(const void *word) { HF_SYSCALL3(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1); }
