// How threads are scheduled that nobody shall wait for. All of it is safe to call from a signal handler.

#ifndef HF_ASYNC_SCHEDULING_H
#define HF_ASYNC_SCHEDULING_H

#include <stdbool.h>

#include "crash_capture.h"

/// Whether the memory of the process is small: more might be missing where memory is limited, if it is freed late.
bool hf_async_is_memory_small(void);

/// How the threads of a process give way that does nothing but end: with their share only if the memory is small.
HFWay hf_async_way_of_end(void);

/// Schedules the calling thread as the main thread was when capture was installed: execve(2) keeps how it is scheduled.
///
/// Returns false if the thread may not take its nice value back (sched(7)), or not leave its policy. What else it may, it does.
bool hf_async_schedule_as_before(void);

#endif
