// The runtime's hooks: where it puts jobs that belong to no other executor.

#ifndef HF_TASK_HOOKS_H
#define HF_TASK_HOOKS_H

#include <stdbool.h>

/// Has the runtime put these jobs into the pool. Returns false if it has no hooks, or somebody else has them.
bool hf_task_hooks_install(void);

#endif
