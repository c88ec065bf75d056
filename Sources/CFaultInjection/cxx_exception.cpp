// The faults that need C++.

#include "fault_function.h"
#include "fault_injection.h"
#include "hazard_injection.h"

#include <exception>
#include <stdexcept>

// No frame on the way up, C or Swift, has a handler: the throw itself ends in std::terminate, with the stack intact.
extern "C" HF_FAULT_FUNCTION void faultCxxException(void) {
    throw std::runtime_error("an exception that nobody catches");
}

extern "C" HF_FAULT_FUNCTION void faultCxxTerminate(void) {
    std::terminate();
}

static HF_FAULT_FUNCTION int initial_value() {
    __asm__ volatile("ud2");
    return 1;
}

// Whoever comes by next waits for the guard of the variable (Itanium C++ ABI, 3.3.3).
extern "C" HF_FAULT_FUNCTION void faultStaticInitializer(void) {
    static const int value = initial_value();
    hf_fault_opaque(value);
}

extern "C" HF_FAULT_FUNCTION void faultExceptionState(void) {
    try {
        throw std::runtime_error("an exception that is being handled");
    } catch (const std::runtime_error &error) {
        __asm__ volatile("ud2");
        hf_fault_opaque(*error.what());
    }
}

extern "C" int hf_fault_has_exception(void) {
    return std::current_exception() != nullptr || std::uncaught_exceptions() != 0;
}
