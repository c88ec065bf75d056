// The state that handlers share: all of it in one place, written before a handler can run or atomically.

#ifndef HF_ASYNC_STATE_H
#define HF_ASYNC_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "crash_capture.h"
#include "crash_context.h"

enum {
    /// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS: the kernel raises them for what an instruction does. A thread that
    /// blocks one is killed by it.
    HF_FAULT_SIGNAL_COUNT = 7,
    /// Those, and SIGXCPU and SIGXFSZ, which tell of a limit: who blocks them goes on.
    HF_REPORTED_SIGNAL_COUNT = 9,
};

extern const int hf_async_fault_signals[HF_REPORTED_SIGNAL_COUNT];

enum { HF_MAXIMUM_IMAGES = 256, HF_SPOOL_FOLDER_SIZE = 1024 };

/// Words of 64 bits, one for each slot.
enum { HF_MAXIMUM_SLOTS = 4096, HF_SLOT_WORDS = HF_MAXIMUM_SLOTS / 64 };

/// A NUL-terminated text with its length, as glibc keeps the reason of an abort (stdlib/abort.h: struct abort_msg_s).
typedef struct HFAbortMessage {
    unsigned int size;
    char text[];
} HFAbortMessage;

/// A copy of what the spool file says of the process: the mapping itself is not a forked child's, and somebody may cut the file.
typedef struct HFForkMirror {
    HFSpoolHeader header;
    HFImage images[HF_MAXIMUM_IMAGES];
    /// What does not change of the context: the rules by which texts are redacted, among others.
    HFContextArea context;
    /// The folder of spool files.
    char folder[HF_SPOOL_FOLDER_SIZE];
    /// The pid of the child that this copy was made for, 0 in the process itself. Not that of a vfork(2) child.
    _Atomic(int32_t) child;
} HFForkMirror;

typedef struct HFCaptureState {
    /// Set last at install and cleared first at uninstall.
    _Atomic(bool) installed;
    /// The process that capture was installed in, as hf_async_process() has it.
    int32_t pid;
    /// A page of which a forked child has an empty one (madvise(2), MADV_WIPEONFORK); NULL where the kernel has no such pages.
    const _Atomic(bool) *is_ours;
    /// The pid of the process that ends as a signal says: a second fault of it skips the handlers that stood before ours. A pid
    /// and no flag, because a vfork(2) child shares this memory.
    _Atomic(int32_t) terminating;
    /// The pid of the process that has called exit(3), 0 for none.
    _Atomic(int32_t) exiting;
    HFCaptureConfiguration configuration;
    HFRecord *slots;
    uint32_t slot_count;
    /// Faults so far, as the spool counts them: it may be cut.
    _Atomic(uint32_t) fault_count;
    /// Slots that are taken, and those among them whose handler waits for a verdict, a bit each.
    _Atomic(uint64_t) taken[HF_SLOT_WORDS];
    _Atomic(uint64_t) waiting[HF_SLOT_WORDS];
    /// Who holds each slot that is taken (async_slots.c).
    _Atomic(uint8_t) holders[HF_MAXIMUM_SLOTS];
    /// The actions that stood before ours, in the order of hf_async_fault_signals.
    struct sigaction previous[HF_REPORTED_SIGNAL_COUNT];
    /// Grows with each record that waits for a verdict, and each library that is unloaded; the deciding thread sleeps on it (futex(2)).
    _Atomic(uint32_t) pending;
    /// How often a slot was freed.
    _Atomic(uint32_t) freed;
    /// How often a library was unloaded.
    _Atomic(uint32_t) unloads;
    /// Set where the deciding thread is to end.
    _Atomic(bool) withdrawn;
    /// The thread id of the deciding thread, 0 until there is one.
    _Atomic(int32_t) decider;
    /// HF_VERDICT_RESTART or HF_VERDICT_TERMINATE: what is done when no verdict comes.
    _Atomic(uint32_t) verdict_without_decision;
    /// Facts that every record has.
    _Atomic(uint32_t) process_facts;
    /// NULL until they are known.
    const HFStartItems *_Atomic start_items;
    /// One more than the slot whose fault may end the process now: every record is complete. 0 for none. Its thread sleeps on it (futex(2)).
    _Atomic(uint32_t) ender;
    /// Set to 1 when the main loop has drained.
    _Atomic(uint32_t) drained;
    /// When the main loop must have drained, in nanoseconds of CLOCK_MONOTONIC; 0 until a thread waits for it. All go by this one.
    _Atomic(uint64_t) drain_deadline;
    /// The pid of the process that was told to end: no fault restarts it. 0 for none.
    _Atomic(int32_t) forgone;
    /// No fault restarts the process before this time, in nanoseconds of CLOCK_MONOTONIC.
    _Atomic(uint64_t) earliest_restart;
    /// Threads that wait until they may restart the process.
    _Atomic(uint32_t) restart_waiters;
    /// Threads that faulted, and stand still because the process was told to end.
    _Atomic(uint32_t) standing;
    /// Grows when `drained`, `forgone` or `exiting` changes; threads that wait until they may restart the process sleep on it (futex(2)).
    _Atomic(uint32_t) restart_changes;
    /// What a forked child needs for a record of its own, in memory that fork(2) copies: NULL where there is no spool file.
    HFForkMirror *fork_mirror;
    /// The signal mask that a restarted process begins with.
    uint64_t initial_mask;
    /// What a restart begins with, replaced as a whole.
    const HFRestartPlan *_Atomic restart_plan;
    /// Signals that are observed, as bits: held back across a restart, whose process would die of them.
    _Atomic(uint64_t) observed_signals;
    /// Where the Swift runtime keeps the text of a fatal error, or NULL (swift/stdlib/public/runtime/Errors.cpp).
    _Atomic(const char *) *fatal_error_message;
    /// How much of that text is in records already: one that a thread leaves which stands still until the restart is not the next
    /// fault's. The runtime puts a new text behind the old one.
    _Atomic(size_t) recorded_message;
    /// The reason of an abort that is in a record already.
    _Atomic(const HFAbortMessage *) recorded_abort;
    /// Where glibc keeps the reason of an abort, or NULL.
    HFAbortMessage **abort_message;
} HFCaptureState;

