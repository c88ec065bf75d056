// The state that handlers share: all of it in one place, written before a handler can run or atomically.

#ifndef HF_ASYNC_STATE_H
#define HF_ASYNC_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crash_capture.h"

/// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
enum { HF_FAULT_SIGNAL_COUNT = 6 };

extern const int hf_async_fault_signals[HF_FAULT_SIGNAL_COUNT];

/// A NUL-terminated text with its length, as glibc keeps the reason of an abort (stdlib/abort.h: struct abort_msg_s).
typedef struct HFAbortMessage {
    unsigned int size;
    char text[];
} HFAbortMessage;

typedef struct HFCaptureState {
    /// Set last at install and cleared first at uninstall.
    _Atomic(bool) installed;
    /// The process that capture was installed in. In private memory: a forked child has a copy, and another pid.
    int32_t pid;
    /// The pid of the process that ends as a signal says: a second fault of it skips the handlers that stood before ours. A pid
    /// and no flag, because a vfork(2) child shares this memory.
    _Atomic(int32_t) terminating;
    HFCaptureConfiguration configuration;
    HFRecord *slots;
    uint32_t slot_count;
    /// The actions that stood before ours, in the order of hf_async_fault_signals.
    struct sigaction previous[HF_FAULT_SIGNAL_COUNT];
    /// How many records wait for a verdict; the deciding thread sleeps on it (futex(2)).
    _Atomic(uint32_t) pending;
    /// The thread id of the deciding thread, 0 until there is one.
    _Atomic(int32_t) decider;
    /// The signal mask that a restarted process begins with.
    uint64_t initial_mask;
    /// What a restart begins with, replaced as a whole.
    const HFRestartPlan *_Atomic restart_plan;
    /// Signals that are observed, as bits: held back across a restart, whose process would die of them.
    _Atomic(uint64_t) observed_signals;
    /// Where the Swift runtime keeps the text of a fatal error, or NULL (swift/stdlib/public/runtime/Errors.cpp).
    _Atomic(const char *) *fatal_error_message;
    /// Where glibc keeps the reason of an abort, or NULL.
    HFAbortMessage **abort_message;
} HFCaptureState;

extern HFCaptureState hf_capture_state;

/// Bytes of the kernel's signal set, which is not that of glibc (signal(7)).
enum { HF_KERNEL_SIGSET_SIZE = 8 };

/// Fills in a claimed slot. Safe to call from a signal handler.
void hf_async_fill_record(HFRecord *record, int signal, const siginfo_t *info, void *context);

/// Claims a free slot, or returns NULL. Safe to call from a signal handler.
HFRecord *hf_async_claim_slot(void);

/// Copies a NUL-terminated text that may not be there, cutting it at `size` - 1 bytes. Safe to call from a signal handler.
void hf_async_copy_text(char *destination, size_t size, uint64_t source);

/// Ends the process as the signal would have without us. Returns to let the fault happen again, or not at all.
/// Safe to call from a signal handler.
void hf_async_terminate(int signal, siginfo_t *info, void *context);

#endif
