// Running a function on a stack of its own, and coming back here if it faults.
//
// Life cycle of a guarded call: hf_recovery_run() makes a recovery point current for this thread and switches to the callout stack -> the
// body runs -> it returns (HFOutcomeReturned), or a fault handler sends the thread to hf_recovery_landing with the point's registers
// (HFOutcomeAbandoned). An abandoned callout stack is never used again: its frames are evidence, and other threads may still point into
// them.

#ifndef HF_RECOVERY_POINT_H
#define HF_RECOVERY_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop_event_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__linux__) || !defined(__x86_64__)
#error "Holdfast runs on Linux x86-64: CRecoveryPoint's switch has no other port yet"
#endif

/// More about an item, as bits of HFCalloutInfo.traits.
enum {
    /// A port with input from many peers, which have nothing to do with each other.
    HF_TRAIT_SHARED = 1u << 0,
};

/// The description of a running callout, in a form that a signal handler can read.
typedef struct HFCalloutInfo {
    /// The mode's name, NUL-terminated UTF-8. Must outlive the guarded call.
    const char *_Nullable mode;
    /// The item's label, NUL-terminated UTF-8. Must outlive the guarded call.
    const char *_Nullable label;
    /// The item's identity, unique in the process; 0 for none.
    uint64_t item;
    /// The number of the loop's pass, counted from 1 over the life of the loop.
    uint64_t pass;
    /// The kind of the item.
    HFCalloutKind kind;
    /// The CFRunLoop activity bit of the phase that the loop is in.
    uint32_t activity;
    /// How many runs are active on this loop: 1 for a run that is not nested.
    uint32_t nesting;
    /// HF_TRAIT_…
    uint32_t traits;
    /// Room for a label of up to fifteen bytes; `label` may point here.
    uint64_t short_label[2];
} HFCalloutInfo;

/// A mapped stack with a guard below it, on which callouts run.
typedef struct HFCalloutStack {
    /// Lowest usable address; the guard lies below.
    uintptr_t low;
    /// One past the highest usable address, 16-byte aligned.
    uintptr_t high;
    /// The lowest address of its mapping. From here to `low` is the guard, without access.
    uintptr_t mapping;
    /// The stack pointer at the fault, written by the fault handler before it abandons a callout; 0 until then.
    uintptr_t abandoned_at;
    /// The signal mask of the thread before the callout changed it; see HF_POINT_HAS_SIGNAL_MASK.
    uint64_t signal_mask;
    /// Further facts about the fault, as a number that the fault handler chooses; 0 until then.
    uint32_t fault_facts;
    /// The fault's number in the process, and CLOCK_REALTIME in nanoseconds when it was captured; 0 until then.
    uint32_t fault_number;
    int64_t fault_time;
    /// What its callout has registered in case it is abandoned: the loop's own data, NULL for nothing.
    void *_Nullable attachments;
    /// Set once a callout was abandoned on it: it must never be used again.
    bool abandoned;
} HFCalloutStack;

/// A name that a callout put on record, in a list that a signal handler can read: innermost first.
typedef struct HFCalloutNote {
    /// NUL-terminated UTF-8. Valid as long as the note is in the list.
    const char *_Nonnull text;
    const struct HFCalloutNote *_Nullable next;
} HFCalloutNote;

/// How many of the lowest bits of hf_held_locks count the locks. No thread holds more than they can count.
enum { HF_LOCK_COUNT_BITS = 10 };

/// The control words of a thread's floating-point units.
typedef struct HFControlWords {
    uint32_t mxcsr;
    uint16_t x87;
    uint16_t reserved;
} HFControlWords;

/// A place to which this thread returns if the callout above it faults.
///
/// Lives in the frame of hf_recovery_run(), on the stack of its caller, and is the frame's lower end: its address is the stack
/// pointer with which hf_recovery_landing is entered.
typedef struct HFRecoveryPoint {
    /// The callout stack that the body runs on.
    HFCalloutStack *_Nonnull stack;
    /// The description of the callout.
    const HFCalloutInfo *_Nullable info;
    /// The recovery point that was current before, or NULL.
    struct HFRecoveryPoint *_Nullable previous;
    /// The depth of critical sections at entry.
    uint32_t critical_depth;
    /// Which locks the thread held at entry: see hf_held_locks.
    uint32_t held_locks;
    /// The Swift runtime's exclusivity accesses at entry: swift_task_enterThreadLocalContext() keeps them here.
    uintptr_t exclusivity[2];
    /// The names of objects that the callout has touched.
    const HFCalloutNote *_Nullable notes;
    /// The control words of the floating-point units, as last noted.
    HFControlWords control_words;
    /// The x87 control word at entry.
    uint16_t x87;
    uint16_t reserved;
    /// What the callout has done: HF_POINT_….
    uint32_t flags;
} HFRecoveryPoint;

