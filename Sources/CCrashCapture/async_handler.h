#ifndef HF_ASYNC_HANDLER_H
#define HF_ASYNC_HANDLER_H

#include <signal.h>
#include <stdbool.h>

/// The action of every fault signal. Safe to call from a signal handler: it is one.
void hf_async_handle_fault(int signal, siginfo_t *info, void *context);

/// Has a callout that runs for longer than its deadline judged, as if it had faulted where the signal came: returns with the context of
/// its recovery point, or not at all. Safe to call from a signal handler.
void hf_async_handle_overdue(int signal, siginfo_t *info, void *context);

/// Whether another process sent a signal that was ignored before capture: it still is. A fault never is (signal(7)).
///
/// Safe to call from a signal handler.
bool hf_async_is_ignored_order(int signal, const siginfo_t *info);

#endif
