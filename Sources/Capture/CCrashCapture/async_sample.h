#ifndef HF_ASYNC_SAMPLE_H
#define HF_ASYNC_SAMPLE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "async_signals.h"
#include "thread_sampling.h"

/// What installing and handling share.
typedef struct HFSampleState {
    /// Whether the signal is ours, or may still become so.
    _Atomic(bool) owns_signal;
    /// Whether the handler is in place.
    _Atomic(bool) installed;
    /// Why it is not: HF_SAMPLING_….
    _Atomic(uint32_t) obstacle;
    /// How many threads send, or are about to.
    _Atomic(uint32_t) sending;
    /// How many threads say that nobody may be asked.
    _Atomic(uint32_t) suspended;
    /// Whether a restart that is under way has removed our action.
    _Atomic(bool) taken_away;
    /// Our action, in the kernel's form.
    HFKernelAction action;
} HFSampleState;

extern HFSampleState hf_sample_state;

/// Answers the requests to the calling thread, and keeps it still for as long as the crash thread wants.
///
/// Returns whether its callout is to be interrupted, and then the deadline. Safe to call from a signal handler.
bool hf_async_answer_sample(int signal, const siginfo_t *info, void *context, uint64_t *deadline);

/// Whether a thread cannot answer, as far as its status tells: it blocks the signal, or waits for a device. For the crash thread.
bool hf_async_is_deaf(int32_t thread);

/// Sets the descriptor of /proc/self/task that threads are listed from, or -1; returns the one before.
int hf_async_exchange_thread_list(int descriptor);

#endif
