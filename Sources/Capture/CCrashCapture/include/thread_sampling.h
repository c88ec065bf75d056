// Looking at the other threads of a process that faulted: a signal asks each to stand still while its stack is walked.
//
// The signal is SIGSTKFLT. The kernel never raises it (signal(7): unused), and nobody sends it. As a standard signal it is pending once,
// however often it is sent: a thread that blocks it uses up nothing of RLIMIT_SIGPENDING, as it would with a real-time signal.
//
// One sample: hf_async_list_threads() -> hf_async_describe_thread() and hf_async_ask_thread() for each -> hf_async_await_threads() -> for
// each that answered, hf_async_begin_walk() and hf_async_end_walk() -> hf_async_release_thread(). A thread that is never released goes on
// by itself.

#ifndef HF_THREAD_SAMPLING_H
#define HF_THREAD_SAMPLING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "crash_record.h"
#include "crash_sections.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HF_SAMPLE_SIGNAL = SIGSTKFLT };

/// Takes the signal and opens the list of threads. Unless `wanted`, leaves the signal to the program for ever.
///
/// Returns 0, EBUSY if the program has an action for the signal, or another `errno`. Unblocks the signal on the calling thread. Not safe to
/// call from a signal handler.
int hf_sample_install(bool wanted);

/// Gives the signal back, unless the handler is not ours any more.
void hf_sample_uninstall(void);

/// Whether the signal is ours: then no thread may block it, and nobody else may observe it. Safe to call from a signal handler.
bool hf_sample_owns_signal(void);

/// HF_SAMPLING_DONE if threads can be asked, else why not. For the crash thread.
uint32_t hf_async_sampling_obstacle(void);

/// Lists the threads of the process, except one, the caller, and those of Holdfast's own that wait for work.
///
/// Returns false if they cannot be listed. For the crash thread.
bool hf_async_list_threads(HFThreadSnapshot *_Nonnull snapshot, int32_t except);

/// Adds name, state and system call to an entry. Called before the thread is asked, because afterwards it waits in our handler.
///
/// Safe to call from a signal handler.
void hf_async_describe_thread(HFThreadEntry *_Nonnull entry);

/// Notes that the calling thread is one of Holdfast's own. Not safe to call from a signal handler.
void hf_own_thread_begin(void);

/// Notes that the calling thread ends.
void hf_own_thread_end(void);

/// Notes whether the calling thread waits for work: then it is not listed. Does nothing for a thread that is not Holdfast's.
void hf_own_thread_rests(bool rests);

/// Asks the thread of an entry to stand still, until `limit` on CLOCK_MONOTONIC at the latest.
///
/// Returns false if the thread has ended or is stopped, or if a restart has begun. For the crash thread.
bool hf_async_ask_thread(uint32_t index, const HFThreadEntry *_Nonnull entry, uint64_t limit);

/// Waits until the threads that were asked, of `count` entries from `first` on, stand still, or until a time on CLOCK_MONOTONIC.
///
/// Returns whether all of them do. For the crash thread.
bool hf_async_await_threads(uint32_t first, uint32_t count, uint64_t until);

/// Gives up on threads that will not answer, because they block the signal or wait for a device. For the crash thread.
void hf_async_forget_deaf_threads(uint32_t first, uint32_t count);

/// A copy of the context of a thread that stands still, or NULL. Fills in the entry's registers, and its name if it has none. A thread that
/// has not answered by now is not waited for any more. For the crash thread.
ucontext_t *_Nullable hf_async_begin_walk(uint32_t index, HFThreadEntry *_Nonnull entry);

/// Whether another fault waits for its verdict. For the crash thread.
bool hf_capture_has_waiting(void);

/// Sleeps until a fault waits for its verdict, or for a time below a second; returns whether one waits. For the crash thread.
bool hf_capture_await_fault(uint64_t nanoseconds);

/// Whether the thread has stood still all the time since hf_async_begin_walk().
bool hf_async_end_walk(uint32_t index);

/// Lets a thread go on. For the crash thread.
void hf_async_release_thread(uint32_t index);

/// Forbids further requests, and discards signals that are pending: execve(2) keeps pending signals, but resets their handlers. Safe to
/// call from a signal handler.
void hf_async_suspend_sampling(void);

/// Has no thread be asked, or undoes that. For the crash thread.
void hf_async_ask_nobody(bool nobody);

