#ifndef HF_ASYNC_RESTART_H
#define HF_ASYNC_RESTART_H

#include <stdbool.h>

#include "crash_capture.h"

/// Whether a thread is about to replace the process. Safe to call from a signal handler.
bool hf_async_is_restarting(void);

/// Waits until a restart has failed; never returns when it succeeds. Safe to call from a signal handler.
void hf_async_await_restart(void);

/// Begins a restart, or a change of its plan, and waits for another thread that has begun one.
///
/// One at a time: of two threads that fault together, the second would mark as close-on-exec what the first keeps. Returns false to the
/// thread that has already begun. Safe to call from a signal handler.
bool hf_async_begin_restart(void);

/// Whether the calling thread has begun one. Safe to call from a signal handler.
bool hf_async_has_begun_restart(void);

/// Ends what hf_async_begin_restart() has begun, if it has. Safe to call from a signal handler.
void hf_async_finish_restart(bool has_begun);

/// Sets whether the process is about to be replaced; false again when that has failed. For the thread that has begun.
void hf_async_set_restarting(bool restarts);

/// The plan of a restart, NULL if there is none yet. Safe to call from a signal handler.
const HFRestartPlan *hf_async_restart_plan(void);

/// Marks every descriptor but the standard three close-on-exec, whoever opened it. Safe to call from a signal handler.
///
/// From then on the thread has descriptors of its own: what other threads open, such as a connection that they accept, would be open in the
/// next process, and nobody would serve it. For a thread that ends if the restart fails.
void hf_async_close_all_on_exec(void);

/// Puts another file in the place of a table of kept descriptors, while no thread restarts the process.
///
/// Returns 0, or the negated error of dup3(2). Never returns when a restart that is under way succeeds. Safe to call from a signal
/// handler.
int hf_async_exchange_kept_table(int table, int replacement);

#endif
