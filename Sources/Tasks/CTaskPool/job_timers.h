// Jobs that come later: those of Task.sleep, for one.

#ifndef HF_JOB_TIMERS_H
#define HF_JOB_TIMERS_H

#include "swift_job.h"

/// Starts the thread that waits for them. Returns 0, or an error of pthread_create(3).
int hf_job_timers_start(void);

/// Has a job enqueued after some nanoseconds. Allocates; if there is no memory the process ends, as it does in the runtime.
void hf_job_timers_add(uint64_t nanoseconds, HFJob *job);

/// How many nanoseconds are left until a time of a clock of the runtime (swift_clock_id: 1 counts while the machine sleeps, 2 does not).
uint64_t hf_job_timers_left(int64_t seconds, int64_t nanoseconds, int clock);

/// Has `hf_task_pool_look_around` called when jobs have waited for long, unless it will be anyway.
void hf_job_timers_look_around(void);

/// Whether that is sooner than usual: see hf_task_pool_set_hasty().
bool hf_job_timers_is_hasty(void);

/// Looks whether jobs wait although no worker gets on. Called on the thread of the timers.
void hf_task_pool_look_around(void);

#endif