/// Undoes hf_async_suspend_sampling(). Safe to call from a signal handler.
void hf_async_continue_sampling(void);

/// The time on CLOCK_MONOTONIC in nanoseconds. Safe to call from a signal handler.
uint64_t hf_async_monotonic_nanoseconds(void);

/// Copies code before the program counter into the record. For the crash thread.
void hf_async_capture_code(HFRecord *_Nonnull record);

/// Copies stack memory and memory near the registers into an area. For the crash thread, while the thread that faulted is parked.
void hf_async_capture_memory(const HFRecord *_Nonnull record, HFMemoryArea *_Nonnull area);

/// Whether the calling thread or the process's first is traced (ptrace(2)): a debugger stops it for as long as it likes.
///
/// False where proc(5) is not mounted. Safe to call from a signal handler.
bool hf_async_is_traced(void);

// MARK: A look at one thread
//
// Looking at one thread although nothing has faulted: where it is, what it waits for, and the callout of its loop. The crash thread does
// it, because it walks stacks; faults go first. The thread is asked to stand still as for the samples of a fault. Or at one task, which
// nobody asks anything: its memory is read, and what does not verify is not told.

/// The callout of a thread's loop when the thread stood still.
typedef struct HFLookedCallout {
    uint64_t item;
    uint64_t pass;
    /// HFCalloutKind; 0 if the thread was in no callout.
    uint32_t kind;
    uint32_t activity;
    uint32_t nesting;
    uint32_t reserved;
    char mode[HF_MODE_SIZE];
    char label[HF_LABEL_SIZE];
} HFLookedCallout;

/// Where async calls are written.
typedef struct HFAwaits {
    uint64_t *_Nonnull addresses;
    uint32_t *_Nonnull count;
    uint32_t capacity;
} HFAwaits;

/// Adds an async call. Returns false if there is no room for it. Safe to call from a signal handler.
static inline bool hf_add_await(HFAwaits awaits, uint64_t address) {
    if (*awaits.count >= awaits.capacity) {
        return false;
    }
    awaits.addresses[*awaits.count] = address;
    *awaits.count += 1;
    return true;
}

static inline HFAwaits hf_record_awaits(HFRecord *_Nonnull record) {
    return (HFAwaits){record->awaits, &record->await_count, HF_MAXIMUM_AWAITS};
}

enum { HF_LOOKED_AWAITS = 64, HF_LOOKED_CHILDREN = 32 };

/// What a look saw of a task of the Swift runtime.
typedef struct HFLookedTask {
    /// Its address: the caller sets it, or 0 for a look at a thread, which has that of its current task then.
    uint64_t task;
    /// JobFlags and Job::Id; 0 if it could not be read.
    uint32_t flags;
    uint32_t id;
    /// The flags of its ActiveTaskStatus; 0 if it is not known where they are.
    uint32_t status;
    /// After how many frames of the thread the async calls come.
    uint32_t await_position;
    /// Where it goes on, and the async calls behind that, innermost first; those of a thread begin behind its frames.
    uint32_t await_count;
    uint32_t child_count;
    uint64_t awaits[HF_LOOKED_AWAITS];
    /// The first child of each group and each `async let`.
    uint64_t children[HF_LOOKED_CHILDREN];
    /// The next child of the same parent; 0 for none.
    uint64_t sibling;
} HFLookedTask;

static inline HFAwaits hf_looked_awaits(HFLookedTask *_Nonnull task) {
    return (HFAwaits){task->awaits, &task->await_count, HF_LOOKED_AWAITS};
}

/// Adds a child. Returns false if there is no room for it. Safe to call from a signal handler.
static inline bool hf_add_child(HFLookedTask *_Nonnull task, uint64_t child) {
    if (task->child_count >= HF_LOOKED_CHILDREN) {
        return false;
    }
    task->children[task->child_count] = child;
    task->child_count += 1;
    return true;
}

/// An attempt to interrupt a callout.
typedef struct HFInterruption HFInterruption;

/// What a look saw.
typedef struct HFThreadLook {
    /// The caller sets only `id`.
    HFThreadEntry entry;
    HFLookedCallout callout;
    HFLookedTask task;
    /// HF_SAMPLING_…: whether threads could be asked at all.
    uint32_t obstacle;
    uint32_t reserved;
    /// For a look that is to interrupt the thread's callout; else NULL.
    HFInterruption *_Nullable interruption;
} HFThreadLook;