extern HFCaptureState hf_capture_state;

/// Where a thread's own stack lies: [low, high), with the guard below it; zeros where nobody noted it.
typedef struct HFThreadStack {
    uintptr_t low;
    uintptr_t high;
    uintptr_t guard;
} HFThreadStack;

extern _Thread_local HFThreadStack hf_thread_stack __attribute__((tls_model("initial-exec")));

/// The type and the words of the C++ exception that ends the running thread's process; "" for none.
typedef struct HFUncaughtException {
    char type[HF_EXCEPTION_TYPE_SIZE];
    char message[HF_EXCEPTION_MESSAGE_SIZE];
} HFUncaughtException;

extern _Thread_local HFUncaughtException hf_uncaught_exception __attribute__((tls_model("initial-exec")));

/// Bytes of the kernel's signal set, which is not that of glibc (signal(7)).
enum { HF_KERNEL_SIGSET_SIZE = 8 };

/// The process that runs: its pid, negated in a forked child that has not executed a program.
///
/// The pid alone does not tell a child: in a PID namespace of its own it may have its parent's, which is 1 (pid_namespaces(7)). A child of
/// vfork(2) shares the memory, and only has another pid. Safe to call from a signal handler.
int32_t hf_async_process(void);

/// Fills in a claimed slot, as the next fault of a process. Safe to call from a signal handler.
void hf_async_fill_record(
    HFRecord *record, HFSpoolHeader *process, int signal, const siginfo_t *info, void *context);

/// Fills in what a verdict needs, in a record that belongs to no spool. Safe to call from a signal handler.
void hf_async_outline_record(HFRecord *record, int signal, const siginfo_t *info, void *context);

/// Follows frame pointers from a context into a record: for a fault that no other thread walks. Each is read with care, so that a
/// broken chain only ends the walk. Safe to call from a signal handler.
void hf_async_walk_frame_pointers(HFRecord *record, const void *context);

/// Leaves a record of this fault of a forked child in a spool file of its own. Safe to call from a signal handler.
void hf_async_record_child(int signal, const siginfo_t *info, void *context);

/// Claims the last slot for a fault that finds no other, or returns NULL. Safe to call from a signal handler.
HFRecord *hf_async_claim_last_slot(void);

/// Shows a captured record to the deciding thread. Safe to call from a signal handler.
void hf_async_await_verdict(HFRecord *record);

/// The slot that has waited longest for a verdict, or the slot count.
uint32_t hf_async_oldest_waiting(void);

/// Has a slot wait no longer.
void hf_async_end_waiting(uint32_t slot);

/// Copies a NUL-terminated text that may not be there, cutting it at `size` - 1 bytes, and returns its length. Safe to call from
/// a signal handler.
size_t hf_async_copy_text(char *destination, size_t size, uint64_t source);

/// Sets the file of proc_pid_mem(5) that memory is read from where process_vm_readv(2) is refused, or -1; returns the one before.
int hf_async_exchange_memory_file(int file);

/// Copies pieces of memory that may not be there, up to the first that is not, and returns how many bytes it copied: a call of the
/// kernel costs more than what it copies. Safe to call from a signal handler.
size_t hf_async_read_pieces(const struct iovec *remote, const struct iovec *local, size_t count);

/// Where a NUL-terminated text is, and where it goes.
typedef struct HFText {
    char *text;
    size_t size;
    uint64_t source;
} HFText;

/// As hf_async_copy_text(), two texts at once. Safe to call from a signal handler.
void hf_async_copy_texts(HFText first, HFText second);

/// Ends the process as the signal would have without us. Returns to let the fault happen again, or not at all.
/// Safe to call from a signal handler.
void hf_async_terminate(int signal, siginfo_t *info, void *context);

/// Ends the process as an order to end does by default. Safe to call from a signal handler.
_Noreturn void hf_async_end_by_order(int signal);

#endif
