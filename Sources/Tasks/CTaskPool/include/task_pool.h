// Threads that run the jobs of Swift tasks: instead of libdispatch's, and so that a job that faults can be abandoned.
//
// The Swift runtime asks a hook where to put each job that belongs to no other executor (swift/include/swift/Runtime/Concurrency.h,
// swift_task_enqueueGlobal_hook). hf_task_pool_start() sets these hooks. Jobs of a scope come by hf_task_pool_enqueue() instead.
//
// Life of a job: enqueued -> found by a worker -> run -> the runtime has freed it, or has kept it for the next suspension. A job of a scope
// runs on a callout stack above a recovery point. If it faults and is abandoned, its thread ends and another one takes its place: what the
// runtime keeps for the thread refers to the abandoned frames. In C, because the hooks have Swift's calling convention, which Swift cannot
// write down, and because a worker must run no code of the program after a job was abandoned on its thread.

#ifndef HF_TASK_POOL_H
#define HF_TASK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recovery_point.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What scopes are called and counted by. Never changed and never freed: a fault handler may read it when the scope is gone.
typedef struct HFTaskLabel {
    /// NUL-terminated UTF-8.
    const char *_Nonnull text;
    /// Its number, unique among the items of the process; 0 for one that is not counted.
    uint64_t item;
    /// Whether it stands for many routes, so that what faults at one of them must not cost the others.
    bool is_shared;
    /// The object that it is part of.
    void *_Nullable owner;
} HFTaskLabel;

/// What jobs belong to that may be abandoned: a fault boundary. Every job of it runs on its task executor.
typedef struct HFTaskScope {
    /// The two words of its UnownedTaskExecutor.
    uint64_t executor[2];
    /// Atomic, once the scope has jobs: hf_task_scope_label(), hf_task_scope_set_label().
    const HFTaskLabel *_Nonnull label;
    /// The object that it is part of, for whoever hears of an abandoned job.
    void *_Null_unspecified owner;
    /// Cancels the body: called with the owner, by whoever cancels a caller of hf_task_scope_hear_cancel(), on its thread.
    void (*_Null_unspecified cancel)(void *_Null_unspecified owner);
    // The rest is that of task_scopes.c.
    /// The task of its body; 0 before it was made.
    uint64_t task;
    /// When it was opened, in nanoseconds of CLOCK_MONOTONIC.
    int64_t opened;
    struct HFTaskScope *_Nullable next;
    struct HFTaskScope *_Nullable previous;
    bool is_open;
    /// What the task of its body is lent; NULL if it is lent nothing.
    struct HFTaskSlab *_Nullable slab;
} HFTaskScope;

/// Makes a scope, whose owner and executor are still to be set; NULL without memory.
HFTaskScope *_Nullable hf_task_scope_make(const HFTaskLabel *_Nonnull label);

/// Frees a scope that is not open, and has no jobs.
void hf_task_scope_free(HFTaskScope *_Nonnull scope);

/// The label of a scope. Callable from any thread.
static inline const HFTaskLabel *_Nonnull hf_task_scope_label(const HFTaskScope *_Nonnull scope) {
    return __atomic_load_n(&scope->label, __ATOMIC_ACQUIRE);
}

/// Gives a scope another label, which holds for the running job, too, if that is one of the scope. Callable from any thread.
void hf_task_scope_set_label(HFTaskScope *_Nonnull scope, const HFTaskLabel *_Nonnull label);

/// Puts a scope into the list of those that are open. Callable from any thread.
void hf_task_scope_open(HFTaskScope *_Nonnull scope);

/// Says which task runs the body. Callable from any thread.
void hf_task_scope_set_task(HFTaskScope *_Nonnull scope, uint64_t task);

/// Takes it out of the list, unless it was taken out before. The caller keeps the owner alive. Callable from any thread.
void hf_task_scope_close(HFTaskScope *_Nonnull scope);

/// Begins the body of an open scope, in its task.
void hf_task_scope_begin_body(HFTaskScope *_Nonnull scope);

