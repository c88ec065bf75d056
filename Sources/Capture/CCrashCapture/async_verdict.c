// A fault's verdict: the thread that waits for it, and the deciding thread, which gives it. Also the other requests to the deciding thread.
//
// The thread that faulted keeps the time itself: a deadline that passes is a verdict, too.

#include "async_spool.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"
#include "thread_sampling.h"

/// Grows with each record that waits for a verdict, and with every other request; the deciding thread sleeps on it (futex(2)).
static _Atomic(uint32_t) pending;
/// One more than the slot whose fault may end the process now, because every record is complete; 0 for none. Its thread sleeps on it
/// (futex(2)).
static _Atomic(uint32_t) ender;
/// How often a library was unloaded.
static _Atomic(uint32_t) unload_count;
/// The question of another process, with HF_QUESTION_MARK; 0 for none. A later one takes its place.
static _Atomic(uint64_t) question;
/// What has become of a restart that the deciding thread is to do; the thread that wants it sleeps on it (futex(2)).
static _Atomic(uint32_t) restart;
enum { no_restart, restart_wanted, restart_begun, restart_failed };
/// Set when the deciding thread is to end.
static _Atomic(bool) withdrawn;
/// In place of the deciding thread's id, until it runs.
enum { decider_comes = -1 };
/// 1 once the deciding thread has done everything once; who waits for that sleeps on it (futex(2)).
static _Atomic(uint32_t) readiness;
/// What `pending` was when that thread was announced.
static uint32_t pending_at_start;

static void notify_decider(void) {
    atomic_fetch_add_explicit(&pending, 1, memory_order_release);
    hf_async_wake_one(&pending);
}

void hf_async_note_unload(void) {
    atomic_fetch_add_explicit(&unload_count, 1, memory_order_acq_rel);
    notify_decider();
}

void hf_async_take_question(uint64_t value) {
    atomic_store_explicit(&question, value, memory_order_release);
    notify_decider();
}

uint32_t hf_capture_take_question(void) {
    return (uint32_t)atomic_exchange_explicit(&question, 0, memory_order_acq_rel);
}

bool hf_async_have_decider_restart(void) {
    int32_t decider = hf_capture_decider();
    if (decider == 0 || decider == (int32_t)HF_SYSCALL0(SYS_gettid)) {
        return false;
    }
    uint32_t former = atomic_load_explicit(&restart, memory_order_acquire);
    // It may be busy with that of another thread.
    while (former != restart_begun && !atomic_compare_exchange_weak(&restart, &former, restart_wanted)) {
    }
    notify_decider();
    uint64_t until = hf_async_monotonic_nanoseconds() + hf_capture_state.configuration.deadline_nanoseconds;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&restart, memory_order_acquire);
        if (seen == restart_failed || seen == no_restart) {
            return seen == restart_failed;
        }
        if (hf_async_sleep_while(&restart, seen, seen == restart_begun ? HF_FOR_EVER : until)) {
            continue;
        }
        // It may wait for a lock that this very thread holds.
        seen = restart_wanted;
        if (atomic_compare_exchange_strong(&restart, &seen, no_restart)) {
            hf_async_wake(&restart);
        }
    }
}

static bool begins_restart(void) {
    uint32_t expected = restart_wanted;
    return atomic_compare_exchange_strong(&restart, &expected, restart_begun);
}

void hf_async_end_restart_for_another(void) {
    atomic_store_explicit(&restart, restart_failed, memory_order_release);
    hf_async_wake(&restart);
}

void hf_async_withdraw_decider(bool withdraws) {
    atomic_store(&withdrawn, withdraws);
    notify_decider();
}

void hf_capture_become_decider(void) {
    atomic_store_explicit(&hf_capture_state.decider, (int32_t)HF_SYSCALL0(SYS_gettid), memory_order_release);
}

void hf_capture_expect_decider(void) {
    atomic_store_explicit(&readiness, 0, memory_order_relaxed);
    pending_at_start = atomic_load_explicit(&pending, memory_order_relaxed);
    atomic_store_explicit(&hf_capture_state.decider, decider_comes, memory_order_release);
}

bool hf_capture_await_start(uint64_t nanoseconds) {
    uint64_t until = hf_async_monotonic_nanoseconds() + nanoseconds;
    while (atomic_load_explicit(&pending, memory_order_acquire) == pending_at_start &&
           hf_async_sleep_while(&pending, pending_at_start, until)) {
    }
    return !atomic_load_explicit(&withdrawn, memory_order_acquire);
}

