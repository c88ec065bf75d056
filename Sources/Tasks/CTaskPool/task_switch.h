// Which task needs no switch to the generic executor: see task_switch.S.

#ifndef HF_TASK_SWITCH_H
#define HF_TASK_SWITCH_H

#include "swift_job.h"

#define HF_THREAD_WORD __attribute__((tls_model("initial-exec"), visibility("hidden")))

/// The task whose job this thread runs, and which prefers the executor that runs it; NULL for none.
extern _Thread_local const HFJob *hf_task_settled HF_THREAD_WORD;

/// One of which that is so if it prefers none: looked up when it is first asked for.
extern _Thread_local const HFJob *hf_task_candidate HF_THREAD_WORD;

/// Whether the places are known that the functions read, so that a task may be settled.
bool hf_task_switch_is_known(void) __attribute__((visibility("hidden")));

#endif
