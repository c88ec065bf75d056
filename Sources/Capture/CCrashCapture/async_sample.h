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
    /// Whether the signal is ours, or still may become so.
    _Atomic(bool) owns_signal;
    /// Whether the handler is in place.
    _Atomic(bool) installed;
    /// HF_SAMPLING_…: why it is not.
    _Atomic(uint32_t) obstacle;
    /// The crash thread is about to send, or sends.
    _Atomic(uint32_t) sending;
    /// Nobody is to be asked: how many threads say so.
    _Atomic(uint32_t) suspended;
    /// A restart that is under way has taken ours away.
    _Atomic(bool) taken_away;
    /// Ours, as the kernel has it.
    HFKernelAction action;
} HFSampleState;

extern HFSampleState hf_sample_state;

/// Answers the requests to the thread that the signal came to, for as long as the crash thread wants it to stand still.
///
/// Returns whether its callout is to be interrupted, and then the deadline. Safe to call from a signal handler.
bool hf_async_answer_sample(int signal, const siginfo_t *info, void *context, uint64_t *deadline);

/// Whether a thread cannot answer, as far as its status tells: it blocks the signal, or waits for a device. For the crash thread.
bool hf_async_is_deaf(int32_t thread);

/// Sets the descriptor of /proc/self/task that threads are listed from, or -1; returns the one before.
int hf_async_exchange_thread_list(int descriptor);

#endif
