#ifndef HF_ASYNC_SIGNALS_H
#define HF_ASYNC_SIGNALS_H

#include <signal.h>

/// The action of an observed signal. Safe to call from a signal handler: it is one.
void hf_async_handle_signal(int signal, siginfo_t *info, void *context);

/// Names the eventfd that a signal's handler writes to. Safe to call from a signal handler.
void hf_async_set_signal_descriptor(int signal, int descriptor);

#endif
