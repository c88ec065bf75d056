// The function that one of the same name in this library stands before. Ordinary code, called at any time, also before main.

#ifndef HF_NEXT_FUNCTION_H
#define HF_NEXT_FUNCTION_H

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

// What is found does not change, so that two threads may both look.
#define HF_NEXT(name)                                                                       \
    ({                                                                                      \
        static _Atomic(void *) place;                                                       \
        void *function = atomic_load_explicit(&place, memory_order_relaxed);                \
        (__typeof__(&name))(function != NULL ? function : hf_find_next(&place, #name));     \
    })

#endif
