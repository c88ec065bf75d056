// What a loop keeps of its last events, and what kinds of callouts there are: written by the loop (loop_events.h), read in a spool file.

#ifndef HF_LOOP_EVENT_LAYOUT_H
#define HF_LOOP_EVENT_LAYOUT_H

#include <stdint.h>

/// What kind of item a callout belongs to.
typedef enum __attribute__((enum_extensibility(closed))) HFCalloutKind : uint32_t {
    HFCalloutKindNone = 0,
    HFCalloutKindSource = 1,
    HFCalloutKindPort = 2,
    HFCalloutKindTimer = 3,
    HFCalloutKindObserver = 4,
    HFCalloutKindBlock = 5,
    HFCalloutKindMainQueue = 6,
    /// A job of a task in a fault boundary, which no loop runs.
    HFCalloutKindTask = 7,
} HFCalloutKind;

enum {
    /// A power of two.
    HF_EVENT_COUNT = 128,
    HF_EVENT_LABEL_SIZE = 40,
    HF_EVENT_SHORT_LABEL_SIZE = 16,
};

/// Kinds of events beside those of callouts, which are HFCalloutKind.
enum {
    HF_EVENT_ENTRY = 16,
    HF_EVENT_EXIT = 17,
    /// The label is a number of 64 bits: how many nanoseconds the sleep took, 0 as long as it lasts.
    HF_EVENT_SLEEP = 18,
    /// Added to a kind: only the first HF_EVENT_SHORT_LABEL_SIZE bytes of the label are written.
    HF_EVENT_SHORT_LABEL = 1 << 8,
};

typedef struct HFLoopEvent {
    /// Which event of its ring it is, from 1; 0 while it is written.
    uint64_t number;
    /// CLOCK_MONOTONIC in nanoseconds, as of the last reading: never later than the event, up to sixteen events earlier.
    int64_t time;
    uint32_t kind;
    /// How many runs were active on the loop.
    uint32_t nesting;
    /// UTF-8, NUL-terminated unless it fills the field.
    char label[HF_EVENT_LABEL_SIZE];
} HFLoopEvent;

typedef struct HFEventRing {
    /// The thread that writes, as gettid(2) has it; 0 for none.
    uint32_t owner;
    /// The thread that wrote last.
    int32_t thread;
    /// How many events there were.
    uint64_t count;
    /// The last reading of the clock, and the count at which the next is due.
    int64_t time;
    uint64_t next_reading;
    uint64_t reserved[4];
    HFLoopEvent events[HF_EVENT_COUNT];
} HFEventRing;

_Static_assert(sizeof(HFLoopEvent) == 64, "a cache line");
_Static_assert(sizeof(HFEventRing) == 64 + 64 * HF_EVENT_COUNT, "events on cache lines");

#endif
