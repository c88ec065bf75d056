// Finding a library's thread-local storage: by the loader, which made it (dlinfo(3), RTLD_DI_TLS_DATA).

#include "library_storage.h"

#include <dlfcn.h>
#include <link.h>

static int find_size(struct dl_phdr_info *info, size_t size, void *result) {
    (void)size;
    HFLibraryStorage *storage = result;
    if (info->dlpi_addr != (ElfW(Addr))(uintptr_t)storage->image) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i += 1) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            storage->words = info->dlpi_phdr[i].p_memsz / sizeof(uintptr_t);
        }
    }
    return 1;
}

bool hf_find_library_storage(const void *address, HFLibraryStorage *storage) {
    Dl_info library;
    if (dladdr(address, &library) == 0) {
        return false;
    }
    void *handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) {
        return false;
    }
    void *first = NULL;
    int error = dlinfo(handle, RTLD_DI_TLS_DATA, &first);
    dlclose(handle);
    *storage = (HFLibraryStorage){.image = library.dli_fbase, .first = first};
    dl_iterate_phdr(find_size, storage);
    return error == 0 && first != NULL && storage->words > 0;
}
