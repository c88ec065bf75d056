#pragma once

#include <stdint.h>

/// A function that keeps its own frame: not inlined, and what it calls is not a tail call.
#define HF_FAULT_FUNCTION __attribute__((noinline, disable_tail_calls))

/// Turns an address into a pointer whose value the optimiser does not know.
static inline void *hf_fault_pointer(uintptr_t address) {
    __asm__ volatile("" : "+r"(address));
    return (void *)address;
}
