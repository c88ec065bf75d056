// Which slots of the spool are taken, by whom, and which wait for a verdict.
//
// A slot is taken for one fault. Two parties hold it: the thread that faulted, which reads its verdict, and the maker of the report. Each
// lets go when it is done, in any order, and the last one frees the slot. So a slot never changes its fault while somebody reads it.
// Without this, a thread that slept through its wake-up found the next fault's verdict in its slot, and acted on it.
//
// The records have this state, too, for readers of a dead process's file. The bits here are for finding a slot fast: looking into 256
// records, each on a page of its own, took 15 us of a fault (measured: by then no cache has their address translations).

#include "async_state.h"
#include "async_syscalls.h"
#include "crash_context.h"

#include <time.h>

/// Words of 64 bits, one for each slot.
enum { bits = 64, most_slots = 4096, most_words = most_slots / bits };

/// Slots that are taken, a bit each, and slots whose handler waits for a verdict.
static _Atomic(uint64_t) taken[most_words];
static _Atomic(uint64_t) waiting[most_words];
/// Who holds each slot that is taken.
static _Atomic(uint8_t) holders[most_slots];
/// How often a slot was freed.
static _Atomic(uint32_t) freed;

static const uint32_t none = UINT32_MAX;

/// Who holds a slot that is taken.
enum { held_by_thread = 1, held_for_report = 2 };

/// The bits of a word that stand for existing slots.
static uint64_t valid(uint32_t word) {
    uint32_t count = hf_capture_state.slot_count - word * bits;
    return count >= bits ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static uint32_t words(void) {
    uint32_t count = (hf_capture_state.slot_count + bits - 1) / bits;
    return count < most_words ? count : most_words;
}

static void set(_Atomic(uint64_t) *map, uint32_t slot) {
    atomic_fetch_or_explicit(&map[slot / bits], (uint64_t)1 << slot % bits, memory_order_acq_rel);
}

static void clear(_Atomic(uint64_t) *map, uint32_t slot) {
    atomic_fetch_and_explicit(&map[slot / bits], ~((uint64_t)1 << slot % bits), memory_order_acq_rel);
}

static uint32_t slot_of(const HFRecord *record) { return (uint32_t)(record - hf_capture_state.slots); }

/// Claims one of some slots of a word; NULL if all are taken.
static HFRecord *claim(uint32_t word, uint64_t among) {
    uint64_t before = atomic_load_explicit(&taken[word], memory_order_relaxed);
    while (~before & among) {
        uint64_t bit = ~before & among;
        bit &= -bit;
        if (!atomic_compare_exchange_weak_explicit(
                &taken[word], &before, before | bit, memory_order_acq_rel, memory_order_relaxed)) {
            continue;
        }
        uint32_t slot = word * bits + (uint32_t)__builtin_ctzll(bit);
        atomic_store_explicit(&holders[slot], held_by_thread | held_for_report, memory_order_release);
        HFRecord *record = &hf_capture_state.slots[slot];
        __atomic_store_n(&record->state, HF_SLOT_CLAIMED, __ATOMIC_RELEASE);
        return record;
    }
    return NULL;
}

/// The bit of the last slot, if it is in a word: that slot is for the fault that finds no other.
static uint64_t last(uint32_t word) {
    uint32_t slot = hf_capture_state.slot_count - 1;
    return slot / bits == word ? (uint64_t)1 << slot % bits : 0;
}

HFRecord *hf_async_claim_slot(void) {
    for (uint32_t word = 0; word < words(); word += 1) {
        HFRecord *record = claim(word, valid(word) & ~last(word));
        if (record != NULL) {
            return record;
        }
    }
    return NULL;
}

HFRecord *hf_async_wait_for_slot(void) {
    const uint64_t step = 10 * 1000 * 1000;
    uint64_t patience = hf_capture_state.configuration.deadline_nanoseconds;
    uint64_t left = patience;
    uint64_t most = patience * 5;
    uint32_t seen = atomic_load_explicit(&freed, memory_order_relaxed);
    for (;;) {
        HFRecord *record = hf_async_claim_slot();
        if (record != NULL || left == 0 || most == 0) {
            return record;
        }
        struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)step};
        HF_SYSCALL2(SYS_nanosleep, &pause, 0);
        left = left > step ? left - step : 0;
        most = most > step ? most - step : 0;
        uint32_t now = atomic_load_explicit(&freed, memory_order_relaxed);
        if (now != seen) {
            seen = now;
            left = patience;
        }
    }
}

