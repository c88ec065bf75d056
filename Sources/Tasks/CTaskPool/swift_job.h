// What the pool knows of the Swift runtime: the first words of a job, and the functions and hooks that it exports.
//
// swift/include/swift/ABI/Task.h (Job) and swift/include/swift/Runtime/Concurrency.h. The words named here have been the same since
// Swift 5.5. `scheduler` is there for whoever keeps the job between enqueuing and running: libdispatch's queue uses the same two.

#ifndef HF_SWIFT_JOB_H
#define HF_SWIFT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#define HF_SWIFTCALL __attribute__((swiftcall))

typedef struct HFJob {
    uintptr_t object[2];
    /// SchedulerPrivate: the next job of a queue, and the scope.
    struct HFJob *next;
    const void *scope;
    /// JobFlags: the kind in the lowest byte, the priority in the next.
    uint32_t flags;
    uint32_t id;
    void *reserved[2];
    /// RunJob, or ResumeTask.
    void *function;
} HFJob;

_Static_assert(sizeof(HFJob) == 64, "the runtime's layout");

/// Whether it is a task rather than the turn of an actor (JobKind::Task is 0).
static inline bool hf_job_is_task(const HFJob *job) { return (job->flags & 0xff) == 0; }

typedef HF_SWIFTCALL void (*HFEnqueueGlobal)(HFJob *job);
typedef HF_SWIFTCALL void (*HFEnqueueGlobalWithDelay)(unsigned long long nanoseconds, HFJob *job);
typedef HF_SWIFTCALL void (*HFEnqueueGlobalWithDeadline)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock, HFJob *job);

// Weak: a program without concurrency has no jobs, and another runtime may have no hooks.
extern HF_SWIFTCALL void (*swift_task_enqueueGlobal_hook)(HFJob *job, HFEnqueueGlobal original) __attribute__((weak));
extern HF_SWIFTCALL void (*swift_task_enqueueGlobalWithDelay_hook)(
    unsigned long long nanoseconds, HFJob *job, HFEnqueueGlobalWithDelay original) __attribute__((weak));
extern HF_SWIFTCALL void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock, HFJob *job,
    HFEnqueueGlobalWithDeadline original) __attribute__((weak));

/// Runs a job on no serial executor: the two words are those of the generic executor.
extern HF_SWIFTCALL void swift_job_run(HFJob *job, uint64_t identity, uint64_t implementation) __attribute__((weak));
extern HF_SWIFTCALL void swift_job_run_on_task_executor(HFJob *job, uint64_t identity, uint64_t implementation)
    __attribute__((weak));

extern HF_SWIFTCALL const HFJob *swift_task_getCurrent(void) __attribute__((weak));

/// What withTaskCancellationHandler(operation:onCancel:) is made of (swift/stdlib/public/Concurrency/TaskCancellation.swift).
typedef HF_SWIFTCALL void (*HFCancellationHandler)(__attribute__((swift_context)) void *context);
extern HF_SWIFTCALL void *swift_task_addCancellationHandler(HFCancellationHandler handler, void *context) __attribute__((weak));
extern HF_SWIFTCALL void swift_task_removeCancellationHandler(void *record) __attribute__((weak));

#endif
