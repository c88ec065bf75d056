// The deciding thread's side of the hand-over.

#include "async_state.h"
#include "async_syscalls.h"

#include <linux/futex.h>

void hf_capture_become_decider(void) {
    atomic_store_explicit(&hf_capture_state.decider, (int32_t)HF_SYSCALL0(SYS_gettid), memory_order_release);
}

bool hf_capture_has_decider(void) {
    return atomic_load_explicit(&hf_capture_state.decider, memory_order_acquire) != 0;
}

uint32_t hf_capture_slots_in_use(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < hf_capture_state.slot_count; i += 1) {
        count += __atomic_load_n(&hf_capture_state.slots[i].state, __ATOMIC_ACQUIRE) != HF_SLOT_FREE;
    }
    return count;
}

void hf_capture_add_facts(HFRecord *record, uint32_t facts) {
    __atomic_fetch_or(&record->facts, facts, __ATOMIC_RELAXED);
}

HFRecord *hf_capture_record(uint32_t slot) { return &hf_capture_state.slots[slot]; }

/// The captured record that has waited longest, or the slot count.
static uint32_t oldest_waiting(void) {
    uint32_t oldest = hf_capture_state.slot_count;
    for (uint32_t i = 0; i < hf_capture_state.slot_count; i += 1) {
        HFRecord *record = &hf_capture_state.slots[i];
        if (__atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != HF_SLOT_CAPTURED ||
            __atomic_load_n(&record->verdict, __ATOMIC_ACQUIRE) != HF_VERDICT_PENDING) {
            continue;
        }
        if (oldest == hf_capture_state.slot_count || record->number < hf_capture_state.slots[oldest].number) {
            oldest = i;
        }
    }
    return oldest;
}

uint32_t hf_capture_wait(void) {
    for (;;) {
        uint32_t seen = atomic_load_explicit(&hf_capture_state.pending, memory_order_acquire);
        uint32_t slot = oldest_waiting();
        if (slot < hf_capture_state.slot_count) {
            return slot;
        }
        HF_SYSCALL4(SYS_futex, &hf_capture_state.pending, FUTEX_WAIT_PRIVATE, seen, 0);
    }
}

bool hf_capture_decide(uint32_t slot, uint32_t verdict) {
    HFRecord *record = &hf_capture_state.slots[slot];
    uint32_t expected = HF_VERDICT_PENDING;
    __atomic_store_n(&record->state, HF_SLOT_DECIDED, __ATOMIC_RELEASE);
    bool in_time = __atomic_compare_exchange_n(
        &record->verdict, &expected, verdict, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    HF_SYSCALL3(SYS_futex, &record->verdict, FUTEX_WAKE, 1);
    return in_time;
}

void hf_capture_set_verdict_without_decision(uint32_t verdict) {
    atomic_store_explicit(&hf_capture_state.verdict_without_decision, verdict, memory_order_relaxed);
}

void hf_capture_end_drain(void) {
    atomic_store_explicit(&hf_capture_state.drained, 1, memory_order_release);
    HF_SYSCALL3(SYS_futex, &hf_capture_state.drained, FUTEX_WAKE, INT32_MAX);
}

void hf_capture_release(uint32_t slot) {
    __atomic_store_n(&hf_capture_state.slots[slot].state, HF_SLOT_FREE, __ATOMIC_RELEASE);
}
