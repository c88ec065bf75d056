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
    /// A descriptor of /proc/self/task, -1 for none.
    _Atomic(int) tasks;
    /// The crash thread is about to send, or sends.
    _Atomic(uint32_t) sending;
    /// Nobody is to be asked: how many threads say so.
    _Atomic(uint32_t) suspended;
    /// A restart that is under way has taken ours away.
    _Atomic(bool) taken_away;
    /// The deadline of the callout that is interrupted, in nanoseconds.
    _Atomic(uint64_t) callout_deadline;
    /// Ours, as the kernel has it.
    HFKernelAction action;
} HFSampleState;

extern HFSampleState hf_sample_state;

/// The action of the signal. Safe to call from a signal handler: it is one.
void hf_async_handle_sample(int signal, siginfo_t *info, void *context);

/// Whether a thread cannot answer, as far as its status tells: it blocks the signal, or waits for a device. For the crash thread.
bool hf_async_is_deaf(int32_t thread);

#endif