/// Has the crash thread look at a thread, and waits for it.
///
/// Returns false if the crash thread did not come to it before a time on CLOCK_MONOTONIC in nanoseconds, for example because it judges a
/// fault. For one thread at a time, and not for the crash thread. Not safe to call from a signal handler.
bool hf_capture_look(HFThreadLook *_Nonnull look, uint64_t until);

/// Whether a look is wanted. For the crash thread.
bool hf_capture_is_look_wanted(void);

/// The look that is wanted, or NULL. The caller then has to end it. For the crash thread.
HFThreadLook *_Nullable hf_capture_take_look(void);

/// Tells the thread that waits for the look. For the crash thread.
void hf_capture_end_look(void);

/// Copies the callout of a thread that stands still. For the crash thread, between hf_async_begin_walk() and hf_async_end_walk().
void hf_async_copy_callout(uint32_t index, HFLookedCallout *_Nonnull callout);

/// The task that is current on a thread that stands still; 0 for none. For the crash thread, as above.
uint64_t hf_async_task_of(uint32_t index);

// MARK: A callout that takes too long
//
// The crash thread asks the callout's thread to stand still, as for a sample, walks its stack, and judges it like a fault. If nothing
// speaks against it, the thread is sent into the fault handler, from the handler in which it stands still: hf_async_ask_overdue_thread() ->
// hf_async_begin_walk() -> hf_async_interrupted_record() -> hf_async_interrupt_thread(). Otherwise hf_async_release_thread() lets it go on
// as if nothing had happened.

/// What became of an attempt.
enum {
    /// Nobody has looked yet.
    HF_INTERRUPTION_NONE = 0,
    /// The thread is handled like a fault: its verdict follows.
    HF_INTERRUPTION_DONE = 1,
    /// The callout has ended, or another one has begun.
    HF_INTERRUPTION_GONE = 2,
    /// The callout cannot be abandoned just now.
    HF_INTERRUPTION_NOT_NOW = 3,
    /// The thread did not answer.
    HF_INTERRUPTION_SILENT = 4,
    /// No thread can be asked: HFThreadLook says why.
    HF_INTERRUPTION_IMPOSSIBLE = 5,
};

/// How many words a loop writes about what it does.
enum { HF_PROGRESS_WORDS = 3 };

/// An attempt to interrupt a callout.
struct HFInterruption {
    /// The words that the thread's loop writes when callouts begin and end, and their values when the callout was found overdue. Valid
    /// until the look ends.
    const uint64_t *_Nonnull words[HF_PROGRESS_WORDS];
    uint64_t values[HF_PROGRESS_WORDS];
    /// For the record, in nanoseconds.
    uint64_t deadline;
    /// Where in the kernel the thread waited at the last attempt that interrupted it, 0 for nowhere. It is not interrupted there again.
    uint64_t place;
    /// Whether the thread is handled like a fault even if something speaks against it: the verdict is then to deny.
    bool is_last;
    uint32_t outcome;
};

/// Whether the loop is still in the callout that was found overdue. While its thread stands still, this does not change.
bool hf_async_is_same_callout(const HFInterruption *_Nonnull interruption);

/// Where in the kernel a thread waits, as a number that differs between system calls, their arguments, and the places that call them; 0 if
/// it runs, or if that is not known. For the crash thread.
uint64_t hf_async_kernel_place(int32_t thread);

/// Whether a system call only waits or moves bytes: a thread that is interrupted in it holds nothing of the kernel or the C library.
bool hf_async_is_plain_system_call(int32_t number);

/// The index of the request for interruptions.
uint32_t hf_async_overdue_index(void);

/// Asks the thread of an entry to stand still, until `limit` on CLOCK_MONOTONIC at the latest, and to say how it could be resumed.
///
/// Returns false if the thread has ended or is stopped, or if a restart has begun. For the crash thread.
bool hf_async_ask_overdue_thread(const HFThreadEntry *_Nonnull entry, uint64_t limit);

/// A record of the thread that stands still, with what a verdict needs. It is not in the spool. For the crash thread, after
/// hf_async_begin_walk().
HFRecord *_Nonnull hf_async_interrupted_record(void);

/// Sends the thread that stands still into the fault handler; false if it has gone on by itself. For the crash thread.
bool hf_async_interrupt_thread(uint64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
