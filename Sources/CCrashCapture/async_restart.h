#ifndef HF_ASYNC_RESTART_H
#define HF_ASYNC_RESTART_H

#include <stdbool.h>

/// Whether a thread is about to replace the process. Safe to call from a signal handler.
bool hf_async_is_restarting(void);

/// Waits until a restart has failed; never returns when it succeeds. Safe to call from a signal handler.
void hf_async_await_restart(void);

/// Puts another file in the place of a table of kept descriptors, while no thread restarts the process.
///
/// Returns 0, or the negated error of dup3(2). Never returns when a restart that is under way succeeds. Safe to call from a signal
/// handler.
int hf_async_exchange_kept_table(int table, int replacement);

#endif
