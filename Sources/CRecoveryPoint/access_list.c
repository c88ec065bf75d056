// Where the Swift runtime keeps the head of a thread's list of exclusivity accesses.
//
// swift_task_enterThreadLocalContext() with an empty state only reads that head, and the call costs as much as all the rest of
// a recovery point. So its address is looked for once per thread: in the thread-local storage of the runtime's library, by
// entering a context whose only access is ours. It is read there and never written: cutting the list is left to the runtime. If
// it is not found exactly once, or is not what the runtime's functions say, every callout calls the runtime.

#include "access_list.h"
#include "library_storage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { state_words = 2, unknown = -1, nowhere = -2 };

/// Where in the library's thread-local storage the head is: the same for all threads.
static _Atomic ptrdiff_t head_offset = unknown;

/// An access as the runtime has it (swift/include/swift/Runtime/Exclusivity.h): the third word is the next one.
typedef struct Access {
    uintptr_t words[3];
} Access;

/// Returns where the head is, by making it point to an access of ours for a moment.
static ptrdiff_t find_head(const HFLibraryStorage *storage, uintptr_t before) {
    Access access = {{0}};
    uintptr_t ours = (uintptr_t)&access;
    uintptr_t state[state_words] = {ours, ours};
    swift_task_enterThreadLocalContext((char *)state);
    ptrdiff_t found = nowhere;
    int matches = 0;
    for (size_t i = 0; i < storage->words; i += 1) {
        if (*(volatile uintptr_t *)&storage->first[i] == ours) {
            found = (ptrdiff_t)i;
            matches += 1;
        }
    }
    swift_task_exitThreadLocalContext((char *)state);
    bool is_head = matches == 1 && *(volatile uintptr_t *)&storage->first[found] == before;
    return is_head ? found : nowhere;
}

void hf_access_list_note(uintptr_t *state) {
    if (swift_task_enterThreadLocalContext == NULL || swift_task_exitThreadLocalContext == NULL) {
        return;
    }
    swift_task_enterThreadLocalContext((char *)state);
    ptrdiff_t offset = atomic_load_explicit(&head_offset, memory_order_relaxed);
    HFLibraryStorage storage;
    if (offset == nowhere || !hf_find_library_storage((const void *)(uintptr_t)swift_task_enterThreadLocalContext, &storage)) {
        return;
    }
    if (offset == unknown) {
        offset = find_head(&storage, state[0]);
        atomic_store_explicit(&head_offset, offset, memory_order_relaxed);
    }
    if (offset >= 0 && (size_t)offset < storage.words && storage.first[offset] == state[0]) {
        hf_access_list = &storage.first[offset];
    }
}