/// Ends it, in the same async function, and closes the scope.
void hf_task_scope_end_body(HFTaskScope *_Nonnull scope);

/// Has the scope's `cancel` called when the running task is cancelled; at once if it is already.
///
/// Returns what to give to hf_task_scope_ignore_cancel(). It comes from the task's own memory, which is a stack: between the two calls, in one
/// async function, the task has to give back what it takes. NULL if there is nothing to take back.
void *_Nullable hf_task_scope_hear_cancel(HFTaskScope *_Nonnull scope);

/// Takes it back, in the same task. When it returns, `cancel` does not run and will not be called.
void hf_task_scope_ignore_cancel(void *_Nullable record);

/// An open scope.
typedef struct HFOpenScope {
    /// Its owner, once more retained.
    void *_Nullable owner;
    uint64_t task;
    int64_t opened;
} HFOpenScope;

/// Copies open scopes, in no order, and retains their owners by a function that takes no lock.
///
/// Returns how many are open, of which at most `capacity` are copied. Callable from any thread.
size_t hf_task_scopes_copy(HFOpenScope *_Nonnull scopes, size_t capacity, void (*_Nonnull retain)(void *_Nonnull owner));

/// A job that was abandoned.
typedef struct HFAbandonedJob {
    /// Its scope. It stays valid: the abandoned task still has its executor.
    const HFTaskScope *_Nonnull scope;
    /// What the job was judged by: its scope may have another label by now.
    const HFTaskLabel *_Nonnull label;
    /// The stack with its frames.
    HFCalloutStack *_Nonnull stack;
} HFAbandonedJob;

/// Is told of an abandoned job, on its thread, which ends soon: the abandoned task is still current there. It may start tasks, no more.
typedef void (*HFAbandonedJobHandler)(HFAbandonedJob job);

/// What hf_task_pool_start() needs to know.
typedef struct HFTaskPoolConfiguration {
    /// How many threads run jobs at the same time, 1 to HF_TASK_POOL_MOST_WORKERS.
    uint32_t workers;
    /// The size of the stacks on which jobs of scopes run, in bytes.
    size_t stack_size;
    HFAbandonedJobHandler _Nonnull abandoned;
    /// Whether jobs of no executor come here, too. Otherwise they stay with the executor that the runtime has.
    bool is_global;
} HFTaskPoolConfiguration;

enum { HF_TASK_POOL_MOST_WORKERS = 64 };

/// How many processors this process may use (sched_getaffinity(2)), 1 at least.
uint32_t hf_task_pool_processors(void);

/// Starts the pool, once in a process. Returns 0, or an error of pthread_create(3).
///
/// EALREADY: it was started before. ENOTSUP: another executor has the runtime's hooks, so that only jobs of scopes come here; the pool runs.
/// Not safe to call from a signal handler.
int hf_task_pool_start(HFTaskPoolConfiguration configuration);

/// Puts a job into the pool: a swift::Job, of a scope or NULL for none.
///
/// Safe on any thread; allocates nothing. The scope must stay valid until the job has run.
void hf_task_pool_enqueue(void *_Nonnull job, const HFTaskScope *_Nullable scope);

/// Has the next job that this thread enqueues run on this very thread, after the job that runs now, without waking another worker; or takes
/// that back.
///
/// For whoever is about to wait for that job. Take it back at once if the job may have gone to another executor. On other threads than
/// workers it does nothing.
void hf_task_pool_run_next(bool is_wanted);

/// Whether the calling thread is one of the pool's workers.
bool hf_task_pool_is_worker(void);

/// The scope of the job that runs on this thread; NULL for none.
const HFTaskScope *_Nullable hf_task_pool_current_scope(void);

/// From now on a task that stays where it is costs nothing to switch (task_switch.S). To be called once what hf_job_state_find() has found is
/// confirmed.
void hf_task_pool_settle_tasks(void);

/// The scope that the running task belongs to, if that is cheap to tell; NULL also if it is not.
const HFTaskScope *_Nullable hf_task_pool_settled_scope(void);

