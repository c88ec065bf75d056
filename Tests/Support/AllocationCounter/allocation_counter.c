// The allocator's entry points, and those by which unoptimised code looks types up. Each counts, and goes on to the library's own.

#include "allocation_counter.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

// Exported by glibc for this use (malloc/malloc.c).
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *pointer);

enum { origins_kept = 8, frames_kept = 24 };

static atomic_bool is_counting;
static atomic_size_t allocations, reallocations, frees, lookups, origins;
static void *frames[origins_kept][frames_kept];
static int frame_counts[origins_kept];
// backtrace(3) may allocate.
static _Thread_local bool is_walking __attribute__((tls_model("initial-exec")));

static void count(atomic_size_t *counter) {
    if (!atomic_load_explicit(&is_counting, memory_order_relaxed) || is_walking) {
        return;
    }
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    size_t place = atomic_fetch_add_explicit(&origins, 1, memory_order_relaxed);
    if (place < origins_kept) {
        is_walking = true;
        frame_counts[place] = backtrace(frames[place], frames_kept);
        is_walking = false;
    }
}

void hf_allocation_count_begin(void) {
    // The first call loads libgcc_s.
    void *frame;
    backtrace(&frame, 1);
    allocations = reallocations = frees = lookups = origins = 0;
    is_counting = true;
}

HFAllocationCount hf_allocation_count_end(void) {
    is_counting = false;
    return (HFAllocationCount){
        .allocations = allocations, .reallocations = reallocations, .frees = frees, .lookups = lookups};
}

void hf_allocation_count_print_origins(void) {
    for (size_t place = 0; place < origins_kept && place < origins; place++) {
        backtrace_symbols_fd(frames[place], frame_counts[place], STDERR_FILENO);
        if (write(STDERR_FILENO, "\n", 1) < 0) {
            return;
        }
    }
}

void *malloc(size_t size) {
    count(&allocations);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(&allocations);
    return __libc_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    count(&reallocations);
    return __libc_realloc(pointer, size);
}

void free(void *pointer) {
    if (pointer != NULL) {
        count(&frees);
    }
    __libc_free(pointer);
}

void *memalign(size_t alignment, size_t size) {
    count(&allocations);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(&allocations);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    count(&allocations);
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *pointer = memory;
    return 0;
}

// MARK: Looking types up

// swift/include/swift/Runtime/Metadata.h. Those with Swift's calling convention take and return words, as C would on x86-64.

typedef struct HFTwoWords {
    void *first;
    size_t second;
} HFTwoWords;

#define COUNT_LOOKUP(result, name, parameters, arguments)                                                              \
    result name parameters;                                                                                            \
    result name parameters {                                                                                           \
        static result(*_Atomic next) parameters;                                                                       \
        if (next == NULL) {                                                                                            \
            next = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                                      \
        }                                                                                                              \
        count(&lookups);                                                                                               \
        return next arguments;                                                                                         \
    }

COUNT_LOOKUP(void *, swift_getWitnessTable, (void *conformance, void *type, void *arguments), (conformance, type, arguments))
COUNT_LOOKUP(
    void *, swift_getTypeByMangledNameInContext2, (void *start, size_t length, void *context, void *arguments),
    (start, length, context, arguments))
COUNT_LOOKUP(HFTwoWords, swift_getForeignTypeMetadata, (size_t request, void *candidate), (request, candidate))
COUNT_LOOKUP(
    HFTwoWords, swift_getAssociatedTypeWitness, (size_t request, void *table, void *type, void *base, void *requirement),
    (request, table, type, base, requirement))
