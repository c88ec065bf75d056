// Remembering the Swift runtime's exclusivity accesses of a thread.

#ifndef HF_ACCESS_LIST_H
#define HF_ACCESS_LIST_H

#include <stdint.h>

// Exported by libswiftCore, but not public ABI (swift/stdlib/public/runtime/ConcurrencyExclusivity.inc): weak, so that a
// runtime without them is noticed by hf_recovery_tracks_exclusivity() and not by the linker.
extern void swift_task_enterThreadLocalContext(char *state) __attribute__((weak));
extern void swift_task_exitThreadLocalContext(char *state) __attribute__((weak));

/// Where the runtime keeps the head of this thread's list; NULL until that is known.
extern _Thread_local uintptr_t *hf_access_list __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Puts the head of this thread's list into an empty state of two words, and finds out where it is for the next time.
///
/// Allocates, and takes the loader's lock.
void hf_access_list_note(uintptr_t *state) __attribute__((visibility("hidden")));

#endif
