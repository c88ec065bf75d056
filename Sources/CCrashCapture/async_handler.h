#ifndef HF_ASYNC_HANDLER_H
#define HF_ASYNC_HANDLER_H

#include <signal.h>

/// The action of every fault signal. Safe to call from a signal handler: it is one.
void hf_async_handle_fault(int signal, siginfo_t *info, void *context);

#endif
