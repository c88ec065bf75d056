// Parks a thread that faulted until the verdict. It keeps the time itself.

#include "async_park.h"
#include "async_spool.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_tracer.h"
#include "thread_sampling.h"

#include <linux/futex.h>
#include <time.h>

/// Who wakes later than this after its time did not get a processor, or was stopped.
enum { late_nanoseconds = 100 * 1000 * 1000 };

/// An absolute CLOCK_MONOTONIC time: interruptions do not move it (futex(2), FUTEX_WAIT_BITSET).
static struct timespec time_after(uint64_t nanoseconds) {
    struct timespec until = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
    nanoseconds += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    return until;
}

static bool is_long_past(const struct timespec *time) {
    struct timespec now = {0, 0};
    HF_SYSCALL2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - time->tv_sec) * 1000000000 + (now.tv_nsec - time->tv_nsec) > late_nanoseconds;
}

/// Sleeps while a word has a value; false when the time has passed.
static bool wait_while(const void *word, uint32_t value, const struct timespec *until) {
    long result = HF_SYSCALL6(SYS_futex, word, FUTEX_WAIT_BITSET, value, until, 0, FUTEX_BITSET_MATCH_ANY);
    return result != -ETIMEDOUT;
}

/// Notes what the deciding thread does instead of deciding, and returns whether that passes by itself.
///
/// Whoever waits for a lock sleeps. Who is at work, is stopped (proc_pid_stat(5)) or has just been so as all others is not kept by one.
static bool note_decider(HFRecord *record, const struct timespec *deadline) {
    bool stood_still = is_long_past(deadline);
    HFThreadEntry decider;
    decider.id = hf_capture_decider();
    decider.kernel_state = 0;
    decider.system_call = -1;
    hf_async_describe_thread(&decider);
    record->decider_state = (uint16_t)decider.kernel_state;
    record->decider_system_call = (int16_t)decider.system_call;
    return stood_still || (decider.kernel_state != 0 && decider.kernel_state != 'S');
}

bool hf_async_ends_process(const HFRecord *record, uint32_t verdict) {
    return (verdict == HF_VERDICT_RESTART || verdict == HF_VERDICT_TERMINATE) &&
           (__atomic_load_n(&record->facts, __ATOMIC_ACQUIRE) & HF_FACT_DRAINED) == 0;
}

/// Waits until the deciding thread has let this one go.
///
/// The verdict is there before: who acted on it as soon as it is seen would end the process before the other threads' faults, which wait
/// too, have been walked. Those are given the same verdict, and are not let go.
static void await_release(const HFRecord *record) {
    uint32_t own = (uint32_t)(record - hf_capture_state.slots) + 1;
    struct timespec until = time_after(hf_capture_state.configuration.deadline_nanoseconds);
    uint32_t seen;
    while ((seen = atomic_load_explicit(&hf_capture_state.ender, memory_order_acquire)) != own) {
        long result = HF_SYSCALL6(
            SYS_futex, &hf_capture_state.ender, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, 0, FUTEX_BITSET_MATCH_ANY);
        if (result == -ETIMEDOUT) {
            return;
        }
    }
}

uint32_t hf_async_park(HFRecord *record) {
    HFSnapshot *snapshot = hf_async_claim_context(record->number);
    hf_async_await_verdict(record);
    atomic_fetch_add_explicit(&hf_capture_state.pending, 1, memory_order_release);
    HF_SYSCALL3(SYS_futex, &hf_capture_state.pending, FUTEX_WAKE_PRIVATE, 1);
    // While the deciding thread works.
    hf_async_keep_context(snapshot);

    uint64_t patience = hf_capture_state.configuration.deadline_nanoseconds;
    struct timespec until = time_after(patience);
    bool is_extended = false;
    for (;;) {
        hf_async_check_spool();
        uint32_t verdict = __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE);
        if (verdict != HF_VERDICT_PENDING) {
            if (hf_async_ends_process(record, verdict)) {
                await_release(record);
            }
            return verdict;
        }
        if (wait_while(&record->verdict, HF_VERDICT_PENDING, &until)) {
            continue;
        }
        bool may_pass = note_decider(record, &until);
        // A debugger may have stopped the deciding thread: that says nothing of locks.
        if (!hf_async_is_traced()) {
            if (!may_pass || is_extended) {
                break;
            }
            is_extended = true;
        }
        until = time_after(patience);
    }
    // It is ours: what keeps the deciding thread may be a lock that this very thread holds.
    uint32_t expected = HF_VERDICT_PENDING;
    uint32_t verdict = atomic_load_explicit(&hf_capture_state.verdict_without_decision, memory_order_relaxed);
    if (!__atomic_compare_exchange_n(
            &record->verdict, &expected, verdict, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return expected;
    }
    hf_capture_add_facts(record, HF_FACT_DEADLINE);
    return verdict;
}
