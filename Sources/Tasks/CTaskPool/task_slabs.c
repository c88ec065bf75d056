// Slabs for the tasks of bodies, to be used again and again.
//
// A task begins with the memory for its first frames, and takes slabs of about 1,000 bytes from malloc(3) for the others: six in a request of
// Hummingbird's, which are freed when the task ends. The task of a body gets one long slab instead, and gives it back when it has ended.
//
// The runtime keeps a chain of empty slabs behind the one that it uses, for the next pieces (swift/stdlib/public/runtime/StackAllocator.h).
// A lent slab is put into that chain and taken out of it, so that the runtime finds nothing that it does not make itself.

#include "task_memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "swift_job.h"
#include "task_pool.h"

_Static_assert(offsetof(HFTaskSlab, next) == HF_SLAB_NEXT, "as in the layout");
_Static_assert(offsetof(HFTaskSlab, capacity) == HF_SLAB_CAPACITY, "as in the layout");
_Static_assert(offsetof(HFTaskSlab, used) == HF_SLAB_USED, "as in the layout");
_Static_assert(sizeof(HFTaskSlab) <= HF_SLAB_HEAD, "the memory follows");

/// A piece of a task's memory.
typedef struct Piece {
    struct Piece *previous;
    HFTaskSlab *slab;
} Piece;

/// The words of a task that are its memory's.
typedef struct Memory {
    Piece *newest;
    HFTaskSlab *first;
    /// How many slabs malloc(3) has made, times 2: bit 0 says whether there is another one.
    uint32_t count;
} Memory;

/// How much the frames of a request need, and what is left of 8 kB for malloc(3).
enum { slab_size = 8192 - 16, slab_unit = 2 };

static _Atomic(bool) are_lent;

bool hf_task_slabs_are_lent(void) { return atomic_load_explicit(&are_lent, memory_order_acquire); }

static Memory *memory_of_task(void) {
    uintptr_t task = (uintptr_t)swift_task_getCurrent();
    return task != 0 ? (Memory *)(task + HF_TASK_MEMORY_NEWEST) : NULL;
}

HFTaskSlab *hf_task_slab_make(void) {
    HFTaskSlab *slab = malloc(slab_size);
    if (slab != NULL) {
        *slab = (HFTaskSlab){.capacity = slab_size - HF_SLAB_HEAD};
    }
    return slab;
}

bool hf_task_slab_lend(HFTaskSlab *slab) {
    Memory *memory = memory_of_task();
    if (memory == NULL || memory->newest == NULL) {
        return false;
    }
    HFTaskSlab *present = memory->newest->slab;
    slab->metadata = present->metadata;
    slab->next = present->next;
    slab->used = 0;
    present->next = slab;
    memory->count += slab_unit;
    return true;
}

bool hf_task_slab_take_back(HFTaskSlab *slab) {
    Memory *memory = memory_of_task();
    if (memory == NULL || memory->newest == NULL) {
        return false;
    }
    HFTaskSlab *present = memory->newest->slab;
    // The runtime frees the chain if a piece is longer than the next slab.
    if (present->next != slab || slab->used != 0) {
        return false;
    }
    present->next = slab->next;
    memory->count -= slab_unit;
    return true;
}

/// Whether the runtime makes a slab for a long piece as it is expected: behind the present one, where others were, and counts it.
static bool chains(Memory *memory, const HFTaskMemory *runtime) {
    Piece *newest = memory->newest;
    // Longer than all of them.
    size_t size = 6000;
    uint32_t successors = 0;
    for (HFTaskSlab *slab = newest->slab->next; slab != NULL; slab = slab->next) {
        if (slab->used != 0 || successors == 64) {
            return false;
        }
        size += slab->capacity;
        successors += 1;
    }
    uint32_t count = memory->count;
    char *piece = runtime->alloc(size);
    const HFTaskSlab *slab = newest->slab->next;
    bool agrees = slab != NULL && piece == (const char *)slab + HF_SLAB_HEAD + HF_PIECE_HEAD && slab->next == NULL &&
                  slab->capacity >= size + HF_PIECE_HEAD && memory->count == count + slab_unit - successors * slab_unit;
    runtime->dealloc(piece);
    return agrees && memory->newest == newest && newest->slab->next == slab && slab->used == 0;
}

bool hf_task_slab_agrees(const HFTaskMemory *runtime) {
    Memory *memory = memory_of_task();
    // hf_task_memory_agrees() has seen the newest piece and its slab.
    if (memory == NULL || memory->newest == NULL || !chains(memory, runtime)) {
        return false;
    }
    HFTaskSlab *slab = hf_task_slab_make();
    if (slab == NULL) {
        return false;
    }
    Piece *newest = memory->newest;
    HFTaskSlab *next = newest->slab->next;
    uint32_t count = memory->count;
    enum { size = 3000 };
    bool agrees = hf_task_slab_lend(slab);
    char *piece = runtime->alloc(size);
    agrees = agrees && piece == (char *)slab + HF_SLAB_HEAD + HF_PIECE_HEAD && slab->used >= size + HF_PIECE_HEAD;
    bool is_refused = !hf_task_slab_take_back(slab);
    runtime->dealloc(piece);
    agrees = agrees && is_refused && slab->used == 0 && hf_task_slab_take_back(slab) && memory->newest == newest &&
             newest->slab->next == next && memory->count == count;
    if (agrees) {
        free(slab);
    }
    return agrees;
}

void hf_task_slabs_use(const HFTaskMemory *runtime) { atomic_store(&are_lent, hf_task_slab_agrees(runtime)); }
