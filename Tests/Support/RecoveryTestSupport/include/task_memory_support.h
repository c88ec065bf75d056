// Whether the pool tells ways to take a task's memory apart.

#ifndef HF_TASK_MEMORY_SUPPORT_H
#define HF_TASK_MEMORY_SUPPORT_H

#include <stdbool.h>

#include "task_pool.h"

typedef enum HFTestTaskMemory {
    /// The functions that the program calls, beside the runtime's.
    HFTestTaskMemoryOwn,
    /// Functions that take more than the runtime's, beside these.
    HFTestTaskMemoryWasteful,
    /// A runtime that keeps no slabs.
    HFTestTaskMemoryForeign,
} HFTestTaskMemory;

/// What hf_task_memory_agrees() says. To be called within a task.
bool hf_test_task_memory_agrees(HFTestTaskMemory kind);

/// What hf_task_slab_agrees() says of the runtime's functions, or of those of a runtime that keeps no slabs. To be called within a task.
bool hf_test_task_slab_agrees(HFTestTaskMemory kind);

#endif
