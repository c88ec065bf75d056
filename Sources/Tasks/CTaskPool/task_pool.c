// The workers: where jobs wait, who runs them, and what becomes of a thread on which one was abandoned.
//
// A worker has a queue of its own, for what its jobs enqueue; other threads put jobs into an inbox. A worker without work searches the
// inbox and the queues of the others before it sleeps. At most one sleeping worker is woken at a time: it wakes the next one when it has
// found something. So a burst of jobs costs one wake, and no job waits while a worker sleeps: who enqueues publishes the job before it
// looks for sleepers, and who falls asleep is marked as sleeping before it looks for jobs (both sequentially consistent).

#include "task_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "job_queue.h"
#include "job_timers.h"
#include "task_hooks.h"
#include "task_switch.h"
#include "thread_state.h"

// Longer than any cache line, and than the pair that the prefetcher of x86-64 takes.
#define OWN_LINES _Alignas(128)

/// Where a worker is.
enum { running = 0, asleep = 1, woken = 2 };

typedef struct HFWorker {
    OWN_LINES HFQueueLock lock;
    // Protected by `lock`.
    HFJobQueue queue;
    /// How many jobs are in `queue`: changed with the lock held, looked at without.
    _Atomic(uint32_t) count;

    // The rest is the worker's own, but for the atomics.
    /// Runs next, whatever waits: see hf_task_pool_run_next().
    HFJob *next;
    /// How many jobs were run as the next one, one after the other.
    uint32_t next_row;
    uint32_t turn;
    HFCalloutStack *stack;
    /// What a fault handler reads of the job that runs, if that is one of a scope, and the label that it says.
    HFCalloutInfo *info;
    const HFTaskLabel *label;
    /// Jobs begun and ended. Odd while one runs.
    _Atomic(uint64_t) progress;
    /// The scope of the job that runs.
    _Atomic(const HFTaskScope *) scope;
    _Atomic(int32_t) thread;
    /// The thread's control block, as pthread_self(3) has it.
    _Atomic(uintptr_t) control_block;
    /// How far the worker was when it was last looked at, by the thread of the timers.
    uint64_t seen_progress;

    OWN_LINES _Atomic(uint32_t) state;
    uint32_t index;
    /// Whether a thread runs this worker.
    _Atomic(bool) is_used;
    /// Whether the bell is to be rung when the next job has begun. The worker's own.
    bool must_ring;
} HFWorker;

typedef struct HFTaskEntry {
    HFJob *job;
    uint64_t executor[2];
} HFTaskEntry;

extern void hf_task_enter(void *entry) __attribute__((visibility("hidden")));

static HFWorker workers[HF_TASK_POOL_MOST_WORKERS];
static HFTaskPoolConfiguration configuration;
/// How many of `workers` were ever used: those behind were not.
static _Atomic(uint32_t) used_workers;
static _Atomic(bool) is_started;
static HFJobInbox inbox;
/// A bit for each worker that sleeps.
static OWN_LINES _Atomic(uint64_t) sleepers;
/// How many workers search for work, or were just woken to do so.
static OWN_LINES _Atomic(uint32_t) searchers;
/// How many threads run more workers than were asked for, because others were blocked or stand still.
static _Atomic(uint32_t) extra_workers;

/// Called when a worker begins to work after it slept; NULL for nobody.
static _Atomic(HFTaskPoolBell) bell;
static _Atomic(HFTaskPoolBell) end_bell;

static _Thread_local HFWorker *own_worker;
static _Thread_local bool runs_next;

static void *hf_task_worker_run(void *argument);

// MARK: Waking

static void wake_one(void) {
    uint64_t mask = atomic_load(&sleepers);
    while (mask != 0) {
        uint32_t index = (uint32_t)__builtin_ctzll(mask);
        if (atomic_compare_exchange_weak(&sleepers, &mask, mask & ~(1ull << index))) {
            // It begins as a searcher, so that nobody else is woken until it has looked.
            atomic_fetch_add(&searchers, 1);
            atomic_store(&workers[index].state, woken);
            hf_futex_wake_one(&workers[index].state);
            return;
        }
    }
}

/// Whether somebody is to look whether the workers get on.
static _Atomic(bool) looks_around;

/// Has a job found that was just published.
static void announce(void) {
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers, memory_order_relaxed) != 0) {
        if (atomic_load_explicit(&searchers, memory_order_relaxed) == 0) {
            wake_one();
        }
    } else if (!atomic_load_explicit(&looks_around, memory_order_relaxed) &&
               !atomic_exchange_explicit(&looks_around, true, memory_order_acq_rel)) {
        hf_job_timers_look_around();
    }
}

