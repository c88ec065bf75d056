// Looking at the other threads of a process that faulted: each is asked by a signal to stand still while its stack is walked.
//
// The signal is SIGSTKFLT. The kernel never raises it (signal(7): unused), nobody sends it, and as a standard signal it is pending
// once however often it is sent: a thread that blocks it costs nothing of RLIMIT_SIGPENDING, as a real-time signal would.
//
// One sample: hf_async_list_threads() -> hf_async_describe_thread() and hf_async_ask_thread() for each -> hf_async_await_threads() ->
// for each that answered, hf_async_begin_walk() and hf_async_end_walk() -> hf_async_release_thread(). A thread that is never released
// goes on by itself.

#ifndef HF_THREAD_SAMPLING_H
#define HF_THREAD_SAMPLING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "crash_record.h"
#include "crash_sections.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HF_SAMPLE_SIGNAL = SIGSTKFLT };

/// Takes the signal and opens the list of threads, or, unless `wanted`, leaves the signal to the program for ever.
///
/// Returns 0, EBUSY when the program has an action for the signal, or another `errno`. Lets the signal through on the calling
/// thread. Not safe to call from a signal handler.
int hf_sample_install(bool wanted);

/// Gives the signal back, where the handler is still ours.
void hf_sample_uninstall(void);

/// Whether the signal is ours: no thread is to block it, and nobody else may observe it. Safe to call from a signal handler.
bool hf_sample_owns_signal(void);

/// HF_SAMPLING_DONE if threads can be asked, else why not. For the crash thread.
uint32_t hf_async_sampling_obstacle(void);

/// Lists the threads of the process, apart from one and the caller.
///
/// Returns false when they cannot be listed. For the crash thread.
bool hf_async_list_threads(HFThreadSnapshot *_Nonnull snapshot, int32_t except);

/// Adds name, state and system call to an entry, before the thread is asked: then it waits in our handler.
///
/// Safe to call from a signal handler.
void hf_async_describe_thread(HFThreadEntry *_Nonnull entry);

/// Asks the thread of an entry to stand still, until `limit` on CLOCK_MONOTONIC at the latest.
///
/// Returns false when it has ended, is stopped, or a restart has begun. For the crash thread.
bool hf_async_ask_thread(uint32_t index, const HFThreadEntry *_Nonnull entry, uint64_t limit);

/// Waits until the asked ones of `count` entries from `first` on stand still, or a time on CLOCK_MONOTONIC has come.
///
/// Returns whether all of them do. For the crash thread.
bool hf_async_await_threads(uint32_t first, uint32_t count, uint64_t until);

/// Gives up on asked ones that will not answer: they block the signal, or wait for a device. For the crash thread.
void hf_async_forget_deaf_threads(uint32_t first, uint32_t count);

/// A copy of the context of a thread that stands still, or NULL; its registers go into the entry, and its name if that has none.
/// What did not answer by now is not waited for any more. For the crash thread.
ucontext_t *_Nullable hf_async_begin_walk(uint32_t index, HFThreadEntry *_Nonnull entry);

/// Whether another fault waits for its verdict. For the crash thread.
bool hf_capture_has_waiting(void);

/// Sleeps until a fault waits for its verdict, or so long, less than a second; says whether one does. For the crash thread.
bool hf_capture_await_fault(uint64_t nanoseconds);

/// Whether the thread has stood still all the time since hf_async_begin_walk().
bool hf_async_end_walk(uint32_t index);

/// Lets a thread go on. For the crash thread.
void hf_async_release_thread(uint32_t index);

/// Lets nobody be asked from now on, and takes back what was asked and not heard: execve(2) keeps signals that are pending, and
/// resets what is done about them. Safe to call from a signal handler.
void hf_async_suspend_sampling(void);

/// Undoes hf_async_suspend_sampling(). Safe to call from a signal handler.
void hf_async_continue_sampling(void);

/// The time on CLOCK_MONOTONIC in nanoseconds. Safe to call from a signal handler.
uint64_t hf_async_monotonic_nanoseconds(void);

/// Copies code before the program counter into the record. For the crash thread.
void hf_async_capture_code(HFRecord *_Nonnull record);

/// Copies stack memory and memory near the registers into an area. For the crash thread, while the thread that faulted is parked.
void hf_async_capture_memory(const HFRecord *_Nonnull record, HFMemoryArea *_Nonnull area);

#ifdef __cplusplus
}
#endif

#endif
