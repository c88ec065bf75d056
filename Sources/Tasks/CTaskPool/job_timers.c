#include "job_timers.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "job_queue.h"
#include "task_pool.h"

typedef struct Timer {
    uint64_t time;
    /// Timers of one time come in their order.
    uint64_t number;
    HFJob *job;
} Timer;

enum { nanoseconds_per_second = 1000000000 };

static HFQueueLock lock;
// Protected by `lock`: a binary heap, the earliest timer first.
static Timer *timers;
static size_t timer_count;
static size_t timer_capacity;
static uint64_t next_number;
/// When hf_task_pool_look_around() is due; UINT64_MAX for never.
static uint64_t next_look = UINT64_MAX;
/// When the thread will wake by itself; 0 while it is awake.
static uint64_t wakes_at;

/// Grows when the thread is to look again; it sleeps on it (futex(2)).
static _Atomic(uint32_t) changes;

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * nanoseconds_per_second + (uint64_t)time.tv_nsec;
}

static bool is_before(const Timer *left, const Timer *right) {
    return left->time != right->time ? left->time < right->time : left->number < right->number;
}

static void sift_up(size_t index, Timer timer) {
    while (index > 0 && is_before(&timer, &timers[(index - 1) / 2])) {
        timers[index] = timers[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    timers[index] = timer;
}

static void sift_down(size_t index, Timer timer) {
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= timer_count) {
            break;
        }
        if (child + 1 < timer_count && is_before(&timers[child + 1], &timers[child])) {
            child += 1;
        }
        if (!is_before(&timers[child], &timer)) {
            break;
        }
        timers[index] = timers[child];
        index = child;
    }
    timers[index] = timer;
}

/// Wakes the thread if it would wake too late. Called with the lock held, which it lets go.
static void unlock_and_wake(uint64_t time) {
    bool must_wake = time < wakes_at;
    hf_queue_unlock(&lock);
    if (must_wake) {
        atomic_fetch_add_explicit(&changes, 1, memory_order_release);
        hf_futex_wake_one(&changes);
    }
}

void hf_job_timers_add(uint64_t nanoseconds, HFJob *job) {
    uint64_t time;
    if (__builtin_add_overflow(now(CLOCK_MONOTONIC), nanoseconds, &time)) {
        time = UINT64_MAX - 1;
    }
    hf_queue_lock(&lock);
    if (timer_count == timer_capacity) {
        size_t capacity = timer_capacity == 0 ? 64 : 2 * timer_capacity;
        Timer *larger = realloc(timers, capacity * sizeof *timers);
        if (larger == NULL) {
            abort();
        }
        timers = larger;
        timer_capacity = capacity;
    }
    timer_count += 1;
    next_number += 1;
    sift_up(timer_count - 1, (Timer){time, next_number, job});
    unlock_and_wake(time);
}

uint64_t hf_job_timers_left(int64_t seconds, int64_t nanoseconds, int clock) {
    // swift_clock_id_continuous: the machine's sleep counts (swift/stdlib/public/Concurrency/Clock.cpp).
    int64_t time = (int64_t)now(clock == 1 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC);
    int64_t due;
    if (__builtin_mul_overflow(seconds, (int64_t)nanoseconds_per_second, &due) ||
        __builtin_add_overflow(due, nanoseconds, &due)) {
        return seconds < 0 ? 0 : UINT64_MAX;
    }
    return due > time ? (uint64_t)(due - time) : 0;
}

/// How long jobs may wait before somebody looks whether the workers get on, in nanoseconds.
static const uint64_t patience = 20 * 1000 * 1000;
/// The same, while workers that fault stand still for long.
static const uint64_t short_patience = 1000 * 1000;
static _Atomic(bool) is_hasty;

void hf_task_pool_set_hasty(bool is_wanted) { atomic_store(&is_hasty, is_wanted); }

bool hf_job_timers_is_hasty(void) { return atomic_load_explicit(&is_hasty, memory_order_relaxed); }

void hf_job_timers_look_around(void) {
    uint64_t time = now(CLOCK_MONOTONIC) + (hf_job_timers_is_hasty() ? short_patience : patience);
    hf_queue_lock(&lock);
    if (next_look <= time) {
        hf_queue_unlock(&lock);
        return;
    }
    next_look = time;
    unlock_and_wake(time);
}

/// Takes the earliest timer if it is due. Called with the lock held.
static HFJob *take_due(uint64_t time) {
    if (timer_count == 0 || timers[0].time > time) {
        return NULL;
    }
    HFJob *job = timers[0].job;
    timer_count -= 1;
    if (timer_count > 0) {
        sift_down(0, timers[timer_count]);
    }
    return job;
}

static void *hf_job_timers_run(void *argument) {
    (void)argument;
    pthread_setname_np(pthread_self(), "holdfast-timers");
    hf_queue_lock(&lock);
    for (;;) {
        wakes_at = 0;
        uint64_t time = now(CLOCK_MONOTONIC);
        HFJob *job = take_due(time);
        if (job != NULL) {
            hf_queue_unlock(&lock);
            hf_task_pool_enqueue(job, NULL);
            hf_queue_lock(&lock);
            continue;
        }
        if (next_look <= time) {
            next_look = UINT64_MAX;
            hf_queue_unlock(&lock);
            hf_task_pool_look_around();
            hf_queue_lock(&lock);
            continue;
        }
        uint64_t until = timer_count > 0 && timers[0].time < next_look ? timers[0].time : next_look;
        wakes_at = until;
        uint32_t seen = atomic_load_explicit(&changes, memory_order_acquire);
        hf_queue_unlock(&lock);
        struct timespec deadline = {
            .tv_sec = (time_t)(until / nanoseconds_per_second), .tv_nsec = (long)(until % nanoseconds_per_second)};
        hf_futex_wait(&changes, seen, until == UINT64_MAX ? NULL : &deadline);
        hf_queue_lock(&lock);
    }
    return NULL;
}

int hf_job_timers_start(void) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, hf_job_timers_run, NULL);
    if (error == 0) {
        pthread_detach(thread);
    }
    return error;
}
