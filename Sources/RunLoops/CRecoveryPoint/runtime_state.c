// The state of the runtimes for a thread: finding it in the thread-local storage of their libraries, noting it, and putting it back.
//
// An abandoned callout leaves task-local values and exceptions, which the next callout must not have. They are cut off, not released: no
// `deinit` of an abandoned frame is called either.

#include "runtime_state.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: Thread-local storage

// By the loader, which makes it: the same call that the compiler emits for a variable of the library.

/// A library's module in the loader's table of thread-local storage (ELF Handling For Thread-Local Storage, Drepper, 3.4.2). With a static
/// standard library its storage is a part of the program's.
typedef struct Module {
    uintptr_t address;
    size_t number;
    size_t words;
} Module;

static int is_module(struct dl_phdr_info *info, size_t size, void *result) {
    (void)size;
    Module *module = result;
    bool has_address = false;
    size_t words = 0;
    for (int i = 0; i < info->dlpi_phnum; i += 1) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        has_address = has_address ||
                      (header->p_type == PT_LOAD && module->address >= start && module->address - start < header->p_memsz);
        if (header->p_type == PT_TLS) {
            words = header->p_memsz / sizeof(uintptr_t);
        }
    }
    if (has_address) {
        module->number = info->dlpi_tls_modid;
        module->words = words;
    }
    return has_address;
}

static bool find_module(const void *address, Module *module) {
    *module = (Module){.address = (uintptr_t)address};
    return dl_iterate_phdr(is_module, module) != 0 && module->number != 0 && module->words > 0;
}

/// The modules that were asked for, by an address in them: those of the two runtime libraries. A process never unloads them: they are of
/// its program. An address is published when its module is written.
enum { most_modules = 4 };

static Module modules[most_modules];
static _Atomic(const void *) addresses[most_modules];
static atomic_flag modules_lock = ATOMIC_FLAG_INIT;

// Weak: a program without any shared library has no loader, and so no such function.
extern void *__tls_get_addr(size_t *index) __attribute__((weak));

bool hf_find_library_storage(const void *address, HFLibraryStorage *storage) {
    if (&__tls_get_addr == NULL) {
        return false;
    }
    Module module = {0};
    for (size_t i = 0; i < most_modules && module.number == 0; i += 1) {
        if (atomic_load_explicit(&addresses[i], memory_order_acquire) == address) {
            module = modules[i];
        }
    }
    if (module.number == 0) {
        // Looks at every library, which a thread that takes the place of another one should not have to do.
        if (!find_module(address, &module)) {
            return false;
        }
        // Who does not get the lock looks it up again next time.
        if (!atomic_flag_test_and_set_explicit(&modules_lock, memory_order_acquire)) {
            size_t place = 0;
            while (place < most_modules && addresses[place] != NULL && addresses[place] != address) {
                place += 1;
            }
            if (place < most_modules && addresses[place] == NULL) {
                modules[place] = module;
                atomic_store_explicit(&addresses[place], address, memory_order_release);
            }
            atomic_flag_clear_explicit(&modules_lock, memory_order_release);
        }
    }
    size_t index[2] = {module.number, 0};
    *storage = (HFLibraryStorage){.first = __tls_get_addr(index), .words = module.words};
    return storage->first != NULL;
}

// MARK: Exclusivity accesses

// Where the Swift runtime keeps the head of a thread's list of accesses.
//
// swift_task_enterThreadLocalContext() with an empty state only reads that head, and the call costs as much as all the rest of a recovery
// point. So its address is looked for once per thread: by entering a context whose only access is ours, and searching the thread-local
// storage of the runtime's library for it. The word is read and never written: cutting the list is left to the runtime. If it is not found
// exactly once, or differs from what the runtime's functions say, every callout calls the runtime.

enum { state_words = 2 };

/// Where in the library's thread-local storage the head is: the same for all threads.
static _Atomic ptrdiff_t head_offset = unknown;

/// An access in the runtime's form (swift/include/swift/Runtime/Exclusivity.h): the third word is the next one.
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

// MARK: Task-local values and exceptions

// Exported by libswift_Concurrency and public; only the place of the values is not (swift/stdlib/public/Concurrency/TaskLocal.cpp). Weak: a
// program without concurrency has no such values.
extern void swift_task_localValuePush(const void *key, void *value, const void *type)
    __attribute__((weak, swiftcall));
extern void swift_task_localValuePop(void) __attribute__((weak, swiftcall));
extern void *swift_task_localValueGet(const void *key) __attribute__((weak, swiftcall));
/// The type Swift.Int.
extern const char hf_type_of_int __asm__("$sSiN") __attribute__((weak));
extern HFExceptionGlobals *__cxa_get_globals(void) __attribute__((weak));

/// The library has four words for each thread.
enum { most_words = 1024 };

/// Where in the library's thread-local storage the pointer is: the same for all threads. Written before main.
static ptrdiff_t task_locals_offset = nowhere;

static bool push(const void *key) {
    intptr_t value = 1;
    swift_task_localValuePush(key, &value, &hf_type_of_int);
    return swift_task_localValueGet(key) != NULL;
}

/// Finds the pointer by binding two values for a moment: it is the word that is NULL without values and points to a word that changes with
/// each value. Only outside of a task, which has a storage of its own.
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

/// Before main no value is bound. If one were, its storage could not be told from other words.
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
