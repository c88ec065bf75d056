// What the kernel says that a thread does.

#ifndef HF_THREAD_STATE_H
#define HF_THREAD_STATE_H

#include <stdint.h>

/// The letter of proc_pid_stat(5) for a thread of this process, 0 if it cannot be had.
char hf_thread_state(int32_t thread);

#endif
