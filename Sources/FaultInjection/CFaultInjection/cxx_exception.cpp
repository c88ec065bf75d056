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
