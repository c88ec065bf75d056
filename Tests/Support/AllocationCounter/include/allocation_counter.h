// Counts the calls of the allocator in a whole process, by taking the place of malloc(3) and its like; and what may end in one: the calls
// by which unoptimised Swift looks a type up when it first needs it. The runtime keeps types in blocks, so few of these allocate.
//
// Linked into an executable: the dynamic linker then prefers its functions to those of the C library, for every library of
// the process (Replacing malloc, The GNU C Library).

#ifndef HF_ALLOCATION_COUNTER_H
#define HF_ALLOCATION_COUNTER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Calls between a beginning and an end.
typedef struct HFAllocationCount {
    /// malloc, calloc, posix_memalign, aligned_alloc and memalign.
    size_t allocations;
    /// realloc.
    size_t reallocations;
    /// free of something.
    size_t frees;
    /// Types and conformances that the executable's code asked the runtime for.
    size_t lookups;
} HFAllocationCount;

/// Begins to count, on all threads.
void hf_allocation_count_begin(void);

/// Returns what was counted, and counts no more.
HFAllocationCount hf_allocation_count_end(void);

/// Writes where the first of the counted calls came from to the standard error.
void hf_allocation_count_print_origins(void);

#ifdef __cplusplus
}
#endif

#endif
