// The layout of a task's memory: see task_memory.S, which includes this, too.
//
// Swift 6.3. StackAllocator in the task: the newest piece, and the first slab. A slab begins with its metadata, the next slab, its capacity and
// how much of it is used, and a piece with the one before and its slab (swift/stdlib/public/runtime/StackAllocator.h).

#ifndef HF_TASK_MEMORY_H
#define HF_TASK_MEMORY_H

#define HF_TASK_MEMORY_NEWEST 0x70
#define HF_SLAB_CAPACITY 0x10
#define HF_SLAB_USED 0x14
#define HF_SLAB_HEAD 0x20
#define HF_PIECE_SLAB 0x8
#define HF_PIECE_HEAD 0x10
#define HF_MEMORY_UNIT 16

#ifndef __ASSEMBLER__
#include <stdbool.h>

/// Tries, within a task, whether the functions do what those of the runtime do.
void hf_task_memory_try(void) __attribute__((visibility("hidden")));

/// Has them used from now on, if they do. To be called once the place of the current task is confirmed.
void hf_task_memory_use(void) __attribute__((visibility("hidden")));
#endif

#endif