void hf_capture_note_ready(void) {
    atomic_store_explicit(&readiness, 1, memory_order_release);
    hf_async_wake(&readiness);
}

bool hf_async_is_decider_ready(void) { return atomic_load_explicit(&readiness, memory_order_acquire) != 0; }

bool hf_capture_await_ready(uint64_t nanoseconds) {
    int32_t decider = hf_capture_decider();
    if (decider == 0 || decider == (int32_t)HF_SYSCALL0(SYS_gettid) || hf_async_is_decider_ready()) {
        return hf_async_is_decider_ready();
    }
    // It waits no longer for the start of the program.
    notify_decider();
    uint64_t until = hf_async_monotonic_nanoseconds() + nanoseconds;
    while (!hf_async_is_decider_ready() && hf_async_sleep_while(&readiness, 0, until)) {
    }
    return hf_async_is_decider_ready();
}

void hf_capture_stop_deciding(void) { atomic_store_explicit(&hf_capture_state.decider, 0, memory_order_release); }

int32_t hf_capture_decider(void) { return atomic_load_explicit(&hf_capture_state.decider, memory_order_acquire); }

bool hf_capture_has_decider(void) { return hf_capture_decider() != 0; }

// MARK: The thread that faulted

/// A thread that wakes this much later than it should had no processor, or was stopped.
enum { late_nanoseconds = 100 * 1000 * 1000 };

/// Notes what the deciding thread does instead of deciding, and returns whether that passes by itself.
///
/// A thread that waits for a lock sleeps. A thread that works, is stopped (proc_pid_stat(5)), or has just been stopped with all others does
/// not wait for one.
static bool note_decider(HFRecord *record, uint64_t deadline) {
    bool stood_still = hf_async_monotonic_nanoseconds() > deadline + late_nanoseconds;
    HFThreadEntry decider;
    decider.id = hf_capture_decider();
    decider.kernel_state = 0;
    decider.system_call = -1;
    if (decider.id == decider_comes) {
        return true;
    }
    hf_async_describe_thread(&decider);
    record->decider_state = (uint16_t)decider.kernel_state;
    record->decider_system_call = (int16_t)decider.system_call;
    return stood_still || (decider.kernel_state != 0 && decider.kernel_state != 'S');
}

/// Whether the thread ends the process as soon as it is let go; false for a thread that waits for a drain.
static bool ends_process(const HFRecord *record, uint32_t verdict) {
    return (verdict == HF_VERDICT_RESTART || verdict == HF_VERDICT_TERMINATE) && !hf_async_is_drained_for(record);
}

/// Waits until the deciding thread has let this one go.
///
/// The verdict is there before. A thread that acted on it at once would end the process before the faults of other threads, which wait too,
/// have been walked. Those get the same verdict, and are not let go.
static void await_release(const HFRecord *record) {
    uint32_t own = (uint32_t)(record - hf_capture_state.slots) + 1;
    uint64_t until = hf_async_monotonic_nanoseconds() + hf_capture_state.configuration.deadline_nanoseconds;
    uint32_t seen;
    while ((seen = atomic_load_explicit(&ender, memory_order_acquire)) != own &&
           hf_async_sleep_while(&ender, seen, until)) {
    }
}

uint32_t hf_async_park(HFRecord *record) {
    HFSnapshot *snapshot = hf_async_claim_context(record->number);
    hf_async_await_verdict(record);
    notify_decider();
    // Meanwhile the deciding thread works.
    hf_async_keep_context(snapshot);

    uint64_t patience = hf_capture_state.configuration.deadline_nanoseconds;
    uint64_t until = hf_async_monotonic_nanoseconds() + patience;
    bool is_extended = false;
    for (;;) {
        hf_async_check_spool();
        uint32_t verdict = __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE);
        if (verdict != HF_VERDICT_PENDING) {
            if (ends_process(record, verdict)) {
                await_release(record);
            }
            return verdict;
        }
        if (hf_async_sleep_while(&record->verdict, HF_VERDICT_PENDING, until)) {
            continue;
        }
        bool may_pass = note_decider(record, until);
        // A debugger may have stopped the deciding thread: that says nothing about locks.
        if (!hf_async_is_traced()) {
            if (!may_pass || is_extended) {
                break;
            }
            is_extended = true;
        }
        until = hf_async_monotonic_nanoseconds() + patience;
    }
    // The deadline has passed, and this thread takes its verdict itself: the deciding thread may wait for a lock that this very thread
    // holds.
    uint32_t expected = HF_VERDICT_PENDING;
    uint32_t verdict = atomic_load_explicit(&hf_capture_state.verdict_without_decision, memory_order_relaxed);
    if (!__atomic_compare_exchange_n(
            &record->verdict, &expected, verdict, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return expected;
    }
    hf_capture_add_facts(record, HF_FACT_DEADLINE);
    return verdict;
}

