// The two sides of a look at a thread: the one who wants to know, and the crash thread.

#include "thread_look.h"
#include "async_sleep.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <linux/futex.h>

/// What is wanted: taken by the crash thread, or taken back by the one who waits.
static _Atomic(HFThreadLook *) wanted;
/// How many looks have ended; the one who waits sleeps on it (futex(2)).
static _Atomic(uint32_t) ended;

bool hf_capture_look(HFThreadLook *look, uint64_t until) {
    uint32_t seen = atomic_load_explicit(&ended, memory_order_acquire);
    atomic_store_explicit(&wanted, look, memory_order_release);
    atomic_fetch_add_explicit(&hf_capture_state.pending, 1, memory_order_release);
    HF_SYSCALL3(SYS_futex, &hf_capture_state.pending, FUTEX_WAKE_PRIVATE, 1);
    while (atomic_load_explicit(&ended, memory_order_acquire) == seen) {
        if (hf_async_sleep_while(&ended, seen, until)) {
            continue;
        }
        HFThreadLook *expected = look;
        if (atomic_compare_exchange_strong_explicit(
                &wanted, &expected, NULL, memory_order_acq_rel, memory_order_relaxed)) {
            return false;
        }
        // It has begun, and writes into our memory: that takes no longer than a thread is waited for.
        until = INT64_MAX;
    }
    return true;
}

bool hf_capture_is_look_wanted(void) { return atomic_load_explicit(&wanted, memory_order_acquire) != NULL; }

HFThreadLook *hf_capture_take_look(void) {
    return atomic_exchange_explicit(&wanted, NULL, memory_order_acq_rel);
}

void hf_capture_end_look(void) {
    atomic_fetch_add_explicit(&ended, 1, memory_order_release);
    hf_async_wake(&ended);
}
