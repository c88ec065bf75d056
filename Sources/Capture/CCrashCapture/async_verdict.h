#ifndef HF_ASYNC_VERDICT_H
#define HF_ASYNC_VERDICT_H

#include "crash_record.h"

#include <stdbool.h>

/// Whether the deciding thread has done everything once. Safe to call from a signal handler.
bool hf_async_is_decider_ready(void);

/// Parks the thread until there is a verdict on its fault, and returns the verdict.
///
/// The deciding thread gives it, within the deadline. If that thread is only slow, and not blocked by a lock, the deadline is extended
/// once. If no verdict comes, the result is the one that was set for that case. Safe to call from a signal handler.
uint32_t hf_async_park(HFRecord *record);

/// Has the deciding thread list the images again before it walks a stack: a library was unloaded. Safe to call from a signal handler.
void hf_async_note_unload(void);

/// Hands the question of another process to the deciding thread: HF_QUESTION_MARK and a number. Safe to call from a signal handler.
void hf_async_take_question(uint64_t value);

/// Tells the deciding thread to end as soon as no fault waits, or not to.
void hf_async_withdraw_decider(bool withdraws);

/// Has the deciding thread restart the process in place; returns if that has failed, and the process is to end.
///
/// Returns false if there is no such thread, or it has not begun within the deadline of a verdict. Not for a thread that has begun a restart.
/// Safe to call from a signal handler.
bool hf_async_have_decider_restart(void);

/// Tells the thread that wanted a restart that it has failed. For the deciding thread.
void hf_async_end_restart_for_another(void);

// MARK: When a restart may come (async_turn.c)

/// Whether the main loop drains before this fault restarts the process; false for NULL. Safe to call from a signal handler.
bool hf_async_is_drained_for(const HFRecord *record);

/// Parks a thread whose fault restarts the process until it may do that: while the main loop drains, and while a back-off lasts.
///
/// Returns false if the process is to end instead: it was told to, or has called exit(3). The record may be NULL. Safe to call from a
/// signal handler.
bool hf_async_await_turn(HFRecord *record);

/// Whether nothing but the drain of the main loop holds the thread back. Safe to call from a signal handler.
bool hf_async_waits_for_drain_alone(const HFRecord *record);

/// Gives up a thread's record, which must not be touched any more, and stands still until the process ends as its program wants.
///
/// Returns after 90 seconds (the default of TimeoutStopSec, systemd.service(5)): the process hangs, perhaps for a lock of this thread's.
/// Safe to call from a signal handler.
void hf_async_stand_still(HFRecord *record);

/// Tells the threads that wait for their turn to look again. Safe to call from a signal handler.
void hf_async_note_turn(void);

#endif
