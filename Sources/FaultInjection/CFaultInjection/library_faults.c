// Faults that the C library finds, or sends.

// The assertion is the fault: it stays in release builds.
#undef NDEBUG

#include "fault_function.h"
#include "fault_injection.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    /// Fits the allocator's per-thread cache, which checks for double frees.
    small_block_bytes = 64,
    /// Does not fit it: a free of such a block checks the block's header at once.
    large_block_bytes = 2040,
    /// The bytes of a block's header that come before it, and so after the block below: its size.
    header_bytes = 8,
    /// A header of these bytes claims a size that is not a multiple of 16, in the main arena, not mapped by itself.
    smashing_byte = 0x09,
};

HF_FAULT_FUNCTION void faultAbort(void) {
    abort();
}

HF_FAULT_FUNCTION void faultAssert(void) {
    int64_t answer = hf_fault_opaque(41);
    assert(answer == 42);
}

HF_FAULT_FUNCTION void faultDoubleFree(void) {
    uintptr_t block = (uintptr_t)malloc(small_block_bytes);
    free(hf_fault_pointer(block));
    free(hf_fault_pointer(block));
}

HF_FAULT_FUNCTION void faultHeapSmash(void) {
    uintptr_t block = (uintptr_t)malloc(large_block_bytes);
    // As an overflow of the block below would: in a heap that has been used, only this address is sure to be a header.
    memset(hf_fault_pointer(block - header_bytes), smashing_byte, header_bytes);
    free(hf_fault_pointer(block));
}

HF_FAULT_FUNCTION void faultRaiseSegv(void) {
    raise(SIGSEGV);
}
