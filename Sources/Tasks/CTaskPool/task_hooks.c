// The functions behind the runtime's hooks: a job that is due goes into the pool, and another one to the timers.

#include "task_hooks.h"

#include <stddef.h>

#include "job_timers.h"
#include "swift_job.h"
#include "task_pool.h"

static HF_SWIFTCALL void enqueue_global(HFJob *job, HFEnqueueGlobal original) {
    (void)original;
    hf_task_pool_enqueue(job, NULL);
}

static HF_SWIFTCALL void enqueue_with_delay(
    unsigned long long nanoseconds, HFJob *job, HFEnqueueGlobalWithDelay original) {
    (void)original;
    hf_job_timers_add(nanoseconds, job);
}

static HF_SWIFTCALL void enqueue_with_deadline(
    long long seconds, long long nanoseconds, long long tolerance_seconds, long long tolerance_nanoseconds, int clock,
    HFJob *job, HFEnqueueGlobalWithDeadline original) {
    (void)tolerance_seconds;
    (void)tolerance_nanoseconds;
    (void)original;
    hf_job_timers_add(hf_job_timers_left(seconds, nanoseconds, clock), job);
}

static bool has_foreign_hooks(void) {
    return &swift_task_enqueueGlobal_hook == NULL || &swift_task_enqueueGlobalWithDelay_hook == NULL ||
           &swift_task_enqueueGlobalWithDeadline_hook == NULL || swift_task_enqueueGlobal_hook != NULL ||
           swift_task_enqueueGlobalWithDelay_hook != NULL || swift_task_enqueueGlobalWithDeadline_hook != NULL;
}

bool hf_task_hooks_install(void) {
    if (has_foreign_hooks()) {
        return false;
    }
    swift_task_enqueueGlobalWithDelay_hook = enqueue_with_delay;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_with_deadline;
    swift_task_enqueueGlobal_hook = enqueue_global;
    return true;
}
