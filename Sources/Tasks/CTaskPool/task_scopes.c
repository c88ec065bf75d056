// The scopes that are open, for whoever wants to know what the tasks of the process do.
//
// A list for each of some locks, by the scope's address: a server opens one for each request, on every processor. Lists of the scopes
// themselves, so that nothing is allocated.

#include "task_pool.h"

#include <stdlib.h>

#include "job_queue.h"
#include "swift_job.h"
#include "task_memory.h"

enum { list_count = 16, most_spare_slabs = 16 };

typedef struct List {
    // Longer than any cache line, and than the pair that the prefetcher of x86-64 takes.
    _Alignas(128) HFQueueLock lock;
    // Protected by `lock`, as are the links and `is_open` of its scopes.
    HFTaskScope *first;
    /// Slabs for the bodies of the next scopes.
    HFTaskSlab *spare;
    int spare_count;
} List;

static List lists[list_count];

static List *list_of(const HFTaskScope *scope) { return &lists[((uintptr_t)scope >> 6) % list_count]; }

HFTaskScope *hf_task_scope_make(const HFTaskLabel *label) {
    HFTaskScope *scope = malloc(sizeof *scope);
    if (scope != NULL) {
        *scope = (HFTaskScope){.label = label};
    }
    return scope;
}

void hf_task_scope_free(HFTaskScope *scope) { free(scope); }

void hf_task_scope_open(HFTaskScope *scope) {
    struct timespec now;
    // To some milliseconds: who reads it counts seconds (clock_getres(2)).
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    scope->opened = now.tv_sec * 1000000000LL + now.tv_nsec;
    List *list = list_of(scope);
    hf_queue_lock(&list->lock);
    scope->is_open = true;
    scope->previous = NULL;
    scope->next = list->first;
    if (scope->next != NULL) {
        scope->next->previous = scope;
    }
    list->first = scope;
    scope->slab = list->spare;
    if (scope->slab != NULL) {
        list->spare = scope->slab->next;
        list->spare_count -= 1;
    }
    hf_queue_unlock(&list->lock);
    if (scope->slab == NULL && hf_task_slabs_are_lent()) {
        scope->slab = hf_task_slab_make();
    }
}

void hf_task_scope_set_task(HFTaskScope *scope, uint64_t task) {
    __atomic_store_n(&scope->task, task, __ATOMIC_RELEASE);
}

/// Takes a scope out of its list, which is locked.
static void close_in(List *list, HFTaskScope *scope) {
    if (scope->is_open) {
        scope->is_open = false;
        if (scope->next != NULL) {
            scope->next->previous = scope->previous;
        }
        if (scope->previous != NULL) {
            scope->previous->next = scope->next;
        } else {
            list->first = scope->next;
        }
    }
}

void hf_task_scope_close(HFTaskScope *scope) {
    List *list = list_of(scope);
    hf_queue_lock(&list->lock);
    close_in(list, scope);
    hf_queue_unlock(&list->lock);
}

void hf_task_scope_begin_body(HFTaskScope *scope) {
    if (scope->slab != NULL && !hf_task_slab_lend(scope->slab)) {
        free(scope->slab);
        scope->slab = NULL;
    }
}

void hf_task_scope_end_body(HFTaskScope *scope) {
    HFTaskSlab *slab = scope->slab;
    scope->slab = NULL;
    if (slab != NULL && !hf_task_slab_take_back(slab)) {
        slab = NULL;
    }
    List *list = list_of(scope);
    hf_queue_lock(&list->lock);
    close_in(list, scope);
    if (slab != NULL && list->spare_count < most_spare_slabs) {
        slab->next = list->spare;
        list->spare = slab;
        list->spare_count += 1;
        slab = NULL;
    }
    hf_queue_unlock(&list->lock);
    free(slab);
}

size_t hf_task_scopes_copy(HFOpenScope *scopes, size_t capacity, void (*retain)(void *owner)) {
    size_t count = 0;
    for (int i = 0; i < list_count; i += 1) {
        List *list = &lists[i];
        hf_queue_lock(&list->lock);
        for (const HFTaskScope *scope = list->first; scope != NULL; scope = scope->next) {
            if (count < capacity) {
                // Who closes the scope holds its owner until then.
                retain(scope->owner);
                scopes[count] =
                    (HFOpenScope){scope->owner, __atomic_load_n(&scope->task, __ATOMIC_ACQUIRE), scope->opened};
            }
            count += 1;
        }
        hf_queue_unlock(&list->lock);
    }
    return count;
}

static HF_SWIFTCALL void cancel_owner(__attribute__((swift_context)) void *context) {
    const HFTaskScope *scope = context;
    scope->cancel(scope->owner);
}

// By themselves, because withTaskCancellationHandler(operation:onCancel:) is not inlined: it and its closures are four frames of every boundary.

void *hf_task_scope_hear_cancel(HFTaskScope *scope) {
    return swift_task_addCancellationHandler(cancel_owner, scope);
}

void hf_task_scope_ignore_cancel(void *record) {
    if (record != NULL) {
        swift_task_removeCancellationHandler(record);
    }
}
