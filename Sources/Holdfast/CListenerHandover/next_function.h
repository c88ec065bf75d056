// The function of a library that one of ours with the same name stands before.

#ifndef HF_NEXT_FUNCTION_H
#define HF_NEXT_FUNCTION_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/// Two threads may both look, because both find the same.
static inline void *hf_next_function(_Atomic(void *) *place, const char *name) {
    void *function = atomic_load_explicit(place, memory_order_relaxed);
    if (function == NULL) {
        function = dlsym(RTLD_NEXT, name);
        if (function == NULL) {
            abort();
        }
        atomic_store_explicit(place, function, memory_order_relaxed);
    }
    return function;
}

#endif
