// What the functions share that stand before those of a library with the same names. Ordinary code, called at any time, also before main.

#ifndef HF_INTERPOSITION_H
#define HF_INTERPOSITION_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static inline void *hf_find_next(_Atomic(void *) *place, const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        abort();
    }
    atomic_store_explicit(place, function, memory_order_relaxed);
    return function;
}

/// The library's function that our function of the same name stands before. Two threads may both look, because both find the same.
#define HF_NEXT(name)                                                                       \
    ({                                                                                      \
        static _Atomic(void *) place;                                                       \
        void *function = atomic_load_explicit(&place, memory_order_relaxed);                \
        (__typeof__(&name))(function != NULL ? function : hf_find_next(&place, #name));     \
    })

/// Unblocks the signals of faults on the calling thread, whatever mask it was given.
void hf_unblock_fault_signals(void) __attribute__((visibility("hidden")));

#endif
