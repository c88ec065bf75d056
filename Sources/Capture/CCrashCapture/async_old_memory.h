#ifndef HF_ASYNC_OLD_MEMORY_H
#define HF_ASYNC_OLD_MEMORY_H

#include "crash_capture.h"

/// Has another process keep the memory of this one over execve(2), and notes its pid in the environment of the next.
///
/// For the thread that replaces the process. Does nothing if there cannot be such a process. Safe to call from a signal handler.
void hf_async_leave_memory(const HFRestartPlan *plan);

/// Ends that process when execve(2) has failed. Safe to call from a signal handler.
void hf_async_keep_memory(void);

#endif
