// When a thread whose fault restarts the process may do so. Once the process was told to end, it never may.
//
// Two things hold it back: the main loop, which drains first, and the back-off after early ends, whatever thread faults. If a process is
// told to end while threads wait for their turn, it ends as its program wants. The threads that waited for the drain stand still for as
// long as an end may take. A fault that cannot drain, perhaps because the heap is broken, ends the process by its signal.

#include "async_signals.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"

enum {
    /// How much time the main loop has after the deadline of a drain, for the handlers of a restart.
    handover = 1000 * 1000 * 1000,
    /// How often a thread looks for an order to end while the main loop takes none: handlers wake nobody.
    look = 50 * 1000 * 1000,
};

/// Set to 1 when the main loop has drained.
static _Atomic(uint32_t) drained;
/// When the main loop must have drained, in nanoseconds of CLOCK_MONOTONIC; 0 until a thread waits for it. One deadline for all threads.
static _Atomic(uint64_t) drain_deadline;
/// The pid of the process that was told to end: no fault restarts it. 0 for none.
static _Atomic(int32_t) forgone;
/// No fault restarts the process before this time, in nanoseconds of CLOCK_MONOTONIC.
static _Atomic(uint64_t) earliest_restart;
/// Threads that wait until they may restart the process.
static _Atomic(uint32_t) waiters;
/// Threads that faulted, and stand still because the process was told to end.
static _Atomic(uint32_t) standing;
/// Grows with each change of these, and when the process begins to exit; threads that wait for their turn sleep on it (futex(2)).
static _Atomic(uint32_t) changes;

bool hf_async_is_drained_for(const HFRecord *record) {
    return record != NULL && (__atomic_load_n(&record->facts, __ATOMIC_ACQUIRE) & HF_FACT_DRAINED) != 0;
}

bool hf_capture_is_restart_forgone(void) {
    return atomic_load(&forgone) == hf_capture_state.pid && hf_capture_state.pid != 0;
}

/// Whether the process ends instead of being restarted. A run that has begun since changes nothing for a fault from before.
static bool is_over(const HFRecord *record) {
    return hf_capture_is_restart_forgone() || hf_async_is_exiting() ||
           (record != NULL && __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE) == HF_VERDICT_TERMINATE);
}

/// Until when the thread waits at most, whatever the main loop does.
static uint64_t turn(bool drains) {
    // No restart follows an order that the program carries out itself. It has the time of a drain for that; the main loop keeps it.
    if (hf_async_own_order() != 0) {
        return drains ? atomic_load_explicit(&drain_deadline, memory_order_acquire) + handover : 0;
    }
    uint64_t earliest = atomic_load_explicit(&earliest_restart, memory_order_acquire);
    if (!drains || atomic_load_explicit(&drained, memory_order_acquire) != 0) {
        return earliest;
    }
    // The main loop ends its drain at the deadline and then calls handlers. If it does not come to that, the thread that waits here steps
    // in.
    uint64_t latest = atomic_load_explicit(&drain_deadline, memory_order_acquire) + handover;
    return latest > earliest ? latest : earliest;
}

/// Whether an order to end came to a process that does not run yet: if each process faults as it starts, none would ever carry it out.
static bool has_unheard_order(void) {
    return (atomic_load_explicit(&hf_capture_state.process_facts, memory_order_relaxed) & HF_FACT_RUNNING) == 0 &&
           hf_async_is_order_pending();
}

bool hf_async_await_turn(HFRecord *record) {
    bool drains = hf_async_is_drained_for(record);
    if (has_unheard_order()) {
        return false;
    }
    // While the main thread itself waits here, the main loop takes no orders. Nor may it where it cannot drain, because it may wait for the
    // heap. Then an order to end is left to the next process, which delivers it while it waits.
    bool looks = !drains || HF_SYSCALL0(SYS_gettid) == HF_SYSCALL0(SYS_getpid);
    atomic_fetch_add(&waiters, 1);
    for (;;) {
        uint32_t seen = atomic_load(&changes);
        if (is_over(record)) {
            if (drains) {
                atomic_fetch_add(&standing, 1);
            }
            atomic_fetch_sub(&waiters, 1);
            return false;
        }
        uint64_t until = turn(drains);
        uint64_t present = hf_async_monotonic_nanoseconds();
        if (present >= until || (looks && hf_async_has_order())) {
            return true;
        }
        hf_async_sleep_while(&changes, seen, looks && until > present + look ? present + look : until);
    }
}

bool hf_async_waits_for_drain_alone(const HFRecord *record) {
    return !is_over(record) && !has_unheard_order() && hf_async_own_order() == 0 &&
           hf_async_monotonic_nanoseconds() >= atomic_load_explicit(&earliest_restart, memory_order_acquire);
}

void hf_async_stand_still(HFRecord *record) {
    hf_async_leave_record(record);
    static const uint32_t never = 0;
    // The program may wait for a lock that the thread holds, or for the thread.
    uint64_t until = hf_async_monotonic_nanoseconds() + hf_order_patience;
    while (hf_async_sleep_while(&never, 0, until)) {
    }
}

void hf_async_note_turn(void) {
    atomic_fetch_add(&changes, 1);
    hf_async_wake(&changes);
}

uint64_t hf_capture_begin_drain(void) {
    uint64_t deadline = hf_async_monotonic_nanoseconds() + hf_capture_state.configuration.drain_nanoseconds;
    uint64_t before = 0;
    // One deadline for all: the process is replaced once, whichever of its threads faulted first.
    return atomic_compare_exchange_strong(&drain_deadline, &before, deadline) ? deadline : before;
}

uint64_t hf_capture_drain_deadline(void) { return atomic_load(&drain_deadline); }

void hf_capture_end_drain(void) {
    atomic_store_explicit(&drained, 1, memory_order_release);
    hf_async_note_turn();
}

void hf_capture_set_earliest_restart(uint64_t time) { atomic_store(&earliest_restart, time); }

bool hf_capture_awaits_restart(void) { return atomic_load(&waiters) != 0; }

bool hf_capture_stands_still(void) { return atomic_load(&standing) != 0; }

bool hf_capture_forgo_restart_of(uint32_t slot) {
    HFRecord *record = &hf_capture_state.slots[slot];
    uint32_t expected = HF_VERDICT_RESTART;
    if (!hf_capture_is_restart_forgone() || !hf_async_is_drained_for(record) ||
        !__atomic_compare_exchange_n(
            &record->verdict, &expected, HF_VERDICT_TERMINATE, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
        return false;
    }
    static const char reason[] = "the process was told to end before it was replaced for this fault";
    _Static_assert(sizeof reason <= sizeof record->reason, "a reason finds room");
    __builtin_memcpy(record->reason, reason, sizeof reason);
    return true;
}

void hf_capture_forgo_restart(void) {
    atomic_store(&forgone, hf_capture_state.pid);
    hf_async_note_turn();
}

void hf_capture_allow_restart(void) {
    atomic_store(&drain_deadline, 0);
    atomic_store(&drained, 0);
    atomic_store(&forgone, 0);
}