enum {
    /// The callout has changed the thread's signal mask: the former mask is in `stack`.
    HF_POINT_HAS_SIGNAL_MASK = 1,
};

/// The bytes between a recovery point and the frame pointer of its frame.
enum { HF_RECOVERY_FRAME_SIZE = 112 };

/// The stack pointer with which hf_recovery_landing is entered for a point. Safe to call from a signal handler.
static inline uintptr_t hf_recovery_stack_pointer(const HFRecoveryPoint *_Nonnull point) { return (uintptr_t)point; }

/// The frame pointer with which hf_recovery_landing is entered for a point. Safe to call from a signal handler.
static inline uintptr_t hf_recovery_frame_pointer(const HFRecoveryPoint *_Nonnull point) {
    return (uintptr_t)point + HF_RECOVERY_FRAME_SIZE;
}

/// How a guarded call ended.
typedef enum __attribute__((enum_extensibility(closed))) HFOutcome : int32_t {
    /// The body returned.
    HFOutcomeReturned = 0,
    /// The body faulted and was abandoned on its stack, which is now marked as such.
    HFOutcomeAbandoned = 1,
} HFOutcome;

/// The body of a guarded call.
typedef void (*HFBody)(void *_Nullable argument);

/// The recovery point of the running thread, or NULL: read by the fault handler, on the thread that faulted.
extern _Thread_local HFRecoveryPoint *_Nullable hf_current_recovery_point
    __attribute__((tls_model("initial-exec")));

/// How many critical sections the running thread is in. While this differs from the recovery point's number, nothing is abandoned.
extern _Thread_local uint32_t hf_critical_depth __attribute__((tls_model("initial-exec")));

/// Which locks the running thread holds, as far as they are counted: the sum of a number for each. While this differs from the recovery
/// point's sum, nothing is abandoned. The lowest HF_LOCK_COUNT_BITS bits count them, the others distinguish them.
extern _Thread_local uint32_t hf_held_locks __attribute__((tls_model("initial-exec")));

/// Whether a Swift task was current when the running thread began its innermost run: see hf_recovery_begin_run().
extern _Thread_local bool hf_run_is_in_task __attribute__((tls_model("initial-exec")));

/// What the Swift and the C++ runtime kept for a thread when a run began: addresses, 0 for none.
typedef struct HFRuntimeState {
    /// The storage of task-local values that are bound outside of a task, and the newest value in it.
    uintptr_t task_locals;
    uintptr_t newest_task_local;
    /// The exceptions that are being handled by catch clauses, and how many are on their way up.
    uintptr_t caught_exceptions;
    uint32_t uncaught_exceptions;
} HFRuntimeState;

/// The notes of the run around another one.
typedef struct HFOuterRun {
    HFControlWords control_words;
    HFRuntimeState runtime_state;
    bool is_in_task;
} HFOuterRun;

/// Notes the control words of the running thread's floating-point units, MXCSR and that of the x87, for its guarded calls.
///
/// Whoever makes guarded calls calls this now and then, for example after a wait: storing MXCSR at each of them would double their price
/// (measured: 2.5 ns more). See hf_recovery_run(). Returns the former notes. Not for a signal handler, which has words of its own.
HFControlWords hf_recovery_note_control_words(void);

/// Restores the notes that hf_recovery_note_control_words() returned: after guarded calls in the middle of a callout, which may have
/// changed the words for a while. Safe to call from a signal handler.
void hf_recovery_restore_control_words(HFControlWords before);

/// Notes whether a Swift task is current, the control words, and what the runtimes keep for the thread. Called at the start of every run of
/// a loop, and before guarded calls outside of one.
///
/// A fault handler cannot ask: swift_task_getCurrent() may allocate its thread-local storage (measured: a handler that waited for the heap
/// for ever). A task that begins later, inside a callout, has a frame of the concurrency runtime on the stack. Returns the argument for
/// hf_recovery_end_run(). Not safe to call from a signal handler.
HFOuterRun hf_recovery_begin_run(void);

/// Restores the notes of the run around the one that ends. Safe to call from a signal handler.
void hf_recovery_end_run(HFOuterRun outer);

/// Whether the state of the runtimes for the running thread can be put back to what it was when its innermost run began: task-local values
/// and C++ exceptions. Called in a callout of that run. Safe to call from a signal handler.
bool hf_async_can_restore_runtime_state(void);

/// Runs `body(argument)` on `stack` above a recovery point; returns how that ended.
///
/// `info` and `stack` must stay valid until it returns. After an abandoned call, the Swift runtime's list of exclusivity accesses and the
/// x87 control word are what they were at the call. Task-local values and C++ exceptions are those that hf_recovery_begin_run() noted.
/// MXCSR is what hf_recovery_note_control_words() noted last, except rounding and masks that were since changed in the x87 word, too, as
/// fesetround(3) and feenableexcept(3) do.
///
/// Makes no system call, except at a thread's first call, which finds out where the list is. Guarded calls nest, each on a stack of its
/// own. Not safe to call from a signal handler.
HFOutcome hf_recovery_run(
    HFCalloutStack *_Nonnull stack,
    const HFCalloutInfo *_Nullable info,
    HFBody _Nonnull body,
    void *_Nullable argument);

