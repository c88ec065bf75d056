// Where the Swift runtime keeps what it knows of the job that a thread runs.

#ifndef HF_JOB_PLACES_H
#define HF_JOB_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/// Where the words are, relative to the thread's control block. The library was loaded with the program, so its storage lies at the same
/// distance in every thread (Drepper, "ELF Handling For Thread-Local Storage", 4.1: static storage).
typedef struct HFJobPlaces {
    /// The word with the current task.
    ptrdiff_t task;
    /// The word with the address of the record of what runs.
    ptrdiff_t record;
    /// Both were found, and confirmed on another thread.
    _Atomic bool are_known;
} HFJobPlaces;

extern HFJobPlaces hf_job_places __attribute__((visibility("hidden")));

#endif
