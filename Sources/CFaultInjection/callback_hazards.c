// A C library that is linked into the executable, as SwiftPM links those of packages, and calls its user back.

#include "hazard_injection.h"

#include <stdint.h>

/// What a library keeps about the call that is under way: half of it is changed when the user is called.
static volatile int64_t calls_begun;
static volatile int64_t calls_ended;

__attribute__((noinline, disable_tail_calls)) void hf_fault_call_back(void (*user)(void)) {
    calls_begun += 1;
    user();
    calls_ended += 1;
}
