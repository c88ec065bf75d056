// Keeping what a process was doing when it faulted, and adding notes.
//
// An entry may be written while it is copied, by another thread or by the very one that faulted. So its number is read before and after,
// and an entry that changed in between is left out.

#include "async_state.h"
#include "async_syscalls.h"
#include "crash_context.h"


/// Set by hf_async_set_context(); NULL in a forked child.
static HFContextSection *_Atomic in_use;

HFContextSection *hf_async_context(void) { return atomic_load_explicit(&in_use, memory_order_acquire); }

/// Called by context_install.c.
void hf_async_set_context(HFContextSection *section) {
    atomic_store_explicit(&in_use, section, memory_order_release);
}

/// Copies an entry that begins with its number; false if it was written meanwhile.
static bool copy_entry(void *destination, const void *source, size_t size, uint64_t busy_bits) {
    const uint64_t *number = source;
    uint64_t before = __atomic_load_n(number, __ATOMIC_ACQUIRE);
    if (before == 0 || (before & busy_bits) == busy_bits) {
        return false;
    }
    __builtin_memcpy(destination, source, size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(number, __ATOMIC_RELAXED) == before;
}

/// The ring of the thread that faulted. If it has no ring: that of the process's first thread.
static const HFEventRing *ring_for(const HFContextSection *section) {
    if (hf_event_ring != NULL) {
        return hf_event_ring;
    }
    uint32_t first = (uint32_t)hf_capture_state.pid;
    for (int i = 0; i < HF_RING_COUNT; i += 1) {
        if (__atomic_load_n(&section->rings[i].owner, __ATOMIC_ACQUIRE) == first) {
            return &section->rings[i];
        }
    }
    return NULL;
}

static void keep_events(HFSnapshot *snapshot, const HFEventRing *ring) {
    snapshot->event_count = 0;
    snapshot->event_thread = 0;
    snapshot->events_total = 0;
    if (ring == NULL) {
        return;
    }
    uint64_t total = __atomic_load_n(&ring->count, __ATOMIC_ACQUIRE);
    uint64_t first = total > HF_EVENT_COUNT ? total - HF_EVENT_COUNT : 0;
    snapshot->event_thread = ring->thread;
    snapshot->events_total = total;
    for (uint64_t i = first; i < total; i += 1) {
        HFLoopEvent *event = &snapshot->events[snapshot->event_count];
        // UINT64_MAX: the number of an event is never all ones.
        if (copy_entry(event, &ring->events[i % HF_EVENT_COUNT], sizeof *event, UINT64_MAX) && event->number == i + 1) {
            snapshot->event_count += 1;
        }
    }
}

static void keep_notes(HFSnapshot *snapshot, const HFContextSection *section) {
    uint64_t total = __atomic_load_n(&section->area.notes_total, __ATOMIC_ACQUIRE);
    uint64_t first = total > HF_NOTE_COUNT ? total - HF_NOTE_COUNT : 0;
    snapshot->note_count = 0;
    snapshot->notes_total = total;
    for (uint64_t i = first; i < total; i += 1) {
        HFNote *note = &snapshot->notes[snapshot->note_count];
        if (copy_entry(note, &section->notes[i % HF_NOTE_COUNT], sizeof *note, HF_NOTE_BUSY) && note->number == i + 1) {
            snapshot->note_count += 1;
        }
    }
}

static void keep_values(HFSnapshot *snapshot, const HFContextSection *section) {
    snapshot->value_count = 0;
    for (uint32_t i = 0; i < HF_VALUE_COUNT; i += 1) {
        uint32_t count = snapshot->value_count;
        if (copy_entry(&snapshot->values[count], &section->values[i], sizeof(HFValue), 1)) {
            snapshot->value_index[count] = (uint8_t)i;
            snapshot->value_count = count + 1;
        }
    }
}

static HFSnapshot *find(HFContextSection *section, uint32_t fault) {
    for (int i = 0; i < HF_CONTEXT_SNAPSHOT_COUNT; i += 1) {
        HFSnapshot *snapshot = &section->snapshots[i];
        if (__atomic_load_n(&snapshot->state, __ATOMIC_ACQUIRE) != HF_SNAPSHOT_FREE &&
            __atomic_load_n(&snapshot->fault, __ATOMIC_ACQUIRE) == fault) {
            return snapshot;
        }
    }
    return NULL;
}

HFSnapshot *hf_async_claim_context(uint32_t fault) {
    HFContextSection *section = hf_async_context();
    for (int i = 0; section != NULL && i < HF_CONTEXT_SNAPSHOT_COUNT; i += 1) {
        HFSnapshot *snapshot = &section->snapshots[i];
        uint32_t expected = HF_SNAPSHOT_FREE;
        if (__atomic_compare_exchange_n(
                &snapshot->state, &expected, HF_SNAPSHOT_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            snapshot->system.known = 0;
            __atomic_store_n(&snapshot->fault, fault, __ATOMIC_RELEASE);
            return snapshot;
        }
    }
    return NULL;
}

void hf_async_keep_context(HFSnapshot *snapshot) {
    HFContextSection *section = hf_async_context();
    if (section == NULL || snapshot == NULL) {
        return;
    }
    snapshot->time = (int64_t)hf_async_monotonic_nanoseconds();
    keep_events(snapshot, ring_for(section));
    keep_notes(snapshot, section);
    keep_values(snapshot, section);
    __atomic_store_n(&snapshot->state, HF_SNAPSHOT_KEPT, __ATOMIC_RELEASE);
}

void hf_async_complete_context(uint32_t fault) {
    HFContextSection *section = hf_async_context();
    HFSnapshot *snapshot = section != NULL ? find(section, fault) : NULL;
    if (snapshot != NULL) {
        hf_async_read_system_state(&snapshot->system);
    }
}

void hf_async_release_context(uint32_t fault) {
    HFContextSection *section = hf_async_context();
    HFSnapshot *snapshot = section != NULL ? find(section, fault) : NULL;
    if (snapshot != NULL) {
        __atomic_store_n(&snapshot->fault, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&snapshot->state, HF_SNAPSHOT_FREE, __ATOMIC_RELEASE);
    }
}

bool hf_async_add_note(uint32_t kind, int32_t code, int32_t detail, const char *text, size_t length) {
    HFContextSection *section = hf_async_context();
    if (section == NULL) {
        return false;
    }
    uint64_t index = __atomic_fetch_add(&section->area.notes_total, 1, __ATOMIC_ACQ_REL);
    HFNote *note = &section->notes[index % HF_NOTE_COUNT];
    uint64_t before = __atomic_load_n(&note->number, __ATOMIC_RELAXED);
    // Not free: a thread that was held up for a whole round is still writing, or a later one has been here.
    bool is_free = before != HF_NOTE_BUSY && before <= index;
    if (!is_free || !__atomic_compare_exchange_n(
                        &note->number, &before, HF_NOTE_BUSY, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&section->area.notes_dropped, 1, __ATOMIC_RELAXED);
        return false;
    }
    note->time = (int64_t)hf_async_monotonic_nanoseconds();
    // The loop's next event comes after the note.
    hf_loop_events_note_time(note->time);
    note->kind = kind;
    note->thread = (int32_t)HF_SYSCALL0(SYS_gettid);
    note->code = code;
    note->detail = detail;
    length = length < sizeof note->text ? length : sizeof note->text;
    __builtin_memcpy(note->text, text, length);
    __builtin_memset(note->text + length, 0, sizeof note->text - length);
    __atomic_store_n(&note->number, index + 1, __ATOMIC_RELEASE);
    return true;
}
