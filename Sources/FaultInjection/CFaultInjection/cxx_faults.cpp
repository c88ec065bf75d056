// The faults that need C++.

#include "fault_function.h"
#include "fault_injection.h"

#include <exception>
#include <stdexcept>
#include <string>

// --- Exceptions ------------------------------------------------------------------------------------------------------

// No frame on the way up, C or Swift, has a handler: the throw itself ends in std::terminate, with the stack intact.
extern "C" HF_FAULT_FUNCTION void faultCxxException(void) {
    throw std::runtime_error("an exception that nobody catches");
}

extern "C" HF_FAULT_FUNCTION void faultCxxTerminate(void) {
    std::terminate();
}

// --- What C++ keeps outside of the stack: guards of initialisers, and the exceptions of a thread ---------------------

namespace {

/// What the optimiser does not know.
volatile bool yes = true;

struct Trapping {
    int value;
    Trapping() {
        if (yes) {
            __asm__ volatile("ud2");
        }
        value = 42;
    }
};

struct Throwing {
    Throwing() {
        if (yes) {
            throw std::runtime_error("not made");
        }
    }
};

struct Made {
    std::string text;
    Made() : text(yes ? "made, with a text that needs memory" : "") {}
};

struct TrapsWhenDestroyed {
    ~TrapsWhenDestroyed() {
        if (yes) {
            __asm__ volatile("ud2");
        }
    }
};

HF_FAULT_FUNCTION int make_value() {
    if (yes) {
        __asm__ volatile("ud2");
    }
    return 42;
}

thread_local int thread_value = make_value();

HF_FAULT_FUNCTION void throw_error() {
    if (yes) {
        throw std::runtime_error("on its way up");
    }
}

}  // namespace

extern "C" HF_FAULT_FUNCTION void trapInStaticInitialiser(void) {
    static Trapping trapping;
    (void)*(volatile int *)&trapping.value;
}

extern "C" HF_FAULT_FUNCTION void useStaticsThatAreMade(void) {
    try {
        static Throwing throwing;
        (void)throwing;
    } catch (const std::exception &) {
    }
    static Made made;
    (void)*(const volatile char *)made.text.data();
}

extern "C" HF_FAULT_FUNCTION void trapInThreadLocalInitialiser(void) { (void)*(volatile int *)&thread_value; }

extern "C" HF_FAULT_FUNCTION int valueOfThreadLocal(void) { return *(volatile int *)&thread_value; }

extern "C" HF_FAULT_FUNCTION void trapInCatchClause(void) {
    try {
        throw_error();
    } catch (const std::exception &) {
        __asm__ volatile("ud2");
    }
}

extern "C" HF_FAULT_FUNCTION void trapWhileUnwinding(void) {
    try {
        TrapsWhenDestroyed trap;
        throw_error();
    } catch (const std::exception &) {
    }
}

extern "C" HF_FAULT_FUNCTION bool hasCurrentException(void) { return std::current_exception() != nullptr; }

extern "C" HF_FAULT_FUNCTION int countUncaughtExceptions(void) { return std::uncaught_exceptions(); }

extern "C" HF_FAULT_FUNCTION void callInCatchClause(void (*body)(void *), void *argument) {
    try {
        throw_error();
    } catch (const std::exception &) {
        body(argument);
    }
}

extern "C" HF_FAULT_FUNCTION void faultStaticInitializer(void) { trapInStaticInitialiser(); }

extern "C" HF_FAULT_FUNCTION void faultExceptionState(void) { trapInCatchClause(); }