/// Where a faulted thread is sent, with the point's stack and frame pointers. Never called.
extern const char hf_recovery_landing[];

/// The bounds of the code through which every walk from a callout to its recovery point must pass.
extern const char hf_recovery_switch[];
extern const char hf_recovery_switch_end[];

/// The address of hf_recovery_landing, for languages that cannot take it.
static inline uint64_t hf_recovery_landing_address(void) { return (uint64_t)(uintptr_t)hf_recovery_landing; }

/// The address of hf_recovery_switch, for languages that cannot take it.
static inline uint64_t hf_recovery_switch_start_address(void) { return (uint64_t)(uintptr_t)hf_recovery_switch; }

/// The address of hf_recovery_switch_end.
static inline uint64_t hf_recovery_switch_end_address(void) { return (uint64_t)(uintptr_t)hf_recovery_switch_end; }

/// Whether a callout is running on this thread above a recovery point. Safe to call from a signal handler.
static inline bool hf_recovery_is_armed(void) { return hf_current_recovery_point != NULL; }

/// The recovery point of the innermost callout that is running on this thread, or NULL, for languages that cannot read
/// hf_current_recovery_point. Safe to call from a signal handler.
static inline HFRecoveryPoint *_Nullable hf_recovery_current(void) { return hf_current_recovery_point; }

/// Disarms the recovery points of this thread while the loop's own code runs inside a callout; returns the argument for
/// hf_recovery_restore().
static inline HFRecoveryPoint *_Nullable hf_recovery_suspend(void) {
    HFRecoveryPoint *point = hf_current_recovery_point;
    hf_current_recovery_point = NULL;
    return point;
}

/// Makes `point` current again.
static inline void hf_recovery_restore(HFRecoveryPoint *_Nullable point) {
    hf_current_recovery_point = point;
}

/// Opens a section in which a fault is never resumed; sections nest.
///
/// Safe to call from a signal handler.
static inline void hf_critical_enter(void) {
    hf_critical_depth += 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/// Closes the section that hf_critical_enter() opened.
///
/// Safe to call from a signal handler.
static inline void hf_critical_leave(void) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hf_critical_depth -= 1;
}

/// A number that no other living thread has.
static inline uintptr_t hf_thread_identity(void) { return (uintptr_t)&hf_critical_depth; }

/// Keeps the compiler from moving reads and writes across this call. The processor may still do so.
static inline void hf_compiler_barrier(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// Releases an object of Swift's so many times by one locked instruction. The runtime exports it; the compiler calls it, too.
extern void swift_release_n(void *_Nonnull object, uint32_t count);
extern void swift_release(void *_Nullable object);
extern void swift_nonatomic_release(void *_Nullable object);

/// The second word of an object of Swift's to which one strong reference exists, and no other: nobody else can come to it.
enum { HF_ONLY_REFERENCE = 3 };

/// Releases the memory of a closure; without a locked instruction if the caller has the only reference.
static inline void hf_release_closure(void *_Nullable memory) {
    if (memory && __atomic_load_n((const uint64_t *)memory + 1, __ATOMIC_ACQUIRE) == HF_ONLY_REFERENCE) {
        swift_nonatomic_release(memory);
    } else {
        swift_release(memory);
    }
}

/// Maps a callout stack of at least `size` bytes with a guard below it. After a fault it lies next to the pages that other stacks keep.
///
/// Returns NULL with `errno` set if there is no memory or no mapping left. Not safe to call from a signal handler: allocates.
HFCalloutStack *_Nullable hf_callout_stack_create(size_t size);

/// Unmaps a stack on which nothing was abandoned.
void hf_callout_stack_destroy(HFCalloutStack *_Nonnull stack);

/// Gives the part of an abandoned stack that no frame uses back to the kernel and frees the description. The frames stay mapped for ever.
/// Returns the number of bytes that stay mapped.
///
/// The kernel may be told only later: by hf_callout_stack_settle(), or when the next stack is made. It takes two system calls, for which a
/// loop has more time before it sleeps.
size_t hf_callout_stack_bury(HFCalloutStack *_Nonnull stack);

/// Finishes what hf_callout_stack_bury() began. Safe from any thread, not from a signal handler.
void hf_callout_stack_settle(void);

/// Has the kernel provide the memory that the first frames of a stack need, before it is used.
void hf_callout_stack_touch(HFCalloutStack *_Nonnull stack);

/// Whether the runtime has the functions that keep Swift's exclusivity accesses apart. Without them nothing may be abandoned.
bool hf_recovery_tracks_exclusivity(void);

#ifdef __cplusplus
}
#endif

#endif