// MARK: Enqueuing

static void append(HFWorker *worker, int class, HFJob *first, HFJob *last, uint32_t count) {
    hf_queue_lock(&worker->lock);
    hf_job_queue_append(&worker->queue, class, first, last);
    atomic_store_explicit(
        &worker->count, atomic_load_explicit(&worker->count, memory_order_relaxed) + count, memory_order_relaxed);
    hf_queue_unlock(&worker->lock);
}

/// How many jobs in a row may pass those that wait.
enum { longest_row = 16 };

/// Whether a job waits that this worker would run.
static bool has_others(HFWorker *worker) {
    if (atomic_load_explicit(&worker->count, memory_order_relaxed) != 0) {
        return true;
    }
    for (int class = 0; class < HF_JOB_CLASSES; class += 1) {
        if (hf_job_inbox_has(&inbox, class)) {
            return true;
        }
    }
    return false;
}

void hf_task_pool_enqueue(void *pointer, const HFTaskScope *scope) {
    HFJob *job = pointer;
    job->scope = scope;
    HFWorker *worker = own_worker;
    if (worker == NULL) {
        hf_job_inbox_put(&inbox, job);
    } else if (runs_next && worker->next == NULL && (worker->next_row < longest_row || !has_others(worker))) {
        runs_next = false;
        worker->next = job;
        return;
    } else {
        runs_next = false;
        append(worker, hf_job_class(job), job, job, 1);
    }
    announce();
}

void hf_task_pool_run_next(bool is_wanted) { runs_next = is_wanted && own_worker != NULL; }

const HFTaskScope *hf_task_pool_current_scope(void) { return own_worker != NULL ? atomic_load(&own_worker->scope) : NULL; }

bool hf_task_pool_is_worker(void) { return own_worker != NULL; }

// MARK: Finding

/// Takes a job out of a worker's queue.
static HFJob *take(HFWorker *worker) {
    if (atomic_load_explicit(&worker->count, memory_order_relaxed) == 0) {
        return NULL;
    }
    hf_queue_lock(&worker->lock);
    HFJob *job = hf_job_queue_take(&worker->queue);
    if (job != NULL) {
        atomic_store_explicit(
            &worker->count, atomic_load_explicit(&worker->count, memory_order_relaxed) - 1, memory_order_relaxed);
    }
    hf_queue_unlock(&worker->lock);
    return job;
}

/// Takes what came from other threads, of the classes up to one: returns the first job, and puts the others into the worker's queue.
static HFJob *take_from_inbox(HFWorker *worker, int last_class) {
    HFJob *found = NULL;
    bool has_more = false;
    for (int class = 0; class <= last_class; class += 1) {
        if (!hf_job_inbox_has(&inbox, class)) {
            continue;
        }
        HFJob *last;
        uint32_t count;
        HFJob *first = hf_job_inbox_take(&inbox, class, &last, &count);
        if (first != NULL && found == NULL) {
            found = first;
            first = first->next;
            count -= 1;
        }
        if (count > 0) {
            append(worker, class, first, last, count);
            has_more = true;
        }
    }
    if (has_more) {
        announce();
    }
    return found;
}

/// Takes a job from another worker.
static HFJob *steal(HFWorker *worker) {
    uint32_t count = atomic_load_explicit(&used_workers, memory_order_acquire);
    for (uint32_t i = 1; i < count; i += 1) {
        HFJob *job = take(&workers[(worker->index + i) % count]);
        if (job != NULL) {
            return job;
        }
    }
    return NULL;
}

static bool has_work(void) {
    for (int class = 0; class < HF_JOB_CLASSES; class += 1) {
        if (atomic_load(&inbox.newest[class]) != NULL) {
            return true;
        }
    }
    uint32_t count = atomic_load(&used_workers);
    for (uint32_t i = 0; i < count; i += 1) {
        if (atomic_load(&workers[i].count) != 0) {
            return true;
        }
    }
    return false;
}

/// How many jobs of its own a worker runs before it looks at those of others.
enum { turns_between_looks = 61 };

