// Faults by a memory access.

#include "fault_function.h"
#include "fault_injection.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    /// Below every mapping: vm.mmap_min_addr keeps the first page free.
    null_page_offset = 0x18,
    /// Two pages.
    file_bytes = 8192,
    /// Small enough not to step over a guard page.
    frame_bytes = 256,
};

/// The lower half of the address space, between where executables and where libraries are mapped.
static const uintptr_t unmapped_address = 0x0000123456789abc;

/// Neither 48-bit nor 57-bit sign extended.
static const uintptr_t non_canonical_address = 0x8123456789abcdef;

HF_FAULT_FUNCTION void faultNullRead(void) {
    const volatile int *pointer = hf_fault_pointer(null_page_offset);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultNullWrite(void) {
    volatile int *pointer = hf_fault_pointer(null_page_offset);
    *pointer = 1;
}

HF_FAULT_FUNCTION void faultWildPointer(void) {
    const volatile char *pointer = hf_fault_pointer(unmapped_address);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultNonCanonical(void) {
    const volatile char *pointer = hf_fault_pointer(non_canonical_address);
    (void)*pointer;
}

HF_FAULT_FUNCTION void faultReadOnlyWrite(void) {
    // A function's code, not a constant: Swift's start-up object marks .rodata writable, and gold maps it so.
    volatile char *pointer = hf_fault_pointer((uintptr_t)faultReadOnlyWrite);
    *pointer = 0;
}

HF_FAULT_FUNCTION void faultBusPastEof(void) {
    int file = memfd_create("bus-past-eof", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, file_bytes) != 0) {
        return;
    }
    const volatile char *bytes = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED || ftruncate(file, 0) != 0) {
        return;
    }
    close(file);
    (void)bytes[file_bytes / 2];
}

HF_FAULT_FUNCTION void faultStackOverflow(void) {
    // Never false, but the optimiser cannot know, nor the warning against endless recursion.
    static volatile bool deeper = true;
    volatile char frame[frame_bytes];
    frame[0] = 1;
    if (deeper) {
        faultStackOverflow();
    }
    // Used after the call: the frame must stay.
    frame[frame_bytes - 1] = frame[0];
}
