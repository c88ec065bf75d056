// Noting and putting back what the runtimes keep for a thread.
//
// What an abandoned callout leaves there belongs to it: the next callout would have its task-local values, and its exceptions. It is
// cut off, and not released: no `deinit` of an abandoned frame is called either.

#include "runtime_state.h"
#include "library_storage.h"

#include <stddef.h>

// Exported by libswift_Concurrency and public, but for where it keeps them (swift/stdlib/public/Concurrency/TaskLocal.cpp). Weak: a
// program may have no concurrency, and then no such values.
extern void swift_task_localValuePush(const void *key, void *value, const void *type)
    __attribute__((weak, swiftcall));
extern void swift_task_localValuePop(void) __attribute__((weak, swiftcall));
extern void *swift_task_localValueGet(const void *key) __attribute__((weak, swiftcall));
/// The type Swift.Int.
extern const char hf_type_of_int __asm__("$sSiN") __attribute__((weak));
extern HFExceptionGlobals *__cxa_get_globals(void) __attribute__((weak));

/// The library has four words for each thread.
enum { nowhere = -1, most_words = 1024 };

/// Where in the library's thread-local storage the pointer is: the same for all threads. Written before main.
static ptrdiff_t task_locals_offset = nowhere;

static bool push(const void *key) {
    intptr_t value = 1;
    swift_task_localValuePush(key, &value, &hf_type_of_int);
    return swift_task_localValueGet(key) != NULL;
}

/// Finds the pointer, by binding two values for a moment: it is the word that is NULL without values, and the first word of what it
/// points to changes with each value. Only outside of a task, which has
/// a storage of its own.
static ptrdiff_t find_task_locals(const HFLibraryStorage *storage) {
    static const char keys[2];
    volatile uintptr_t *words = storage->first;
    uintptr_t before[most_words];
    for (size_t i = 0; i < storage->words; i += 1) {
        before[i] = words[i];
    }
    bool are_bound = push(&keys[0]);
    ptrdiff_t found = nowhere;
    int matches = 0;
    for (size_t i = 0; i < storage->words; i += 1) {
        if (before[i] == 0 && words[i] != 0) {
            found = (ptrdiff_t)i;
            matches += 1;
        }
    }
    bool is_place = are_bound && matches == 1;
    volatile uintptr_t *head = is_place ? (volatile uintptr_t *)words[found] : NULL;
    uintptr_t first = is_place ? *head : 0;
    are_bound = push(&keys[1]);
    is_place = is_place && are_bound && first != 0 && *head != first && (uintptr_t)head == words[found];
    swift_task_localValuePop();
    is_place = is_place && *head == first;
    swift_task_localValuePop();
    for (size_t i = 0; i < storage->words; i += 1) {
        is_place = is_place && words[i] == before[i];
    }
    return is_place ? found : nowhere;
}

/// Before main no value is bound: where one is, its storage cannot be told from other words.
__attribute__((constructor)) static void find_place_of_task_locals(void) {
    HFLibraryStorage storage;
    if (swift_task_localValuePush == NULL) {
        return;
    }
    if (&hf_type_of_int != NULL && swift_task_localValuePop != NULL && swift_task_localValueGet != NULL &&
        hf_find_library_storage((const void *)(uintptr_t)swift_task_localValuePush, &storage) &&
        storage.words <= most_words) {
        task_locals_offset = find_task_locals(&storage);
    }
}

static void find_places(HFRuntimePlaces *places) {
    places->are_known = true;
    places->exceptions = __cxa_get_globals != NULL ? __cxa_get_globals() : NULL;
    if (swift_task_localValuePush == NULL) {
        return;
    }
    HFLibraryStorage storage;
    places->hides_task_locals = true;
    if (task_locals_offset != nowhere &&
        hf_find_library_storage((const void *)(uintptr_t)swift_task_localValuePush, &storage) &&
        (size_t)task_locals_offset < storage.words) {
        places->task_locals = &storage.first[task_locals_offset];
        places->hides_task_locals = false;
    }
}

HFRuntimeState hf_runtime_state_note(void) {
    HFRuntimeState before = hf_runtime_state;
    HFRuntimePlaces *places = &hf_runtime_places;
    if (!places->are_known) {
        find_places(places);
    }
    HFRuntimeState state = {0};
    if (places->task_locals != NULL && *places->task_locals != 0) {
        state.task_locals = *places->task_locals;
        state.newest_task_local = *(uintptr_t *)state.task_locals;
    }
    if (places->exceptions != NULL) {
        state.caught_exceptions = (uintptr_t)places->exceptions->caught;
        state.uncaught_exceptions = places->exceptions->uncaught;
    }
    hf_runtime_state = state;
    return before;
}

void hf_runtime_state_restore(void) {
    const HFRuntimePlaces *places = &hf_runtime_places;
    if (places->task_locals != NULL) {
        *places->task_locals = hf_runtime_state.task_locals;
        if (hf_runtime_state.task_locals != 0) {
            *(uintptr_t *)hf_runtime_state.task_locals = hf_runtime_state.newest_task_local;
        }
    }
    if (places->exceptions != NULL) {
        places->exceptions->caught = (void *)hf_runtime_state.caught_exceptions;
        places->exceptions->uncaught = hf_runtime_state.uncaught_exceptions;
    }
}
