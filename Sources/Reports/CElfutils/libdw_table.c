#include "libdw_table.h"

#include <dlfcn.h>
#include <stddef.h>

static HFLibdw library;

const HFLibdw *hf_libdw_load(const char **problem) {
    // RTLD_NOW: later calls must not come to the dynamic linker for a name. RTLD_LOCAL: its names are nobody else's.
    void *handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        *problem = dlerror();
        return NULL;
    }
#define HF_LIBDW_FIND(name)                                   \
    library.name = (__typeof__(name) *)dlsym(handle, #name);  \
    if (library.name == NULL) {                               \
        *problem = dlerror();                                 \
        return NULL;                                          \
    }
    HF_LIBDW_FUNCTIONS(HF_LIBDW_FIND)
    return &library;
}
