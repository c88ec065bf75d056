// Interrupting a callout that runs for longer than its deadline.
//
// The crash thread asks the callout's thread to stand still, as for a sample (thread_sampling.h), walks its stack, and judges it as it
// judges a fault's. Only when nothing speaks against it is the thread sent the way of a fault, from the very handler in which it stands
// still: hf_async_ask_overdue_thread() -> hf_async_begin_walk() -> hf_async_interrupted_record() -> hf_async_interrupt_thread(), or
// hf_async_release_thread() to let it go on as if nothing had been.

#ifndef HF_CALLOUT_DEADLINE_H
#define HF_CALLOUT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "crash_record.h"
#include "crash_sections.h"
#include "thread_look.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What became of an attempt.
enum {
    /// Nobody came to it.
    HF_INTERRUPTION_NONE = 0,
    /// The thread goes the way of a fault: its verdict follows.
    HF_INTERRUPTION_DONE = 1,
    /// The callout has ended, or another one began.
    HF_INTERRUPTION_GONE = 2,
    /// Just now the callout cannot be abandoned.
    HF_INTERRUPTION_NOT_NOW = 3,
    /// The thread did not answer.
    HF_INTERRUPTION_SILENT = 4,
    /// No thread can be asked: HFThreadLook says why.
    HF_INTERRUPTION_IMPOSSIBLE = 5,
};

/// How many words a loop writes of what it does.
enum { HF_PROGRESS_WORDS = 3 };

/// An attempt to interrupt a callout.
struct HFInterruption {
    /// What the loop of the thread writes when callouts begin and end, and what was there when the callout was found overdue: valid
    /// until the look ends.
    const uint64_t *_Nonnull words[HF_PROGRESS_WORDS];
    uint64_t values[HF_PROGRESS_WORDS];
    /// For the record, in nanoseconds.
    uint64_t deadline;
    /// Where the thread waited in the kernel at the last attempt that interrupted it, 0 for nowhere: there it is let be.
    uint64_t place;
    /// Whether the thread is to go the way of a fault whatever speaks against it: the verdict is then to deny.
    bool is_last;
    uint32_t outcome;
};

/// Whether the loop still is in the callout that was found overdue. While its thread stands still, that does not change.
bool hf_async_is_same_callout(const HFInterruption *_Nonnull interruption);

/// Where a thread waits in the kernel, as a number that differs from that of another system call, with other arguments, from another
/// place; 0 if it runs or that is not known. For the crash thread.
uint64_t hf_async_kernel_place(int32_t thread);

/// Whether a system call only waits or moves bytes, so that who is interrupted in it holds nothing of the kernel's or the C library's.
bool hf_async_is_plain_system_call(int32_t number);

/// The request that is for interruptions.
uint32_t hf_async_overdue_index(void);

/// Asks the thread of an entry to stand still, until `limit` on CLOCK_MONOTONIC at the latest, and to say how it could be resumed.
///
/// Returns false when it has ended, is stopped, or a restart has begun. For the crash thread.
bool hf_async_ask_overdue_thread(const HFThreadEntry *_Nonnull entry, uint64_t limit);

/// What a record of the thread that stands still would say, as far as a verdict is concerned: not part of the spool. For the crash
/// thread, after hf_async_begin_walk().
HFRecord *_Nonnull hf_async_interrupted_record(void);

/// Sends the thread that stands still the way of a fault; false when it has gone on by itself. For the crash thread.
bool hf_async_interrupt_thread(uint64_t deadline);

/// Whether an address lies in one of our functions that take and free locks of the POSIX threads library: in them the count of held
/// locks is behind.
bool hf_is_in_lock_function(uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
