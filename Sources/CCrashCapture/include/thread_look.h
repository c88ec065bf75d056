// Looking at one thread while nothing has faulted: where it is, what it waits for, and what its loop called.
//
// Whoever wants to know asks the crash thread, which walks stacks; a fault comes before that. The thread is asked to stand still as for
// the samples of a fault (thread_sampling.h).

#ifndef HF_THREAD_LOOK_H
#define HF_THREAD_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "crash_record.h"
#include "crash_sections.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the loop of a thread was calling when the thread stood still.
typedef struct HFLookedCallout {
    uint64_t item;
    uint64_t pass;
    /// HFCalloutKind; 0 if the thread was in no callout.
    uint32_t kind;
    uint32_t activity;
    uint32_t nesting;
    uint32_t reserved;
    char mode[HF_MODE_SIZE];
    char label[HF_LABEL_SIZE];
} HFLookedCallout;

/// What became of an attempt to interrupt a callout (callout_deadline.h).
typedef struct HFInterruption HFInterruption;

/// What a look saw.
typedef struct HFThreadLook {
    /// Only `id` is given by who asks.
    HFThreadEntry entry;
    HFLookedCallout callout;
    /// HF_SAMPLING_…: whether threads could be asked at all.
    uint32_t obstacle;
    uint32_t reserved;
    /// For a look that is to interrupt the thread's callout; else NULL.
    HFInterruption *_Nullable interruption;
} HFThreadLook;

/// Has the crash thread look at a thread, and waits for it.
///
/// Returns false if it did not come to it before a time on CLOCK_MONOTONIC in nanoseconds, for example because a fault is being
/// judged. For one thread at a time, and not for the crash thread. Not safe to call from a signal handler.
bool hf_capture_look(HFThreadLook *_Nonnull look, uint64_t until);

/// Whether a look is wanted. For the crash thread.
bool hf_capture_is_look_wanted(void);

/// The look that is wanted, which is then to be ended, or NULL. For the crash thread.
HFThreadLook *_Nullable hf_capture_take_look(void);

/// Tells the one who waits. For the crash thread.
void hf_capture_end_look(void);

/// Copies what the loop of a thread was calling that stands still. For the crash thread, between hf_async_begin_walk() and
/// hf_async_end_walk().
void hf_async_copy_callout(uint32_t index, HFLookedCallout *_Nonnull callout);

#ifdef __cplusplus
}
#endif

#endif
