// Whether the functions of task_memory.S do what the runtime's do: tried in a task at the pool's start, and not believed before.

#include "task_memory.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "job_state.h"
#include "swift_job.h"
#include "task_pool.h"

#define HIDDEN __attribute__((visibility("hidden")))

/// Where the runtime keeps the current task, from the thread pointer on: 0 until the functions may be used.
HIDDEN ptrdiff_t hf_task_memory_place;
HIDDEN ptrdiff_t hf_tried_task_memory_place;
HIDDEN void *hf_next_task_alloc;
HIDDEN void *hf_next_task_dealloc;
static _Atomic(bool) agrees_with_runtime;

/// Finds the runtime's functions. Two threads may both look, because both find the same.
HIDDEN void hf_task_memory_find(void) {
    void *dealloc = dlsym(RTLD_NEXT, "swift_task_dealloc");
    void *alloc = dlsym(RTLD_NEXT, "swift_task_alloc");
    if (alloc == NULL || dealloc == NULL) {
        abort();
    }
    __atomic_store_n(&hf_next_task_dealloc, dealloc, __ATOMIC_RELEASE);
    __atomic_store_n(&hf_next_task_alloc, alloc, __ATOMIC_RELEASE);
}

static uintptr_t word(uintptr_t place) { return *(const uintptr_t *)place; }

static uint32_t half(uintptr_t place) { return *(const uint32_t *)place; }

/// Sizes of which some fit into a slab, some need another one, and one is longer than any.
static const size_t sizes[] = {1, 16, 17, 200, 0, 640, 96, 480, 1008, 48, 3000, 32, 64};
enum { size_count = sizeof sizes / sizeof sizes[0] };

/// What the words look like after one step.
typedef struct Step {
    uintptr_t piece;
    uintptr_t newest;
    uintptr_t first_slab;
    uintptr_t count;
    uintptr_t before;
    uintptr_t slab;
    uint32_t capacity;
    uint32_t used;
} Step;

static Step look(uintptr_t task, uintptr_t piece) {
    Step step;
    // Compared as bytes.
    memset(&step, 0, sizeof step);
    step.piece = piece;
    step.newest = word(task + HF_TASK_MEMORY_NEWEST);
    step.first_slab = word(task + HF_TASK_MEMORY_NEWEST + 8);
    step.count = word(task + HF_TASK_MEMORY_NEWEST + 16);
    if (step.newest != 0) {
        step.before = word(step.newest);
        step.slab = word(step.newest + HF_PIECE_SLAB);
        step.capacity = half(step.slab + HF_SLAB_CAPACITY);
        step.used = half(step.slab + HF_SLAB_USED);
    }
    return step;
}

/// Takes pieces and gives them back, and writes down each step.
static void walk(uintptr_t task, const HFTaskMemory *memory, Step steps[2 * size_count]) {
    void *pieces[size_count];
    for (int i = 0; i < size_count; i += 1) {
        pieces[i] = memory->alloc(sizes[i]);
        // Whatever it is for, it can be written.
        memset(pieces[i], 0xa5, sizes[i]);
        steps[i] = look(task, (uintptr_t)pieces[i]);
    }
    for (int i = size_count - 1; i >= 0; i -= 1) {
        memory->dealloc(pieces[i]);
        steps[2 * size_count - 1 - i] = look(task, 0);
    }
}

/// Whether the words of a task are where they are expected. Reads nothing that lies elsewhere before it has found what leads there.
static bool has_layout(uintptr_t task, const HFTaskMemory *memory) {
    enum { size = 64 };
    uintptr_t first = (uintptr_t)memory->alloc(size);
    bool leads_to_first = word(task + HF_TASK_MEMORY_NEWEST) == first - HF_PIECE_HEAD;
    uintptr_t second = (uintptr_t)memory->alloc(size);
    uintptr_t newest = second - HF_PIECE_HEAD;
    bool agrees = leads_to_first && word(task + HF_TASK_MEMORY_NEWEST) == newest && word(newest) == first - HF_PIECE_HEAD;
    if (agrees) {
        uintptr_t slab = word(newest + HF_PIECE_SLAB);
        // A small piece lies in a slab of about 1,000 bytes.
        agrees = slab % sizeof slab == 0 && slab + HF_SLAB_HEAD <= newest && newest - slab < 4096 &&
                 half(slab + HF_SLAB_USED) == newest + HF_PIECE_HEAD + size - slab - HF_SLAB_HEAD &&
                 half(slab + HF_SLAB_CAPACITY) >= half(slab + HF_SLAB_USED) && half(slab + HF_SLAB_CAPACITY) < 4096;
    }
    memory->dealloc((void *)second);
    agrees = agrees && word(task + HF_TASK_MEMORY_NEWEST) == first - HF_PIECE_HEAD;
    memory->dealloc((void *)first);
    return agrees;
}

bool hf_task_memory_agrees(const HFTaskMemory *runtime, const HFTaskMemory *own) {
    uintptr_t task = (uintptr_t)swift_task_getCurrent();
    size_t size = hf_task_size();
    if (task == 0 || !hf_task_layout_is_known() || size < HF_TASK_MEMORY_NEWEST + 3 * sizeof(uintptr_t) ||
        !has_layout(task, runtime)) {
        return false;
    }
    Step expected[2 * size_count], seen[2 * size_count];
    // The first time it makes the slabs that the others find.
    walk(task, runtime, expected);
    walk(task, runtime, expected);
    walk(task, own, seen);
    return memcmp(expected, seen, sizeof seen) == 0;
}

#if defined(__x86_64__)
extern HF_SWIFTCALL void *hf_tried_task_alloc(size_t size);
extern HF_SWIFTCALL void hf_tried_task_dealloc(void *piece);

void hf_task_memory_try(void) {
    // Not there where the runtime is static: then its own functions are called, and nobody reads the place.
    if (dlsym(RTLD_NEXT, "swift_task_alloc") == NULL || dlsym(RTLD_NEXT, "swift_task_dealloc") == NULL) {
        return;
    }
    hf_task_memory_find();
    ptrdiff_t record;
    (void)hf_job_state_places(&hf_tried_task_memory_place, &record);
    const HFTaskMemory runtime = {(HFTaskAlloc)hf_next_task_alloc, (HFTaskDealloc)hf_next_task_dealloc};
    const HFTaskMemory own = {hf_tried_task_alloc, hf_tried_task_dealloc};
    bool agrees = hf_task_memory_agrees(&runtime, &own);
    atomic_store(&agrees_with_runtime, agrees);
    if (agrees) {
        hf_task_slabs_use(&runtime);
    }
}
#else
void hf_task_memory_try(void) {}
#endif

void hf_task_memory_use(void) {
    ptrdiff_t place, record;
    if (atomic_load(&agrees_with_runtime) && hf_job_state_places(&place, &record)) {
        __atomic_store_n(&hf_task_memory_place, place, __ATOMIC_RELEASE);
    }
}

bool hf_task_memory_is_used(void) { return __atomic_load_n(&hf_task_memory_place, __ATOMIC_RELAXED) != 0; }

// The section of task_memory.S; its ends are the linker's. Weak: on other processors it is empty.
extern const char __start_hf_task_memory_code[] __attribute__((weak));
extern const char __stop_hf_task_memory_code[] __attribute__((weak));

bool hf_task_pool_is_memory_code(uint64_t address) {
    return address >= (uint64_t)(uintptr_t)__start_hf_task_memory_code &&
           address < (uint64_t)(uintptr_t)__stop_hf_task_memory_code;
}