// MARK: The deciding thread

void hf_capture_add_facts(HFRecord *record, uint32_t facts) {
    __atomic_fetch_or(&record->facts, facts, __ATOMIC_RELAXED);
}

HFRecord *hf_capture_record(uint32_t slot) { return &hf_capture_state.slots[slot]; }

bool hf_capture_has_waiting(void) { return hf_async_oldest_waiting() < hf_capture_state.slot_count; }

bool hf_capture_next_waiting(uint32_t *slot) {
    *slot = hf_async_oldest_waiting();
    return *slot < hf_capture_state.slot_count;
}

bool hf_capture_await_fault(uint64_t nanoseconds) {
    uint32_t seen = atomic_load_explicit(&pending, memory_order_acquire);
    if (!hf_capture_has_waiting()) {
        hf_async_sleep_while(&pending, seen, hf_async_monotonic_nanoseconds() + nanoseconds);
    }
    return hf_capture_has_waiting();
}

uint32_t hf_capture_wait(uint32_t *slot, uint32_t *unloads) {
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pending, memory_order_acquire);
        // Unloads come first: a walk by images that are gone names functions that were never called.
        uint32_t now = atomic_load_explicit(&unload_count, memory_order_acquire);
        if (now != *unloads) {
            *unloads = now;
            return HF_WORK_UNLOAD;
        }
        if (hf_capture_next_waiting(slot)) {
            return HF_WORK_FAULT;
        }
        if (begins_restart()) {
            return HF_WORK_RESTART;
        }
        if (hf_capture_is_look_wanted()) {
            return HF_WORK_LOOK;
        }
        if (atomic_load_explicit(&question, memory_order_acquire) != 0) {
            return HF_WORK_QUESTION;
        }
        if (atomic_load_explicit(&withdrawn, memory_order_acquire)) {
            return HF_WORK_END;
        }
        hf_async_sleep_while(&pending, seen, HF_FOR_EVER);
    }
}

bool hf_capture_decide(uint32_t slot, uint32_t verdict) {
    HFRecord *record = &hf_capture_state.slots[slot];
    uint32_t expected = HF_VERDICT_PENDING;
    hf_async_end_waiting(slot);
    __atomic_store_n(&record->state, HF_SLOT_DECIDED, __ATOMIC_RELEASE);
    return __atomic_compare_exchange_n(
        &record->verdict, &expected, verdict, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void hf_capture_wake(uint32_t slot) {
    HFRecord *record = &hf_capture_state.slots[slot];
    if (ends_process(record, __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE))) {
        atomic_store_explicit(&ender, slot + 1, memory_order_release);
        hf_async_wake(&ender);
    }
    hf_async_wake(&record->verdict);
}

void hf_capture_set_verdict_without_decision(uint32_t verdict) {
    atomic_store_explicit(&hf_capture_state.verdict_without_decision, verdict, memory_order_relaxed);
}

void hf_capture_set_process_facts(uint32_t facts) {
    atomic_store_explicit(&hf_capture_state.process_facts, facts, memory_order_relaxed);
}

void hf_capture_set_start_items(const HFStartItems *items) {
    atomic_store_explicit(&hf_capture_state.start_items, items, memory_order_release);
}

// MARK: A look at a thread

/// The look that is wanted. The crash thread takes it, or the thread that waits takes it back.
static _Atomic(HFThreadLook *) wanted;
/// How many looks have ended; the thread that waits sleeps on it (futex(2)).
static _Atomic(uint32_t) ended;

bool hf_capture_look(HFThreadLook *look, uint64_t until) {
    uint32_t seen = atomic_load_explicit(&ended, memory_order_acquire);
    atomic_store_explicit(&wanted, look, memory_order_release);
    notify_decider();
    while (atomic_load_explicit(&ended, memory_order_acquire) == seen) {
        if (hf_async_sleep_while(&ended, seen, until)) {
            continue;
        }
        HFThreadLook *expected = look;
        if (atomic_compare_exchange_strong_explicit(
                &wanted, &expected, NULL, memory_order_acq_rel, memory_order_relaxed)) {
            return false;
        }
        // The look has begun, and writes into our memory. It takes no longer than a thread is waited for.
        until = HF_FOR_EVER;
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
