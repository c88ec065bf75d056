// What the Swift runtime knows of the job that a thread runs.
//
// The runtime's thread-local storage has a word for the current task, and one for the innermost record of what runs (Task.cpp,
// ActiveTask; Actor.cpp, ExecutorTrackingInfo), which lies on the stack of the function that runs the job and begins with the
// executor. swift_task_getCurrentExecutor() reads the same, but a call may have to allocate the thread's storage.

#include "job_places.h"
#include "job_state.h"
#include "runtime_state.h"

#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *swift_task_getCurrent(void) __attribute__((weak, swiftcall));

// Exported for debuggers (swift/stdlib/public/Concurrency/Debug.h).
extern uint32_t _swift_concurrency_debug_internal_layout_version __attribute__((weak));
extern const uintptr_t _swift_concurrency_debug_asyncTaskSize __attribute__((weak));

enum { known_layout = 1 };

bool hf_task_layout_is_known(void) {
    return &_swift_concurrency_debug_internal_layout_version != NULL &&
           _swift_concurrency_debug_internal_layout_version == known_layout;
}

size_t hf_task_size(void) {
    return &_swift_concurrency_debug_asyncTaskSize != NULL ? _swift_concurrency_debug_asyncTaskSize : 0;
}

static _Atomic(bool) is_status_known;

bool hf_task_status_is_known(void) { return atomic_load_explicit(&is_status_known, memory_order_acquire); }

/// Job::Flags has the same priority as the status, and this task runs.
static void confirm_status(uintptr_t task) {
    uint32_t flags = *(const uint32_t *)(task + 32);
    uint32_t status = *(const uint32_t *)(task + HF_TASK_STATUS_OFFSET);
    bool agrees = hf_task_layout_is_known() && (flags >> 8 & 0xff) != 0 && (status & 0xff) == (flags >> 8 & 0xff) &&
                  (status & (HF_TASK_RUNNING | HF_TASK_QUEUED | HF_TASK_COMPLETE)) == HF_TASK_RUNNING;
    atomic_store_explicit(&is_status_known, agrees, memory_order_release);
}

HFJobPlaces hf_job_places;

/// The word of the task in the library's storage.
static ptrdiff_t task_offset = nowhere;

/// Finds the only word with a value; `nowhere` if there is none, or more than one.
static ptrdiff_t find_word(const HFLibraryStorage *storage, uintptr_t value) {
    ptrdiff_t found = nowhere;
    for (size_t i = 0; i < storage->words; i += 1) {
        if (storage->first[i] == value) {
            if (found != nowhere) {
                return nowhere;
            }
            found = (ptrdiff_t)i;
        }
    }
    return found;
}

/// Finds the word that points to the record of what runs: on the stack, and with the executors of this very job in it. Where the standard
/// library is static, its storage is a part of the program's, and there other words lead to the stack, too.
static ptrdiff_t find_record(const HFLibraryStorage *storage, const HFCalloutStack *stack, const uint64_t executor[2]) {
    ptrdiff_t found = nowhere;
    for (size_t i = 0; i < storage->words; i += 1) {
        uintptr_t place = storage->first[i];
        if (place < stack->low || place % sizeof(uintptr_t) != 0 || place + 4 * sizeof(uintptr_t) > stack->high) {
            continue;
        }
        // ExecutorTrackingInfo: the serial executor, of which there is none here, and the task's.
        const uintptr_t *record = (const uintptr_t *)place;
        if (record[0] != 0 || record[2] != executor[0] || record[3] != executor[1]) {
            continue;
        }
        if (found != nowhere) {
            return nowhere;
        }
        found = (ptrdiff_t)i;
    }
    return found;
}

bool hf_job_state_find(const uint64_t executor[2]) {
    HFLibraryStorage storage;
    const HFRecoveryPoint *point = hf_current_recovery_point;
    if (swift_task_getCurrent == NULL || point == NULL ||
        !hf_find_library_storage((const void *)(uintptr_t)swift_task_getCurrent, &storage)) {
        return false;
    }
    uintptr_t task = (uintptr_t)swift_task_getCurrent();
    ptrdiff_t record = find_record(&storage, point->stack, executor);
    task_offset = find_word(&storage, task);
    if (task == 0 || task_offset == nowhere || record == nowhere) {
        return false;
    }
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    hf_job_places.task = (ptrdiff_t)((uintptr_t)&storage.first[task_offset] - thread);
    hf_job_places.record = (ptrdiff_t)((uintptr_t)&storage.first[record] - thread);
    confirm_status(task);
    return true;
}

bool hf_job_state_confirm(void) {
    HFLibraryStorage storage;
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    bool agrees = task_offset != nowhere && swift_task_getCurrent != NULL &&
                  hf_find_library_storage((const void *)(uintptr_t)swift_task_getCurrent, &storage) &&
                  (uintptr_t)&storage.first[task_offset] == thread + (uintptr_t)hf_job_places.task;
    atomic_store_explicit(&hf_job_places.are_known, agrees, memory_order_release);
    return agrees;
}

bool hf_job_state_places(ptrdiff_t *task, ptrdiff_t *record) {
    *task = hf_job_places.task;
    *record = hf_job_places.record;
    return atomic_load_explicit(&hf_job_places.are_known, memory_order_acquire);
}

/// Reads a word that may be gone by now.
static uintptr_t word_at(uintptr_t place) {
    uintptr_t word = 0;
    struct iovec local = {&word, sizeof word};
    struct iovec remote = {(void *)place, sizeof word};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof word ? word : 0;
}

uintptr_t hf_job_state_actor(uintptr_t thread) {
    if (thread == 0 || !atomic_load_explicit(&hf_job_places.are_known, memory_order_acquire)) {
        return 0;
    }
    uintptr_t record = word_at(thread + (uintptr_t)hf_job_places.record);
    return record == 0 ? 0 : word_at(record);
}
