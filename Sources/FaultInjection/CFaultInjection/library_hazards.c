// Faults inside the C library, or inside a function that it calls back.

#include "fault_function.h"
#include "hazard_injection.h"

#include <stdlib.h>
#include <stddef.h>

enum {
    /// Not kept in the allocator's per-thread cache (malloc/malloc.c, tcache): a free puts the block on the unsorted list.
    unsorted_block_bytes = 2040,
    /// Larger, so that the allocator looks at the whole list for it, and no multiple of what a program asks for otherwise.
    next_block_bytes = 3416,
    /// As many as cannot all come out of the gaps of a heap that has been used.
    block_count = 32,
    /// From one block to the next where they lie side by side: with the header, in multiples of 16.
    block_stride = 2048,
    sorted_values = 8,
};

/// Nothing is mapped there.
static const uintptr_t unmapped_address = 0x0000123456789ab0;

/// What __stack_chk_fail is declared as nowhere: compilers call it by themselves.
extern void __stack_chk_fail(void);

static HF_FAULT_FUNCTION int fault_in_comparison(const void *left, const void *right) {
    __asm__ volatile("ud2");
    return *(const int *)left - *(const int *)right;
}

HF_FAULT_FUNCTION void faultQsortComparator(void) {
    int values[sorted_values];
    for (int i = 0; i < sorted_values; i += 1) {
        values[i] = sorted_values - i;
    }
    qsort(values, sorted_values, sizeof values[0], fault_in_comparison);
}

HF_FAULT_FUNCTION void faultMallocLock(void) {
    uintptr_t blocks[block_count];
    for (int i = 0; i < block_count; i += 1) {
        blocks[i] = (uintptr_t)malloc(unsorted_block_bytes);
    }
    for (int i = 1; i + 1 < block_count; i += 1) {
        // Between two that are in use: it is not joined to anything when it is freed.
        if (blocks[i] - blocks[i - 1] != block_stride || blocks[i + 1] - blocks[i] != block_stride) {
            continue;
        }
        free(hf_fault_pointer(blocks[i]));
        // The second word of a free block links it to the one before it: malloc reads through the link under the arena's lock.
        *(volatile uintptr_t *)hf_fault_pointer(blocks[i] + sizeof(uintptr_t)) = unmapped_address;
        void *volatile next = malloc(next_block_bytes);
        free(next);
        return;
    }
}

HF_FAULT_FUNCTION void faultStackSmash(void) {
    __stack_chk_fail();
}
