// The state that handlers share: all of it in one place, written before a handler can run or atomically.

#ifndef HF_ASYNC_STATE_H
#define HF_ASYNC_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#include "crash_capture.h"
#include "crash_context.h"
#include "thread_sampling.h"
#include "uncaught_exception.h"

enum {
    /// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS: the kernel raises them for an instruction. A thread that blocks one is
    /// killed by it.
    HF_FAULT_SIGNAL_COUNT = 7,
    /// Those, and SIGXCPU and SIGXFSZ, which tell of a limit: a thread that blocks them goes on.
    HF_REPORTED_SIGNAL_COUNT = 9,
};

extern const int hf_async_fault_signals[HF_REPORTED_SIGNAL_COUNT];

enum { HF_MAXIMUM_IMAGES = 256, HF_SPOOL_FOLDER_SIZE = 1024 };

/// A NUL-terminated text with its length, as glibc keeps the reason of an abort (stdlib/abort.h: struct abort_msg_s).
typedef struct HFAbortMessage {
    unsigned int size;
    char text[];
} HFAbortMessage;

/// A copy of the spool's description of the process: a forked child has no mapping of the file, and somebody may cut it.
typedef struct HFForkMirror {
    HFSpoolHeader header;
    HFImage images[HF_MAXIMUM_IMAGES];
    /// The part of the context that does not change, such as the rules by which texts are redacted.
    HFContextArea context;
    /// The folder of spool files.
    char folder[HF_SPOOL_FOLDER_SIZE];
    /// The pid of the child that this copy was made for, 0 in the process itself. A vfork(2) child has none.
    _Atomic(int32_t) child;
} HFForkMirror;

/// struct sched_attr of the kernel's linux/sched/types.h, as it was at first: any kernel takes it.
typedef struct HFScheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
} HFScheduling;

typedef struct HFCaptureState {
    /// Set last at install and cleared first at uninstall.
    _Atomic(bool) installed;
    /// The process that capture was installed in, as hf_async_process() has it.
    int32_t pid;
    /// A page that is empty in a forked child (madvise(2), MADV_WIPEONFORK); NULL if the kernel has no such pages.
    const _Atomic(bool) *is_ours;
    /// The pid of the process that has called exit(3), 0 for none.
    _Atomic(int32_t) exiting;
    HFCaptureConfiguration configuration;
    HFRecord *slots;
    uint32_t slot_count;
    /// Faults so far, as the spool counts them: the spool may be cut.
    _Atomic(uint32_t) fault_count;
    /// The actions that stood before ours, in the order of hf_async_fault_signals.
    struct sigaction previous[HF_REPORTED_SIGNAL_COUNT];
    /// The thread id of the deciding thread, 0 until there is one, and -1 while it does not run yet.
    _Atomic(int32_t) decider;
    /// What is done when no verdict comes: HF_VERDICT_RESTART or HF_VERDICT_TERMINATE.
    _Atomic(uint32_t) verdict_without_decision;
    /// Facts that every record has.
    _Atomic(uint32_t) process_facts;
    /// NULL until they are known.
    const HFStartItems *_Atomic start_items;
    /// What a forked child needs for a record of its own, in memory that fork(2) copies; NULL without a spool file.
    HFForkMirror *fork_mirror;
    /// The signal mask that a restarted process begins with.
    uint64_t initial_mask;
    /// How the main thread was scheduled, and so a restarted process is; its size is 0 if that is not known.
    HFScheduling initial_scheduling;
    /// The signal that the main thread gets when its parent ends; 0 for none.
    int32_t parent_death_signal;
    /// Where the Swift runtime keeps the text of a fatal error, or NULL (swift/stdlib/public/runtime/Errors.cpp).
    _Atomic(const char *) *fatal_error_message;
    /// How much of that text is already in records. A thread that stands still until the restart leaves its text, which is not the next
    /// fault's. The runtime puts a new text behind the old one.
    _Atomic(size_t) recorded_message;
    /// The reason of an abort that is already in a record.
    _Atomic(const HFAbortMessage *) recorded_abort;
    /// Where glibc keeps the reason of an abort, or NULL.
    HFAbortMessage **abort_message;
} HFCaptureState;

extern HFCaptureState hf_capture_state;

/// Where a thread's own stack lies: [low, high), with the guard below it; zeros if nobody noted it.
typedef struct HFThreadStack {
    uintptr_t low;
    uintptr_t high;
    uintptr_t guard;
} HFThreadStack;

extern _Thread_local HFThreadStack hf_thread_stack __attribute__((tls_model("initial-exec")));

/// Bytes of the kernel's signal set; glibc's is larger (signal(7)).
enum { HF_KERNEL_SIGSET_SIZE = 8 };

