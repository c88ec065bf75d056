// What the Swift and the C++ runtime keep for a thread outside of its stack, and what an abandoned callout leaves there.
//
// Life cycle: noted when a run begins (a callout that returns leaves it as it was) -> at a fault the handler asks whether it can be put
// back (async_runtime_state.c) -> after an abandoned callout it is put back. A callout itself does nothing for it.

#ifndef HF_RUNTIME_STATE_H
#define HF_RUNTIME_STATE_H

#include "recovery_point.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The exceptions of a thread (Itanium C++ ABI, "Exception Handling", 2.2.2): those that a handler has caught, and how many are on their
/// way up.
typedef struct HFExceptionGlobals {
    void *caught;
    unsigned int uncaught;
} HFExceptionGlobals;

/// Where the runtimes keep it for the running thread.
typedef struct HFRuntimePlaces {
    /// The pointer to the storage of task-local values that are bound outside of a task, whose first word is the newest value; NULL if the
    /// runtime has no such values, or if the place is not known.
    uintptr_t *task_locals;
    /// NULL if no C++ runtime is loaded.
    HFExceptionGlobals *exceptions;
    /// The places were looked for.
    bool are_known;
    /// There are task-local values, but their place was not found.
    bool hides_task_locals;
} HFRuntimePlaces;

extern _Thread_local HFRuntimePlaces hf_runtime_places
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// What was noted when the innermost run of the running thread began.
extern _Thread_local HFRuntimeState hf_runtime_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Notes the state for the run that begins, and returns what was noted before.
///
/// A thread's first call allocates and takes the loader's lock, the others read five words.
HFRuntimeState hf_runtime_state_note(void) __attribute__((visibility("hidden")));

/// Puts the state back that was noted last. Only if hf_async_can_restore_runtime_state() has said that this is possible.
void hf_runtime_state_restore(void) __attribute__((visibility("hidden")));

// MARK: Thread-local storage

/// A library's thread-local storage for one thread.
typedef struct HFLibraryStorage {
    uintptr_t *first;
    size_t words;
} HFLibraryStorage;

/// The offset of a word in such a storage: not looked for yet, or not found.
enum { unknown = -1, nowhere = -2 };

/// Finds the calling thread's storage of the library that an address lies in.
///
/// Returns false if the library has none. Allocates, and takes the loader's lock.
bool hf_find_library_storage(const void *address, HFLibraryStorage *storage) __attribute__((visibility("hidden")));

// MARK: Exclusivity accesses

// Exported by libswiftCore, but not public ABI (swift/stdlib/public/runtime/ConcurrencyExclusivity.inc): weak, so that a
// runtime without them is noticed by hf_recovery_tracks_exclusivity() and not by the linker.
extern void swift_task_enterThreadLocalContext(char *state) __attribute__((weak));
extern void swift_task_exitThreadLocalContext(char *state) __attribute__((weak));

/// Where the runtime keeps the head of this thread's list; NULL until that is known.
extern _Thread_local uintptr_t *hf_access_list __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Puts the head of this thread's list into an empty state of two words, and finds out where the head is, for next time.
///
/// Allocates, and takes the loader's lock.
void hf_access_list_note(uintptr_t *state) __attribute__((visibility("hidden")));

#endif
