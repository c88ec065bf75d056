// Where a library keeps its thread-local variables.

#ifndef HF_LIBRARY_STORAGE_H
#define HF_LIBRARY_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A library's thread-local storage for one thread.
typedef struct HFLibraryStorage {
    const void *image;
    uintptr_t *first;
    size_t words;
} HFLibraryStorage;

/// Finds the calling thread's storage of the library that an address lies in.
///
/// Returns false where the library has none. Allocates, and takes the loader's lock.
bool hf_find_library_storage(const void *address, HFLibraryStorage *storage) __attribute__((visibility("hidden")));

#endif
