// What the Swift runtime knows of the job that a thread runs: which task, and what it is isolated to.
//
// Life cycle: found by a job that is made for it -> confirmed on another thread -> read by fault handlers. If one of these fails, nothing is
// known: then no job of a task is abandoned, and reports have no async calls.

#ifndef HF_JOB_STATE_H
#define HF_JOB_STATE_H

#include "recovery_point.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the Swift runtime knows of the job that a thread runs: the task, 0 for none, and the two words of its serial executor, of which the
/// first is the actor; 0 for a job that is isolated to none.
typedef struct HFJobState {
    uintptr_t task;
    uintptr_t executor[2];
} HFJobState;

/// Finds out where the runtime keeps it for a thread. Called in a job of a task that is isolated to no actor, on a callout stack, with the
/// task executor that runs it; returns whether the places were found. Allocates, and takes the loader's lock.
bool hf_job_state_find(const uint64_t executor[_Nonnull 2]);

/// Compares what was found with the place on the running thread, which must be another one. Only if they agree is it used.
bool hf_job_state_confirm(void);

/// Where each thread has them, from its thread pointer on: the current task, and a pointer to the record whose first word is that of the
/// serial executor. Returns false if that is not known.
bool hf_job_state_places(ptrdiff_t *_Nonnull task, ptrdiff_t *_Nonnull record);

/// Reads it for the running thread. Returns false if it is not known, or not at a place where it could be. Safe to call from a signal
/// handler.
bool hf_async_job_state(const HFCalloutStack *_Nonnull stack, HFJobState *_Nonnull state);

/// Reads the first word of the serial executor of what another thread of the process runs, the actor; 0 if it is isolated to none, or if that
/// is not known. The thread is given by its control block (pthread_self(3)), and may have ended. Safe on any thread.
uintptr_t hf_job_state_actor(uintptr_t thread);

/// The task that is current on the running thread; 0 for none, or if that is not known. Safe to call from a signal handler.
uintptr_t hf_async_current_task(void);

/// Whether tasks have the layout that is known here: the runtime exports a version of it.
bool hf_task_layout_is_known(void);

/// Where a task has its ActiveTaskStatus: behind AsyncTask::ResumeContext, a reserved word, and the two of PrivateStorage that keep exclusivity
/// accesses (swift/include/swift/ABI/Task.h, swift/stdlib/public/Concurrency/TaskPrivate.h).
enum { HF_TASK_STATUS_OFFSET = 96 };

/// Flags of an ActiveTaskStatus, beside the priority in the lowest byte.
enum { HF_TASK_CANCELLED = 0x100, HF_TASK_RUNNING = 0x800, HF_TASK_QUEUED = 0x1000, HF_TASK_COMPLETE = 0x2000 };

/// Whether the status is there: hf_job_state_find() has seen that of a task that ran. Safe to call from a signal handler.
bool hf_task_status_is_known(void);

/// The size of a task in bytes, without what follows it; 0 if that is not known.
size_t hf_task_size(void);

#ifdef __cplusplus
}
#endif

#endif
