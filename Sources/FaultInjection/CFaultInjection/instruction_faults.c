// Faults by an instruction. In assembly where C leaves the behaviour undefined, since a compiler may then leave it out.

#include "fault_function.h"
#include "fault_injection.h"

#include <stddef.h>

typedef void (*Function)(void);

/// A valid function body (`ret`), in a section that is not executable.
static unsigned char data[16] = {0xc3};

HF_FAULT_FUNCTION void faultNullCall(void) {
    Function function = (Function)hf_fault_pointer(0);
    function();
}

HF_FAULT_FUNCTION void faultDataJump(void) {
    Function function = (Function)hf_fault_pointer((uintptr_t)data);
    function();
}

HF_FAULT_FUNCTION void faultDivideByZero(void) {
    int quotient = 1;
    __asm__ volatile("cltd\n\tidivl %1" : "+a"(quotient) : "r"(0) : "edx", "cc");
}

HF_FAULT_FUNCTION void faultUd2(void) {
    __asm__ volatile("ud2");
}

HF_FAULT_FUNCTION void faultInt3(void) {
    // The program counter is that of the next instruction: the `nop` keeps it on this line.
    __asm__ volatile("int3\n\tnop");
}
