// Crash capture: the fault handlers, and the hand-over between a parked thread and the one that decides.

#ifndef HF_CRASH_CAPTURE_H
#define HF_CRASH_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "crash_record.h"
#include "loaded_images.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What the handlers are given at install: all of it stays valid until the process ends.
typedef struct HFCaptureConfiguration {
    /// The mapped spool file.
    HFSpoolHeader *_Nonnull spool;
    /// How long a parked thread waits for its verdict, in nanoseconds.
    uint64_t deadline_nanoseconds;
    /// HF_VERDICT_RESTART or HF_VERDICT_TERMINATE: what is done when no verdict comes in time.
    uint32_t verdict_at_deadline;
    /// The descriptor of the spool file, closed in forked children: they must not hold its lock.
    int spool_descriptor;
    /// Signals that the process before this one held back, as bits: no part of the mask that a restart begins with.
    uint64_t held_signals;
    /// For a restart: the path, the arguments and the environment for execve(2). NULL paths are not tried.
    const char *_Nullable executable;
    const char *_Nullable fallback_executable;
    char *_Nullable const *_Nullable arguments;
} HFCaptureConfiguration;

/// Installs the fault handlers for SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE and SIGSEGV.
///
/// Keeps the actions that stood before, for the terminal path. Returns 0 or the `errno` of the failing call. Not safe to call
/// from a signal handler.
int hf_capture_install(const HFCaptureConfiguration *_Nonnull configuration);

/// Puts the actions back that stood before hf_capture_install(), where the handlers are still ours.
void hf_capture_uninstall(void);

/// What a restart begins with.
typedef struct HFRestartPlan {
    /// As execve(2) takes it.
    char *_Nullable const *_Nonnull environment;
    /// Descriptors that stay open.
    const int *_Nonnull descriptors;
    uint32_t descriptor_count;
} HFRestartPlan;

/// Replaces what a restart begins with. The plan stays valid until the process ends: a handler may read an old one.
void hf_capture_set_restart_plan(const HFRestartPlan *_Nonnull plan);

/// Lets signals through that a restart held back, as bits.
void hf_signal_release(uint64_t signals);

/// Gives the calling thread an alternate signal stack of 256 KiB with a 64 KiB guard, unless it has one of ours.
///
/// Returns 0 or an `errno`. The stack is freed at thread exit. Not safe to call from a signal handler.
int hf_capture_prepare_thread(void);

/// Declares the calling thread to be the one that decides: a fault of it is never waited for.
void hf_capture_become_decider(void);

/// Names the calling thread; up to 15 bytes count.
void hf_capture_name_thread(const char *_Nonnull name);

/// Whether a thread declared itself to be the one that decides.
bool hf_capture_has_decider(void);

/// How many slots are not free.
uint32_t hf_capture_slots_in_use(void);

/// Waits for a captured record without a verdict and returns its slot.
///
/// Returns the index of the slot. For the deciding thread only.
uint32_t hf_capture_wait(void);

/// Gives the verdict on a slot and wakes the parked thread.
///
/// Returns false when the deadline had passed: then it was acted on without us. For the deciding thread only.
bool hf_capture_decide(uint32_t slot, uint32_t verdict);

/// Adds facts to a record. Safe to call from a signal handler.
void hf_capture_add_facts(HFRecord *_Nonnull record, uint32_t facts);

/// The record in a slot.
HFRecord *_Nonnull hf_capture_record(uint32_t slot);

/// Frees a slot whose report is in the store.
void hf_capture_release(uint32_t slot);

/// Reads memory that may not be there.
///
/// Returns the number of bytes read, which is less than `size` where the memory ends. Safe to call from a signal handler.
size_t hf_async_read_memory(uint64_t address, void *_Nonnull buffer, size_t size);

/// Replaces the process by a fresh one in place: same pid, same arguments, kept descriptors.
///
/// Returns only on failure. Safe to call from a signal handler.
void hf_async_restart(void);

/// Forgets the texts of the fault that was resumed: the Swift runtime appends to its text for ever, and glibc leaves its own.
///
/// Not safe to call from a signal handler: frees memory.
void hf_capture_clear_messages(void);

/// Whether the standard library is a library of its own, which is what tells its frames from the application's.
bool hf_capture_runtime_is_dynamic(void);

/// One signal that arrived, as its handler saw it.
typedef struct HFSignalEvent {
    int64_t time_unix_nanoseconds;
    int32_t signal;
    int32_t code;
    int32_t sender_pid;
    uint32_t sender_uid;
    int64_t value;
} HFSignalEvent;

/// Turns a signal into events on `descriptor`, an eventfd.
///
/// Returns 0 or an `errno`. Not safe to call from a signal handler.
int hf_signal_observe(int signal, int descriptor);

/// Takes the oldest event; false when there is none. For one thread at a time.
bool hf_signal_next(HFSignalEvent *_Nonnull event);

/// How many signals arrived for which the ring had no room, since the last call.
uint64_t hf_signal_take_dropped(void);

#ifdef __cplusplus
}
#endif

#endif
