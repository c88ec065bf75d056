// What a loop did last: a ring of plain structures for each thread that runs one, in memory that a reader provides.
//
// The loop writes it and never reads it. A reader provides the memory with hf_loop_events_provide(), for example in a file that outlives
// the process. Without it, hf_event_ring is NULL and an event costs a load and a branch.
//
// A ring has one writer, its thread. An event is a few stores: no lock, no locked instruction, no system call, and a reading of the clock
// at every sixteenth event at most. The number of an event is 0 while it is written. A reader looks at it before and after copying, and so
// recognises a torn event.

#ifndef HF_LOOP_EVENTS_H
#define HF_LOOP_EVENTS_H

#include <stdint.h>
#include <string.h>

#include "loop_event_layout.h"
#include "recovery_point.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many events may pass before the clock is read again.
enum { HF_EVENTS_PER_READING = 16 };

/// The running thread's ring, or NULL.
extern _Thread_local HFEventRing *_Nullable hf_event_ring __attribute__((tls_model("initial-exec")));

/// Provides rings, all of them zero, for the loops that run from now on. NULL ends that for loops that have none yet.
///
/// The memory must stay valid while a thread uses a ring of it. Not safe to call from a signal handler.
void hf_loop_events_provide(HFEventRing *_Nullable rings, uint32_t count);

/// Gives the calling thread a ring, if it has none and one is free; called at the start of every run.
///
/// Safe to call from a signal handler.
void hf_loop_events_claim(void);

/// Gives the calling thread's ring back, for its end. The events stay until another thread takes the ring.
void hf_loop_events_release(void);

/// Forgets the rings, for a forked child, which may not have their memory.
void hf_loop_events_forget(void);

/// Reads the clock for the events that follow. Not safe to call from a signal handler.
void hf_loop_events_read_clock(HFEventRing *_Nonnull ring);

/// Whether events are kept for the running thread.
static inline bool hf_loop_events_are_kept(void) { return hf_event_ring != NULL; }

/// Notes a reading of CLOCK_MONOTONIC that was made anyway, in nanoseconds.
static inline void hf_loop_events_note_time(int64_t time) {
    HFEventRing *ring = hf_event_ring;
    if (ring != NULL) {
        ring->time = time;
        ring->next_reading = ring->count + HF_EVENTS_PER_READING;
    }
}

/// Reads the clock for the events that follow, if they are kept.
static inline void hf_loop_events_refresh(void) {
    if (hf_event_ring != NULL) {
        hf_loop_events_read_clock(hf_event_ring);
    }
}

/// Begins an event and returns it.
static inline HFLoopEvent *_Nonnull hf_loop_event_begin(
    HFEventRing *_Nonnull ring, uint32_t kind, uint32_t nesting) {
    if (ring->count >= ring->next_reading) {
        hf_loop_events_read_clock(ring);
    }
    HFLoopEvent *event = &ring->events[ring->count % HF_EVENT_COUNT];
    __atomic_store_n(&event->number, 0, __ATOMIC_RELAXED);
    // The compiler keeps the order; x86-64 keeps that of stores by itself.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    event->time = ring->time;
    event->kind = kind;
    event->nesting = nesting;
    return event;
}

/// Ends an event: from now on readers see it.
static inline void hf_loop_event_end(HFEventRing *_Nonnull ring, HFLoopEvent *_Nonnull event) {
    ring->count += 1;
    __atomic_store_n(&event->number, ring->count, __ATOMIC_RELEASE);
}

/// Notes a callout that is about to begin.
///
/// `info->label` is its own short label, or HF_EVENT_LABEL_SIZE bytes that can be read.
static inline void hf_loop_event_callout(const HFCalloutInfo *_Nonnull info) {
    HFEventRing *ring = hf_event_ring;
    if (ring == NULL) {
        return;
    }
    bool is_short = info->label == (const char *)info->short_label;
    HFLoopEvent *event = hf_loop_event_begin(ring, info->kind | (is_short ? HF_EVENT_SHORT_LABEL : 0), info->nesting);
    if (is_short) {
        // Word by word, as they were stored a moment ago: one load of both would wait until the stores are in the cache, which costs 5 ns
        // (measured).
        uint64_t first = __atomic_load_n(&info->short_label[0], __ATOMIC_RELAXED);
        uint64_t second = __atomic_load_n(&info->short_label[1], __ATOMIC_RELAXED);
        memcpy(event->label, &first, sizeof first);
        memcpy(event->label + sizeof first, &second, sizeof second);
    } else {
        memcpy(event->label, info->label, HF_EVENT_LABEL_SIZE);
    }
    hf_loop_event_end(ring, event);
}

/// Notes that a run begins or ends: HF_EVENT_ENTRY or HF_EVENT_EXIT, in a mode.
void hf_loop_event_run(uint32_t kind, uint32_t nesting, const char *_Nonnull mode);

/// Notes that the loop falls asleep, and reads the clock. Pass the result to hf_loop_event_awake().
HFLoopEvent *_Nullable hf_loop_event_sleep(uint32_t nesting);

/// Notes that the loop woke, and reads the clock.
void hf_loop_event_awake(HFLoopEvent *_Nullable sleep);

#ifdef __cplusplus
}
#endif

#endif
