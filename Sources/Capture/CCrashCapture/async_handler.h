#ifndef HF_ASYNC_HANDLER_H
#define HF_ASYNC_HANDLER_H

#include <signal.h>

/// The action of every fault signal. Safe to call from a signal handler: it is one.
void hf_async_handle_fault(int signal, siginfo_t *info, void *context);

/// The action of HF_SAMPLE_SIGNAL: the thread stands still while its stack is walked. If its callout takes too long, it is then judged
/// as if it had faulted where the signal came. Safe to call from a signal handler: it is one.
void hf_async_handle_sample(int signal, siginfo_t *info, void *context);

#endif
