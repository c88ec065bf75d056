// How threads are scheduled that nobody shall wait for. All of it is safe to call from a signal handler.

#ifndef HF_ASYNC_SCHEDULING_H
#define HF_ASYNC_SCHEDULING_H

#include <stdbool.h>

/// Has the calling thread give way to all others, for ever: it does not preempt them, and the processor is theirs when they wake.
void hf_async_give_way(void);

/// Whether the calling thread has a higher nice value than the process had when capture was installed. Nobody can take that back without a
/// privilege (sched(7)), and what the thread executes would have it.
bool hf_async_is_nice(void);

/// Schedules the calling thread as the main thread was when capture was installed: execve(2) keeps how it is scheduled.
void hf_async_schedule_as_before(void);

#endif
