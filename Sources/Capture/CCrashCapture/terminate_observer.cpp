// What an uncaught C++ exception says of itself, kept for the record of the abort that follows.
//
// Ordinary code, on the thread that threw; it is C++ because only C++ can look at its exceptions.

#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <exception>
#include <typeinfo>

#include "uncaught_exception.h"

namespace {

std::atomic<std::terminate_handler> previous{nullptr};

template <size_t size>
void copy(char (&destination)[size], const char *text) {
    size_t length = strnlen(text, size - 1);
    memcpy(destination, text, length);
    destination[length] = 0;
}

void copy_type() {
    const std::type_info *type = abi::__cxa_current_exception_type();
    if (type == nullptr) {
        // CrashRecordFormat.md: what tells std::terminate from abort.
        copy(hf_uncaught_exception.type, "no exception");
        return;
    }
    int status = 0;
    char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    copy(hf_uncaught_exception.type, name != nullptr ? name : type->name());
    free(name);
}

void copy_message() {
    if (std::current_exception() == nullptr) {
        return;
    }
    try {
        throw;
    } catch (const std::exception &exception) {
        copy(hf_uncaught_exception.message, exception.what());
    } catch (const char *text) {
        copy(hf_uncaught_exception.message, text);
    } catch (...) {
        // A type of the program's own says nothing more.
    }
}

}  // namespace

/// Named like C, so that a report does not take it for the program's own.
extern "C" [[noreturn]] void hf_on_terminate() {
    copy_type();
    copy_message();
    std::terminate_handler next = previous.load();
    if (next != nullptr && next != hf_on_terminate) {
        next();
    }
    abort();
}

extern "C" void hf_capture_observe_terminate(void) { previous.store(std::set_terminate(hf_on_terminate)); }

extern "C" void hf_capture_stop_observing_terminate(void) {
    if (std::get_terminate() == hf_on_terminate) {
        std::set_terminate(previous.load());
    }
}
