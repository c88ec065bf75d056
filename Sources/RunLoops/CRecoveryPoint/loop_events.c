// The rings of loop events: who has which, and the calls that are too rare to be inlined. Ordinary code.

#include "loop_events.h"

#include <time.h>
#include <unistd.h>

_Thread_local HFEventRing *hf_event_ring;

static HFEventRing *provided;
static uint32_t provided_count;

void hf_loop_events_provide(HFEventRing *rings, uint32_t count) {
    __atomic_store_n(&provided_count, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&provided, rings, __ATOMIC_RELEASE);
    __atomic_store_n(&provided_count, rings != NULL ? count : 0, __ATOMIC_RELEASE);
}

void hf_loop_events_claim(void) {
    uint32_t count = __atomic_load_n(&provided_count, __ATOMIC_ACQUIRE);
    if (hf_event_ring != NULL || count == 0) {
        return;
    }
    HFEventRing *rings = __atomic_load_n(&provided, __ATOMIC_ACQUIRE);
    uint32_t thread = (uint32_t)gettid();
    for (uint32_t i = 0; rings != NULL && i < count; i += 1) {
        uint32_t nobody = 0;
        if (__atomic_load_n(&rings[i].owner, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&rings[i].owner, &nobody, thread, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            // Cleared, because the numbers go on: the events of another thread would look like this one's.
            for (uint32_t k = 0; k < HF_EVENT_COUNT; k += 1) {
                __atomic_store_n(&rings[i].events[k].number, 0, __ATOMIC_RELAXED);
            }
            rings[i].thread = (int32_t)thread;
            rings[i].count = 0;
            rings[i].next_reading = 0;
            hf_event_ring = &rings[i];
            return;
        }
    }
}

void hf_loop_events_release(void) {
    HFEventRing *ring = hf_event_ring;
    hf_event_ring = NULL;
    if (ring != NULL) {
        __atomic_store_n(&ring->owner, 0, __ATOMIC_RELEASE);
    }
}

void hf_loop_events_forget(void) {
    hf_loop_events_provide(NULL, 0);
    hf_event_ring = NULL;
}

static int64_t monotonic_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void hf_loop_events_read_clock(HFEventRing *ring) {
    // The owner reads as 0 if the file was cut. The ring is the calling thread's all the same.
    if (__atomic_load_n(&ring->owner, __ATOMIC_RELAXED) == 0) {
        ring->thread = (int32_t)gettid();
        __atomic_store_n(&ring->owner, (uint32_t)ring->thread, __ATOMIC_RELEASE);
    }
    ring->time = monotonic_time();
    ring->next_reading = ring->count + HF_EVENTS_PER_READING;
}

void hf_loop_event_run(uint32_t kind, uint32_t nesting, const char *mode) {
    HFEventRing *ring = hf_event_ring;
    if (ring == NULL) {
        return;
    }
    HFLoopEvent *event = hf_loop_event_begin(ring, kind, nesting);
    size_t length = strnlen(mode, sizeof event->label);
    memcpy(event->label, mode, length);
    memset(event->label + length, 0, sizeof event->label - length);
    hf_loop_event_end(ring, event);
}

HFLoopEvent *hf_loop_event_sleep(uint32_t nesting) {
    HFEventRing *ring = hf_event_ring;
    if (ring == NULL) {
        return NULL;
    }
    hf_loop_events_read_clock(ring);
    HFLoopEvent *event = hf_loop_event_begin(ring, HF_EVENT_SLEEP, nesting);
    memset(event->label, 0, sizeof event->label);
    hf_loop_event_end(ring, event);
    return event;
}

void hf_loop_event_awake(HFLoopEvent *sleep) {
    HFEventRing *ring = hf_event_ring;
    if (sleep == NULL || ring == NULL) {
        return;
    }
    hf_loop_events_read_clock(ring);
    // One word, so that no reader sees half of it; a sleep of no time is one that still lasts.
    uint64_t duration = (uint64_t)(ring->time - sleep->time);
    __atomic_store_n((uint64_t *)(void *)sleep->label, duration > 0 ? duration : 1, __ATOMIC_RELAXED);
}
