// Parks a thread that faulted until the verdict. It keeps the time itself.

#include "async_park.h"
#include "async_sleep.h"
#include "async_spool.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_tracer.h"
#include "async_turn.h"
#include "thread_sampling.h"

#include <linux/futex.h>

/// Who wakes later than this after its time did not get a processor, or was stopped.
enum { late_nanoseconds = 100 * 1000 * 1000 };

/// Notes what the deciding thread does instead of deciding, and returns whether that passes by itself.
///
/// Whoever waits for a lock sleeps. Who is at work, is stopped (proc_pid_stat(5)) or has just been so as all others is not kept by one.
static bool note_decider(HFRecord *record, uint64_t deadline) {
    bool stood_still = hf_async_monotonic_nanoseconds() > deadline + late_nanoseconds;
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
    return (verdict == HF_VERDICT_RESTART || verdict == HF_VERDICT_TERMINATE) && !hf_async_is_drained_for(record);
}

/// Waits until the deciding thread has let this one go.
///
/// The verdict is there before: who acted on it as soon as it is seen would end the process before the other threads' faults, which wait
/// too, have been walked. Those are given the same verdict, and are not let go.
static void await_release(const HFRecord *record) {
    uint32_t own = (uint32_t)(record - hf_capture_state.slots) + 1;
    uint64_t until = hf_async_monotonic_nanoseconds() + hf_capture_state.configuration.deadline_nanoseconds;
    uint32_t seen;
    while ((seen = atomic_load_explicit(&hf_capture_state.ender, memory_order_acquire)) != own &&
           hf_async_sleep_while(&hf_capture_state.ender, seen, until)) {
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
    uint64_t until = hf_async_monotonic_nanoseconds() + patience;
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
        if (hf_async_sleep_while(&record->verdict, HF_VERDICT_PENDING, until)) {
            continue;
        }
        bool may_pass = note_decider(record, until);
        // A debugger may have stopped the deciding thread: that says nothing of locks.
        if (!hf_async_is_traced()) {
            if (!may_pass || is_extended) {
                break;
            }
            is_extended = true;
        }
        until = hf_async_monotonic_nanoseconds() + patience;
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