/// How a task takes memory, and gives it back.
typedef __attribute__((swiftcall)) void *_Nonnull (*HFTaskAlloc)(size_t size);
typedef __attribute__((swiftcall)) void (*HFTaskDealloc)(void *_Nonnull piece);
typedef struct HFTaskMemory {
    HFTaskAlloc _Nonnull alloc;
    HFTaskDealloc _Nonnull dealloc;
} HFTaskMemory;

/// Whether two ways to do so are the same, piece by piece and word by word, and as task_memory.S expects it. To be called within a task.
bool hf_task_memory_agrees(const HFTaskMemory *_Nonnull runtime, const HFTaskMemory *_Nonnull own);

/// Whether the running task may be lent a slab: the runtime chains them as task_slabs.c expects it. To be called where hf_task_memory_agrees()
/// says so for `runtime`.
bool hf_task_slab_agrees(const HFTaskMemory *_Nonnull runtime);

/// Whether tasks take their memory by the functions of task_memory.S. Safe on any thread.
bool hf_task_memory_is_used(void);

/// What a worker does.
typedef struct HFWorkerSight {
    /// Jobs begun and ended: odd while one runs.
    uint64_t progress;
    /// Its thread (gettid(2)).
    int32_t thread;
    /// The thread's control block, as pthread_self(3) has it.
    uintptr_t control_block;
    /// Whether the job that runs is one of a scope.
    bool is_in_scope;
    /// Whether somebody waits for the job that runs: whoever called its scope, or jobs that wait for a worker.
    bool is_busy;
} HFWorkerSight;

/// What a worker does at this moment; index is less than HF_TASK_POOL_MOST_WORKERS. Safe on any thread.
HFWorkerSight hf_task_pool_worker(uint32_t index);

typedef void (*HFTaskPoolBell)(void);

/// Has a function called, on the worker's thread, when a worker has begun a job after it slept. It must be short.
void hf_task_pool_set_bell(HFTaskPoolBell _Nullable bell);

/// Has a function called, once, on the worker's thread, when a job has ended that was not abandoned. It must be short.
void hf_task_pool_tell_next_end(HFTaskPoolBell _Nullable wanted);

/// A job that runs.
typedef struct HFRunningJob {
    /// Its thread (gettid(2)).
    int32_t thread;
    /// A word that has another value when the job is over, and its value while the job runs. Never freed.
    const uint64_t *_Nullable word;
    uint64_t value;
} HFRunningJob;

/// Finds a job of a scope that runs, beginning at a number that it moves on, 0 at first. Returns false if there is no other one. Safe on any
/// thread.
bool hf_task_pool_find_running(const HFTaskScope *_Nonnull scope, uint32_t *_Nonnull next, HFRunningJob *_Nonnull found);

/// Has one more worker started if a thread (gettid(2)) is one of the pool's: it stands still in a fault handler until the process is replaced.
/// Safe on any thread.
void hf_task_pool_replace_parked(int32_t thread);

/// Says whether a worker that faults stands still for long, as it does until the program's symbols are read. While they do, blocked workers are
/// looked for every millisecond that jobs wait, else every 20. Safe on any thread.
void hf_task_pool_set_hasty(bool is_wanted);

/// Runs a job of the runtime's that faults nowhere, and notes through which functions of the runtime it came: those are between every job of
/// a scope and its recovery point. Called once, by that job's body. Returns whether they were recognised.
bool hf_task_pool_note_runners(void);

/// Whether an address is in the functions of a worker that call the runtime: what is outside of them is the thread's beginning. Safe to call
/// from a signal handler.
bool hf_task_pool_is_worker_code(uint64_t address);

/// Whether an address is in the functions of task_memory.S. Safe to call from a signal handler.
bool hf_task_pool_is_memory_code(uint64_t address);

/// Whether an address is a return address in the runtime's functions that run a job of a scope. Safe to call from a signal handler.
bool hf_task_pool_is_runner(uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
