// The layout of a task's memory: see task_memory.S, which includes this, too.
//
// Swift 6.3. StackAllocator in the task: the newest piece, and the first slab. A slab begins with its metadata, the next slab, its capacity and
// how much of it is used, and a piece with the one before and its slab (swift/stdlib/public/runtime/StackAllocator.h).

#ifndef HF_TASK_MEMORY_H
#define HF_TASK_MEMORY_H

#define HF_TASK_MEMORY_NEWEST 0x70
#define HF_SLAB_NEXT 0x8
#define HF_SLAB_CAPACITY 0x10
#define HF_SLAB_USED 0x14
#define HF_SLAB_HEAD 0x20
#define HF_PIECE_SLAB 0x8
#define HF_PIECE_HEAD 0x10
#define HF_MEMORY_UNIT 16

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stdint.h>

#include "task_pool.h"

/// A slab, which malloc(3) made: the runtime may free it. Its memory follows.
typedef struct HFTaskSlab {
    const void *metadata;
    struct HFTaskSlab *next;
    uint32_t capacity;
    uint32_t used;
} HFTaskSlab;

/// Tries, within a task, whether the functions do what those of the runtime do.
void hf_task_memory_try(void) __attribute__((visibility("hidden")));

/// Has them used from now on, if they do. To be called once the place of the current task is confirmed.
void hf_task_memory_use(void) __attribute__((visibility("hidden")));

/// Has slabs lent if the runtime's way is the expected one. To be called within a task, once hf_task_memory_agrees() says so.
void hf_task_slabs_use(const HFTaskMemory *runtime) __attribute__((visibility("hidden")));

/// Whether hf_task_slab_lend() may be called. Safe on any thread.
bool hf_task_slabs_are_lent(void) __attribute__((visibility("hidden")));

/// Makes a slab to lend; NULL without memory.
HFTaskSlab *hf_task_slab_make(void) __attribute__((visibility("hidden")));

/// Has the running task take its next pieces from a slab. Returns whether it does.
bool hf_task_slab_lend(HFTaskSlab *slab) __attribute__((visibility("hidden")));

/// Takes back a slab that was lent to the running task. Returns false if that is the task's for ever.
bool hf_task_slab_take_back(HFTaskSlab *slab) __attribute__((visibility("hidden")));
#endif

#endif