static HFJob *find(HFWorker *worker) {
    HFJob *job = worker->next;
    if (job != NULL) {
        worker->next = NULL;
        worker->next_row += 1;
        return job;
    }
    worker->next_row = 0;
    worker->turn += 1;
    bool is_turn_of_others = worker->turn % turns_between_looks == 0;
    // What a user waits for passes the rest.
    job = take_from_inbox(worker, is_turn_of_others ? HF_JOB_CLASSES - 1 : 0);
    if (job == NULL) {
        job = take(worker);
    }
    return job != NULL ? job : take_from_inbox(worker, HF_JOB_CLASSES - 1);
}

// MARK: Running

/// Starts a thread for a worker. Returns an error of pthread_create(3).
static int start(HFWorker *worker) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, hf_task_worker_run, worker);
    pthread_attr_destroy(&attributes);
    return error;
}

/// Ends the thread of a worker, on which a job was abandoned, and has another thread take its place.
static void retire(HFWorker *worker, const HFTaskScope *scope) {
    configuration.abandoned((HFAbandonedJob){scope, worker->label, worker->stack});
    worker->stack = NULL;
    own_worker = NULL;
    // What is to run next can be found by others meanwhile.
    if (worker->next != NULL) {
        HFJob *next = worker->next;
        worker->next = NULL;
        append(worker, hf_job_class(next), next, next, 1);
        announce();
    }
    // A process at its limit of threads gets one when this one has ended, or another one. Until then the others take what waits.
    while (start(worker) != 0) {
        struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
}

// In a section of their own, so that a walk can recognise them: they are in the executable, but not the application's.
#define WORKER_CODE __attribute__((section("hf_task_worker_code")))

static void describe(HFWorker *worker, const HFTaskLabel *label) {
    worker->label = label;
    worker->info->label = label->text;
    worker->info->item = label->item;
    worker->info->traits = label->is_shared ? HF_TRAIT_SHARED : 0;
}

void hf_task_scope_set_label(HFTaskScope *scope, const HFTaskLabel *label) {
    __atomic_store_n(&scope->label, label, __ATOMIC_RELEASE);
    HFWorker *worker = own_worker;
    if (worker != NULL && worker->info != NULL && atomic_load(&worker->scope) == scope) {
        describe(worker, label);
    }
}

/// Runs a job of a scope. Returns whether it was abandoned.
WORKER_CODE static bool hf_task_run_in_scope(HFWorker *worker, HFJob *job, const HFTaskScope *scope) {
    if (worker->stack == NULL) {
        worker->stack = hf_callout_stack_create(configuration.stack_size);
    }
    if (worker->stack == NULL) {
        // Without memory for a stack the job runs as if it had no scope: a fault in it is not resumed.
        swift_job_run_on_task_executor(job, scope->executor[0], scope->executor[1]);
        return false;
    }
    HFTaskEntry entry = {job, {scope->executor[0], scope->executor[1]}};
    HFCalloutInfo info = {
        .mode = "tasks",
        .pass = atomic_load_explicit(&worker->progress, memory_order_relaxed) / 2 + 1,
        .kind = HFCalloutKindTask,
        .nesting = 1,
    };
    worker->info = &info;
    describe(worker, hf_task_scope_label(scope));
    hf_task_settled = hf_task_switch_is_known() && hf_job_is_task(job) ? job : NULL;
    HFOutcome outcome = hf_recovery_run(worker->stack, &info, hf_task_enter, &entry);
    hf_task_settled = NULL;
    worker->info = NULL;
    return outcome == HFOutcomeAbandoned;
}

/// Sleeps until somebody has work for this worker. Returns whether it was woken to search.
static bool sleep_until_woken(HFWorker *worker, bool searches) {
    uint64_t bit = 1ull << worker->index;
    atomic_store(&worker->state, asleep);
    atomic_fetch_or(&sleepers, bit);
    if (searches) {
        atomic_fetch_sub(&searchers, 1);
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (has_work() && (atomic_fetch_and(&sleepers, ~bit) & bit) != 0) {
        // Nobody has woken it, so nobody will.
        atomic_store(&worker->state, running);
        return false;
    }
    while (atomic_load(&worker->state) == asleep) {
        hf_futex_wait(&worker->state, asleep, NULL);
    }
    atomic_store(&worker->state, running);
    return true;
}

/// Whether this thread is one too many: as many as were asked for sleep, so that none of them is blocked any more.
static bool leave(HFWorker *worker) {
    uint32_t extra = atomic_load(&extra_workers);
    while (extra > 0 && (uint32_t)__builtin_popcountll(atomic_load(&sleepers)) >= configuration.workers) {
        if (atomic_compare_exchange_weak(&extra_workers, &extra, extra - 1)) {
            atomic_store(&worker->thread, 0);
            atomic_store(&worker->is_used, false);
            return true;
        }
    }
    return false;
}

void hf_task_pool_set_bell(HFTaskPoolBell wanted) { atomic_store(&bell, wanted); }

static void ring(void) {
    HFTaskPoolBell wanted = atomic_load_explicit(&bell, memory_order_acquire);
    if (wanted != NULL) {
        wanted();
    }
}

void hf_task_pool_tell_next_end(HFTaskPoolBell wanted) { atomic_store(&end_bell, wanted); }

HFWorkerSight hf_task_pool_worker(uint32_t index) {
    HFWorkerSight sight = {0};
    HFWorker *worker = &workers[index];
    if (!atomic_load(&worker->is_used)) {
        return sight;
    }
    sight.progress = atomic_load(&worker->progress);
    const HFTaskScope *scope = atomic_load(&worker->scope);
    sight.thread = atomic_load(&worker->thread);
    sight.control_block = atomic_load(&worker->control_block);
    // Only if the scope is that of this job. It may be freed meanwhile, and so is not looked into.
    bool is_job = sight.progress % 2 == 1 && atomic_load(&worker->progress) == sight.progress;
    sight.is_in_scope = is_job && scope != NULL;
    sight.is_busy = is_job && (scope != NULL || has_work());
    return sight;
}

/// Runs a job. Returns whether the thread is to end, because the job was abandoned.
WORKER_CODE static bool hf_task_run_job(HFWorker *worker, HFJob *job) {
    uint64_t progress = atomic_load_explicit(&worker->progress, memory_order_relaxed);
    atomic_store_explicit(&worker->progress, progress + 1, memory_order_relaxed);
    const HFTaskScope *scope = job->scope;
    atomic_store_explicit(&worker->scope, scope, memory_order_release);
    if (worker->must_ring) {
        worker->must_ring = false;
        // Who falls asleep says so before it looks at the workers, and this one has begun before it looks for who sleeps.
        atomic_thread_fence(memory_order_seq_cst);
        ring();
    }
    bool is_abandoned = false;
    if (scope == NULL) {
        hf_task_candidate = hf_task_switch_is_known() && hf_job_is_task(job) ? job : NULL;
        swift_job_run(job, 0, 0);
        hf_task_candidate = hf_task_settled = NULL;
    } else {
        is_abandoned = hf_task_run_in_scope(worker, job, scope);
    }
    atomic_store_explicit(&worker->progress, progress + 2, memory_order_relaxed);
    if (is_abandoned) {
        retire(worker, scope);
    } else if (atomic_load_explicit(&end_bell, memory_order_relaxed) != NULL) {
        HFTaskPoolBell tell = atomic_exchange(&end_bell, NULL);
        if (tell != NULL) {
            tell();
        }
    }
    return is_abandoned;
}

WORKER_CODE static void *hf_task_worker_run(void *argument) {
    HFWorker *worker = argument;
    own_worker = worker;
    atomic_store(&worker->control_block, (uintptr_t)__builtin_thread_pointer());
    atomic_store(&worker->thread, (int32_t)syscall(SYS_gettid));
    pthread_setname_np(pthread_self(), "holdfast-tasks");
    (void)hf_recovery_begin_run();
    worker->must_ring = true;
    bool searches = false;
    for (;;) {
        HFJob *job = find(worker);
        if (job == NULL && !searches) {
            // More would only get into each other's way.
            uint32_t count = atomic_load_explicit(&used_workers, memory_order_relaxed);
            if (2 * atomic_load(&searchers) < count) {
                atomic_fetch_add(&searchers, 1);
                searches = true;
            }
        }
        if (job == NULL && searches) {
            job = steal(worker);
        }
        if (job == NULL) {
            if (!has_work() && leave(worker)) {
                if (searches) {
                    atomic_fetch_sub(&searchers, 1);
                }
                return NULL;
            }
            searches = sleep_until_woken(worker, searches);
            worker->must_ring = true;
            continue;
        }
        if (searches) {
            searches = false;
            if (atomic_fetch_sub(&searchers, 1) == 1 && has_work()) {
                // Who published it saw a searcher, and woke nobody.
                announce();
            }
        }
        if (hf_task_run_job(worker, job)) {
            return NULL;
        }
    }
}

// MARK: Blocked workers

// A job that waits in the kernel, for a lock or a disk, keeps its worker from others. libdispatch's pool looks once a second how many of its
// threads run, and makes more (libdispatch, src/event/workqueue.c). So does this one, when jobs wait and no worker gets on.

/// Starts a thread for a worker that has none.
static bool add_worker(void) {
    for (uint32_t i = 0; i < HF_TASK_POOL_MOST_WORKERS; i += 1) {
        bool is_used = false;
        if (!atomic_compare_exchange_strong(&workers[i].is_used, &is_used, true)) {
            continue;
        }
        uint32_t count = atomic_load(&used_workers);
        while (count <= i && !atomic_compare_exchange_weak(&used_workers, &count, i + 1)) {
        }
        atomic_fetch_add(&extra_workers, 1);
        if (start(&workers[i]) != 0) {
            atomic_fetch_sub(&extra_workers, 1);
            atomic_store(&workers[i].is_used, false);
            return false;
        }
        return true;
    }
    return false;
}

void hf_task_pool_look_around(void) {
    atomic_store(&looks_around, false);
    if (!has_work()) {
        return;
    }
    bool gets_on = false;
    uint32_t blocked = 0;
    uint32_t count = atomic_load(&used_workers);
    for (uint32_t i = 0; i < count; i += 1) {
        HFWorker *worker = &workers[i];
        if (!atomic_load(&worker->is_used)) {
            continue;
        }
        uint64_t progress = atomic_load(&worker->progress);
        // One that sleeps for want of work has been woken, or will be.
        bool is_blocked = progress % 2 == 1 && progress == worker->seen_progress && atomic_load(&worker->state) == running;
        worker->seen_progress = progress;
        if (is_blocked) {
            char state = hf_thread_state(atomic_load(&worker->thread));
            is_blocked = state == 'S' || state == 'D';
        }
        gets_on = gets_on || !is_blocked;
        blocked += is_blocked;
    }
    // Jobs that fault come together, and each one blocks another worker: twice as many are sooner enough than one more each time.
    uint32_t wanted = gets_on ? 0 : hf_job_timers_is_hasty() ? blocked : 1;
    while (wanted > 0 && add_worker()) {
        wanted -= 1;
    }
    if (!atomic_exchange(&looks_around, true)) {
        hf_job_timers_look_around();
    }
}

bool hf_task_pool_find_running(const HFTaskScope *scope, uint32_t *next, HFRunningJob *found) {
    uint32_t count = atomic_load(&used_workers);
    while (*next < count) {
        HFWorker *worker = &workers[*next];
        *next += 1;
        uint64_t progress = atomic_load(&worker->progress);
        // Read behind the number and before it is read again: it is of that job, if the number has not changed.
        if (progress % 2 == 1 && atomic_load(&worker->scope) == scope && atomic_load(&worker->progress) == progress) {
            *found = (HFRunningJob){atomic_load(&worker->thread), (const uint64_t *)&worker->progress, progress};
            return true;
        }
    }
    return false;
}

void hf_task_pool_replace_parked(int32_t thread) {
    uint32_t count = atomic_load(&used_workers);
    for (uint32_t i = 0; i < count; i += 1) {
        if (atomic_load(&workers[i].is_used) && atomic_load(&workers[i].thread) == thread) {
            add_worker();
            return;
        }
    }
}

// MARK: Starting

uint32_t hf_task_pool_processors(void) {
    cpu_set_t processors;
    int count = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    return count < 1 ? 1 : count > HF_TASK_POOL_MOST_WORKERS ? HF_TASK_POOL_MOST_WORKERS : (uint32_t)count;
}

int hf_task_pool_start(HFTaskPoolConfiguration wanted) {
    if (swift_job_run == NULL || swift_job_run_on_task_executor == NULL) {
        return ENOSYS;
    }
    if (wanted.workers < 1 || wanted.workers > HF_TASK_POOL_MOST_WORKERS) {
        return EINVAL;
    }
    if (atomic_exchange(&is_started, true)) {
        return EALREADY;
    }
    configuration = wanted;
    for (uint32_t i = 0; i < HF_TASK_POOL_MOST_WORKERS; i += 1) {
        workers[i].index = i;
    }
    int error = hf_job_timers_start();
    for (uint32_t i = 0; i < wanted.workers && error == 0; i += 1) {
        atomic_store(&workers[i].is_used, true);
        atomic_store(&used_workers, i + 1);
        error = start(&workers[i]);
    }
    if (error != 0) {
        return error;
    }
    if (!wanted.is_global) {
        return 0;
    }
    return hf_task_hooks_install() ? 0 : ENOTSUP;
}