/// The running process: its pid, negated in a forked child that has not executed a program.
///
/// The pid alone does not identify a child: in a PID namespace of its own it may have its parent's, which is 1 (pid_namespaces(7)). A child
/// of vfork(2) shares the memory, and only has another pid. Safe to call from a signal handler.
int32_t hf_async_process(void);

/// Queues a signal to the calling thread, with what was known of its sender: a process may send itself any code (kernel/signal.c,
/// do_rt_tgsigqueueinfo). Returns false if that is refused. Safe to call from a signal handler.
bool hf_async_queue_to_self(int signal, const siginfo_t *info);

/// The time on a clock. Safe to call from a signal handler.
uint64_t hf_async_nanoseconds(clockid_t clock);

/// A time that never comes, for hf_async_sleep_while().
#define HF_FOR_EVER UINT64_MAX

/// Sleeps while a word of this process has a value, until a time of hf_async_monotonic_nanoseconds(); false when that has come.
///
/// The time is absolute: interruptions do not move it (futex(2), FUTEX_WAIT_BITSET). Safe to call from a signal handler.
bool hf_async_sleep_while(const void *word, uint32_t value, uint64_t until);

/// Wakes all threads that sleep on a word. Safe to call from a signal handler.
void hf_async_wake(const void *word);

/// Wakes one of them. Safe to call from a signal handler.
void hf_async_wake_one(const void *word);

/// Fills in a claimed slot, as the next fault of a process. The deadline is that of a callout which was interrupted. Safe to call from a
/// signal handler.
void hf_async_fill_record(
    HFRecord *record, HFSpoolHeader *process, int signal, const siginfo_t *info, void *context, uint64_t callout_deadline);

/// Fills in what a verdict needs, in a record that belongs to no spool. Safe to call from a signal handler.
void hf_async_outline_record(HFRecord *record, int signal, const siginfo_t *info, void *context);

/// The images of the process.
typedef struct HFImageList {
    const HFImage *images;
    uint32_t count;
} HFImageList;

/// Follows frame pointers from a context into a record, for a fault that no other thread walks. Each is read with care, so a broken chain
/// only ends the walk. Safe to call from a signal handler.
void hf_async_walk_frame_pointers(HFRecord *record, const void *context, HFImageList list);

/// Leaves a record of this fault of a forked child in a spool file of its own. Safe to call from a signal handler.
void hf_async_record_child(int signal, const siginfo_t *info, void *context);

/// Claims a slot as hf_async_claim_slot() does, and waits for one if all are taken: the report writer frees one every few milliseconds.
///
/// It waits as long as for a verdict, and longer while slots are being freed, even if only for others: then the machine is busy, but
/// nothing hangs. Safe to call from a signal handler.
HFRecord *hf_async_wait_for_slot(void);

/// Claims the last slot for a fault that finds no other, or returns NULL. Safe to call from a signal handler.
HFRecord *hf_async_claim_last_slot(void);

/// Shows a captured record to the deciding thread. Safe to call from a signal handler.
void hf_async_await_verdict(HFRecord *record);

/// The slot that has waited longest for a verdict, or the slot count if none waits.
uint32_t hf_async_oldest_waiting(void);

/// Ends the wait of a slot.
void hf_async_end_waiting(uint32_t slot);

/// Copies a NUL-terminated text that may not be there, cutting it at `size` - 1 bytes, and returns its length. Safe to call from
/// a signal handler.
size_t hf_async_copy_text(char *destination, size_t size, uint64_t source);

/// Sets the file of proc_pid_mem(5) from which memory is read if process_vm_readv(2) is refused, or -1; returns the former one.
int hf_async_exchange_memory_file(int file);

/// Copies pieces of memory that may not be there, up to the first that is not, and returns how many bytes it copied. One call for several
/// pieces, because the call costs more than the copying. Safe to call from a signal handler.
size_t hf_async_read_pieces(const struct iovec *remote, const struct iovec *local, size_t count);

/// Where a NUL-terminated text is, and where its copy goes.
typedef struct HFText {
    char *text;
    size_t size;
    uint64_t source;
} HFText;

/// As hf_async_copy_text(), two texts at once. Safe to call from a signal handler.
void hf_async_copy_texts(HFText first, HFText second);

/// Whether the process ends as a signal says. Safe to call from a signal handler.
bool hf_async_is_terminating(void);

/// Ends the process as the signal would without us. Returns to let the fault happen again, or not at all. Safe to call from a signal
/// handler.
void hf_async_terminate(int signal, siginfo_t *info, void *context);

/// Ends the process as an order to end does by default. Safe to call from a signal handler.
_Noreturn void hf_async_end_by_order(int signal);

#endif
