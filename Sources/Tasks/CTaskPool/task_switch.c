// The runtime's functions that those of task_switch.S stand before.

#include "task_switch.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "job_state.h"
#include "task_memory.h"
#include "task_pool.h"

_Thread_local const HFJob *hf_task_settled HF_THREAD_WORD;
_Thread_local const HFJob *hf_task_candidate HF_THREAD_WORD;

#define HIDDEN __attribute__((visibility("hidden")))

/// Where the runtime keeps, from the thread pointer on, the current task and what runs it (job_state.h).
HIDDEN ptrdiff_t hf_task_place;
HIDDEN ptrdiff_t hf_record_place;
static _Atomic(bool) are_known;

HIDDEN void *hf_next_task_switch;
HIDDEN void *hf_next_push_preference;
HIDDEN void *hf_next_with_preference;
HIDDEN void *hf_next_with_preference_throwing;

/// Finds them. Two threads may both look, because both find the same.
///
/// One that another version of the runtime has not, nobody calls.
HIDDEN void hf_task_switch_find(void) {
    hf_next_push_preference = dlsym(RTLD_NEXT, "swift_task_pushTaskExecutorPreference");
    hf_next_with_preference = dlsym(
        RTLD_NEXT, "$ss26withTaskExecutorPreference_9isolation9operationxSch_pSg_ScA_pSgYixyYaq_YKXEtYaq_YKs5ErrorR_r0_lF");
    hf_next_with_preference_throwing =
        dlsym(RTLD_NEXT, "$ss26withTaskExecutorPreference_9operationxSch_pSg_xyYaYbKXEtYaKs8SendableRzlF");
    hf_next_task_switch = dlsym(RTLD_NEXT, "swift_task_switch");
    if (hf_next_task_switch == NULL) {
        abort();
    }
}

// swift/include/swift/Runtime/Concurrency.h, TaskExecutorRef: the first word is 0 for none.
typedef struct TaskExecutor {
    uintptr_t identity;
    uintptr_t implementation;
} TaskExecutor;

extern HF_SWIFTCALL TaskExecutor swift_task_getPreferredTaskExecutor(void) __attribute__((weak));

/// Settles the candidate if it is the current task and prefers no executor.
HIDDEN void hf_task_settle(void) {
    const HFJob *candidate = hf_task_candidate;
    hf_task_candidate = NULL;
    if (&swift_task_getPreferredTaskExecutor != NULL && swift_task_getCurrent() == candidate &&
        swift_task_getPreferredTaskExecutor().identity == 0) {
        hf_task_settled = candidate;
    }
}

void hf_task_pool_settle_tasks(void) {
    if (hf_job_state_places(&hf_task_place, &hf_record_place)) {
        atomic_store_explicit(&are_known, true, memory_order_release);
        hf_task_memory_use();
    }
}

bool hf_task_switch_is_known(void) { return atomic_load_explicit(&are_known, memory_order_acquire); }

const HFTaskScope *hf_task_pool_settled_scope(void) {
    const HFJob *task = hf_task_settled;
    return task != NULL && task == swift_task_getCurrent() ? hf_task_pool_current_scope() : NULL;
}
