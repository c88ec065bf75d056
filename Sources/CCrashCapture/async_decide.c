// The deciding thread's side of the hand-over.

#include "async_park.h"
#include "async_sleep.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "thread_look.h"
#include "thread_sampling.h"

#include <linux/futex.h>
#include <time.h>

void hf_capture_become_decider(void) {
    atomic_store_explicit(&hf_capture_state.decider, (int32_t)HF_SYSCALL0(SYS_gettid), memory_order_release);
}

void hf_capture_stop_deciding(void) { atomic_store_explicit(&hf_capture_state.decider, 0, memory_order_release); }

int32_t hf_capture_decider(void) { return atomic_load_explicit(&hf_capture_state.decider, memory_order_acquire); }

bool hf_capture_has_decider(void) { return hf_capture_decider() != 0; }

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
    uint32_t seen = atomic_load_explicit(&hf_capture_state.pending, memory_order_acquire);
    if (!hf_capture_has_waiting()) {
        struct timespec limit = {.tv_sec = 0, .tv_nsec = (long)nanoseconds};
        HF_SYSCALL4(SYS_futex, &hf_capture_state.pending, FUTEX_WAIT_PRIVATE, seen, &limit);
    }
    return hf_capture_has_waiting();
}

uint32_t hf_capture_wait(uint32_t *slot, uint32_t *unloads) {
    for (;;) {
        uint32_t seen = atomic_load_explicit(&hf_capture_state.pending, memory_order_acquire);
        // First: a walk by images that are gone names functions that were never called.
        uint32_t now = atomic_load_explicit(&hf_capture_state.unloads, memory_order_acquire);
        if (now != *unloads) {
            *unloads = now;
            return HF_WORK_UNLOAD;
        }
        if (hf_capture_next_waiting(slot)) {
            return HF_WORK_FAULT;
        }
        if (hf_capture_is_look_wanted()) {
            return HF_WORK_LOOK;
        }
        if (atomic_load_explicit(&hf_capture_state.withdrawn, memory_order_acquire)) {
            return HF_WORK_END;
        }
        HF_SYSCALL4(SYS_futex, &hf_capture_state.pending, FUTEX_WAIT_PRIVATE, seen, 0);
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
    if (hf_async_ends_process(record, __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE))) {
        atomic_store_explicit(&hf_capture_state.ender, slot + 1, memory_order_release);
        hf_async_wake(&hf_capture_state.ender);
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

uint64_t hf_capture_begin_drain(void) {
    uint64_t deadline = hf_async_monotonic_nanoseconds() + hf_capture_state.configuration.drain_nanoseconds;
    uint64_t before = 0;
    // One for all: the process is replaced once, whichever of its threads faulted first.
    return atomic_compare_exchange_strong(&hf_capture_state.drain_deadline, &before, deadline) ? deadline : before;
}

uint64_t hf_capture_drain_deadline(void) { return atomic_load(&hf_capture_state.drain_deadline); }
