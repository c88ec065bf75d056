// Queues of jobs, by priority, and the lock that guards those of a worker.

#ifndef HF_JOB_QUEUE_H
#define HF_JOB_QUEUE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "swift_job.h"

/// Sleeps while a word has a value, until a time of CLOCK_MONOTONIC or without a limit; or for another reason (futex(2)).
static inline void hf_futex_wait(_Atomic(uint32_t) *word, uint32_t value, const struct timespec *until) {
    syscall(
        SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static inline void hf_futex_wake_one(_Atomic(uint32_t) *word) {
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

/// A lock that is held for a few instructions, by threads that may be preempted (Drepper, "Futexes Are Tricky", mutex 2).
///
/// Not of the POSIX threads library: those are counted, and a job must not seem to hold what its worker holds.
typedef struct HFQueueLock {
    _Atomic(uint32_t) word;
} HFQueueLock;

static inline void hf_queue_lock(HFQueueLock *lock) {
    uint32_t free = 0;
    if (atomic_compare_exchange_strong_explicit(
            &lock->word, &free, 1, memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) {
        hf_futex_wait(&lock->word, 2, NULL);
    }
}

static inline void hf_queue_unlock(HFQueueLock *lock) {
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2) {
        hf_futex_wake_one(&lock->word);
    }
}

/// How many classes of priorities are told apart: what a user waits for, the rest, and what may wait.
enum { HF_JOB_CLASSES = 3 };

/// TaskPriority: 0x19 is high, 0x15 is medium, 0x11 is low, 0 says nothing.
static inline int hf_job_class(const HFJob *job) {
    uint32_t priority = job->flags >> 8 & 0xff;
    if (priority == 0) {
        return 1;
    }
    return priority >= 0x19 ? 0 : priority >= 0x15 ? 1 : 2;
}

/// Jobs in the order in which they came, in each class.
typedef struct HFJobQueue {
    HFJob *first[HF_JOB_CLASSES];
    HFJob *last[HF_JOB_CLASSES];
} HFJobQueue;

/// Puts a chain of jobs of one class at the end.
static inline void hf_job_queue_append(HFJobQueue *queue, int class, HFJob *first, HFJob *last) {
    last->next = NULL;
    if (queue->last[class] != NULL) {
        queue->last[class]->next = first;
    } else {
        queue->first[class] = first;
    }
    queue->last[class] = last;
}

/// Takes the first job of the most urgent class that has one; NULL if there is none.
static inline HFJob *hf_job_queue_take(HFJobQueue *queue) {
    for (int class = 0; class < HF_JOB_CLASSES; class += 1) {
        HFJob *job = queue->first[class];
        if (job != NULL) {
            queue->first[class] = job->next;
            if (job->next == NULL) {
                queue->last[class] = NULL;
            }
            return job;
        }
    }
    return NULL;
}

/// Jobs from threads that are no workers: anybody puts one in front, and whoever takes takes all. So no place is used again while somebody
/// looks at it.
typedef struct HFJobInbox {
    _Atomic(HFJob *) newest[HF_JOB_CLASSES];
} HFJobInbox;

static inline void hf_job_inbox_put(HFJobInbox *inbox, HFJob *job) {
    _Atomic(HFJob *) *newest = &inbox->newest[hf_job_class(job)];
    HFJob *before = atomic_load_explicit(newest, memory_order_relaxed);
    do {
        job->next = before;
    } while (!atomic_compare_exchange_weak_explicit(
        newest, &before, job, memory_order_release, memory_order_relaxed));
}

static inline bool hf_job_inbox_has(HFJobInbox *inbox, int class) {
    return atomic_load_explicit(&inbox->newest[class], memory_order_relaxed) != NULL;
}

/// Takes all jobs of a class, the oldest first: a chain, and its length.
static inline HFJob *hf_job_inbox_take(HFJobInbox *inbox, int class, HFJob **last, uint32_t *count) {
    HFJob *job = atomic_exchange_explicit(&inbox->newest[class], NULL, memory_order_acquire);
    HFJob *first = NULL;
    *last = job;
    *count = 0;
    while (job != NULL) {
        HFJob *older = job->next;
        job->next = first;
        first = job;
        job = older;
        *count += 1;
    }
    return first;
}

#endif
