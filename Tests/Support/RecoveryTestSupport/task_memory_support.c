// Ways in which a task may take memory: the runtime's, and two that differ from it.

#include "task_memory_support.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFTCALL __attribute__((swiftcall))

extern SWIFTCALL void *swift_task_alloc(size_t size);
extern SWIFTCALL void swift_task_dealloc(void *piece);

/// Rounds to 32 bytes instead of 16.
static SWIFTCALL void *wasteful_alloc(size_t size) { return swift_task_alloc((size + 31) / 32 * 32); }

/// Pieces that are in no slab.
static SWIFTCALL void *foreign_alloc(size_t size) { return malloc(size + 1); }
static SWIFTCALL void foreign_dealloc(void *piece) { free(piece); }

static const HFTaskMemory foreign = {foreign_alloc, foreign_dealloc};

static HFTaskMemory memory_of_runtime(void) {
    // The program has it loaded.
    void *library = dlopen("libswift_Concurrency.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        abort();
    }
    HFTaskMemory runtime = {
        (HFTaskAlloc)dlsym(library, "swift_task_alloc"), (HFTaskDealloc)dlsym(library, "swift_task_dealloc")};
    dlclose(library);
    return runtime;
}

bool hf_test_task_memory_agrees(HFTestTaskMemory kind) {
    HFTaskMemory runtime = memory_of_runtime();
    // By their names: those of the executable, if it has any.
    HFTaskMemory own = {swift_task_alloc, swift_task_dealloc};
    switch (kind) {
    case HFTestTaskMemoryOwn: break;
    case HFTestTaskMemoryWasteful: own.alloc = wasteful_alloc; break;
    case HFTestTaskMemoryForeign: runtime = own = foreign; break;
    }
    return hf_task_memory_agrees(&runtime, &own);
}

bool hf_test_task_slab_agrees(HFTestTaskMemory kind) {
    HFTaskMemory runtime = kind == HFTestTaskMemoryForeign ? foreign : memory_of_runtime();
    return hf_task_slab_agrees(&runtime);
}