HFRecord *hf_async_claim_last_slot(void) {
    uint32_t word = words() - 1;
    return claim(word, last(word));
}

void hf_async_await_verdict(HFRecord *record) { set(waiting, slot_of(record)); }

/// Lets go of a slot for one of its holders; the last one frees it, with what belongs to its fault.
static void let_go(uint32_t slot, uint8_t holder) {
    // Read before: afterwards the slot may be another fault's.
    uint32_t fault = hf_capture_state.slots[slot].number;
    uint8_t before = atomic_fetch_and_explicit(
        &holders[slot], (uint8_t)~holder, memory_order_acq_rel);
    if (before != holder) {
        return;
    }
    hf_async_release_context(fault);
    clear(taken, slot);
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

void hf_async_leave_record(HFRecord *record) { let_go(slot_of(record), held_by_thread); }

bool hf_capture_is_parked(uint32_t slot) {
    return (atomic_load_explicit(&holders[slot], memory_order_acquire) & held_by_thread) != 0;
}

uint32_t hf_async_oldest_waiting(void) {
    uint32_t oldest = none;
    for (uint32_t word = 0; word < words(); word += 1) {
        uint64_t left = atomic_load_explicit(&waiting[word], memory_order_acquire);
        for (; left != 0; left &= left - 1) {
            uint32_t slot = word * bits + (uint32_t)__builtin_ctzll(left);
            if (__atomic_load_n(&hf_capture_state.slots[slot].verdict, __ATOMIC_ACQUIRE) != HF_VERDICT_PENDING) {
                // Its handler's deadline has passed.
                clear(waiting, slot);
            } else if (oldest == none || hf_capture_state.slots[slot].number < hf_capture_state.slots[oldest].number) {
                oldest = slot;
            }
        }
    }
    return oldest == none ? hf_capture_state.slot_count : oldest;
}

void hf_async_end_waiting(uint32_t slot) { clear(waiting, slot); }

static uint32_t count(_Atomic(uint64_t) *map) {
    uint32_t count = 0;
    for (uint32_t word = 0; word < words(); word += 1) {
        count += (uint32_t)__builtin_popcountll(atomic_load_explicit(&map[word], memory_order_acquire));
    }
    return count;
}

uint32_t hf_capture_slots_in_use(void) { return count(taken); }

bool hf_capture_has_room(void) { return hf_capture_slots_in_use() + 1 < hf_capture_state.slot_count; }

uint32_t hf_capture_waiting_count(void) { return count(waiting); }

void hf_capture_fold(uint32_t slot, uint32_t other) {
    const HFRecord *folded = &hf_capture_state.slots[slot];
    HFRecord *record = &hf_capture_state.slots[other];
    int64_t last = folded->repeats > 0 ? folded->last_repeat_unix_nanoseconds : folded->time_unix_nanoseconds;
    if (record->repeats == 0 || record->last_repeat_unix_nanoseconds < last) {
        record->last_repeat_unix_nanoseconds = last;
    }
    record->repeats += 1 + folded->repeats;
    // Released only now: a process that dies in between leaves one fault too many, rather than one too few.
    hf_capture_release(slot);
}

void hf_capture_note_told(uint32_t slot) {
    __atomic_fetch_or(&hf_capture_state.slots[slot].facts, HF_FACT_TOLD, __ATOMIC_RELAXED);
}

void hf_capture_release(uint32_t slot) {
    if ((atomic_load_explicit(&holders[slot], memory_order_acquire) & held_for_report) == 0) {
        return;
    }
    HFRecord *record = &hf_capture_state.slots[slot];
    // What the report does not tell must not stay in the file, either. A thread that still reads its record reads none of this.
    __builtin_memset(record->message, 0, sizeof record->message);
    __builtin_memset(record->abort_message, 0, sizeof record->abort_message);
    __builtin_memset(record->exception_message, 0, sizeof record->exception_message);
    __builtin_memset(record->tags, 0, sizeof record->tags);
    __atomic_store_n(&record->state, HF_SLOT_FREE, __ATOMIC_RELEASE);
    let_go(slot, held_for_report);
}
