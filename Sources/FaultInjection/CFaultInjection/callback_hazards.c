// A library that calls back: linked into the executable, as SwiftPM links its C targets.

#include "fault_function.h"
#include "fault_injection.h"
#include "hazard_injection.h"

#include <setjmp.h>
#include <stddef.h>

HF_FAULT_FUNCTION void hf_call_back(void (*body)(void *), void *context) {
    body(context);
    hf_fault_returned();
}

volatile int hf_inlined_calls;

int hf_inlined_calls_under_way(void) { return hf_inlined_calls; }

/// The innermost protected call that is under way: as interpreters and parsers keep it, a chain through the stack.
static struct Protection {
    jmp_buf buffer;
    struct Protection *outer;
} *innermost;

HF_FAULT_FUNCTION int hf_call_protected(void (*body)(void *), void *context) {
    struct Protection protection;
    protection.outer = innermost;
    innermost = &protection;
    int outcome = setjmp(protection.buffer);
    if (outcome == 0) {
        body(context);
    }
    innermost = protection.outer;
    return outcome;
}

void hf_fail_protected(void) {
    if (innermost != NULL) {
        longjmp(innermost->buffer, 1);
    }
}
