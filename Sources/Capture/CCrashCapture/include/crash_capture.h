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

/// What the handlers get at install: all of it stays valid until the process ends.
typedef struct HFCaptureConfiguration {
    /// The mapped spool file, and how long it is.
    HFSpoolHeader *_Nonnull spool;
    uint64_t spool_size;
    /// How long a parked thread waits for its verdict, in nanoseconds. It waits twice as long if the deciding thread is not asleep when the
    /// time is up: then no lock blocks that thread, it is only slow.
    uint64_t deadline_nanoseconds;
    /// What is done if no verdict comes in time: HF_VERDICT_RESTART or HF_VERDICT_TERMINATE.
    uint32_t verdict_at_deadline;
    /// How long a thread that faulted lets the main loop drain, in nanoseconds.
    uint64_t drain_nanoseconds;
    /// The status that the process exits with instead of a restart in place; -1 for a restart in place.
    int32_t restart_exit_code;
    /// The folder of the spool file, where forked children make theirs.
    const char *_Nonnull spool_folder;
    /// The descriptor of the spool file, closed in forked children: they must not hold its lock.
    int spool_descriptor;
    /// Whether the spool is not a file but memory (hf_capture_make_memory_spool), which a restart in place leaves open for the next
    /// process.
    bool hands_spool_over;
    /// Signals that the process before this one held back, as bits: they do not belong to the mask that a restart begins with.
    uint64_t held_signals;
    /// For a restart: the path, the arguments and the environment for execve(2). Paths that are NULL are skipped.
    const char *_Nullable executable;
    const char *_Nullable fallback_executable;
    char *_Nullable const *_Nullable arguments;
} HFCaptureConfiguration;

/// Installs the fault handlers for SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS, and for SIGXCPU and SIGXFSZ.
///
/// If the program has a handler for one of the last three, or ignores one of the last two, that stays. Keeps the former actions for the
/// terminal path. Returns 0 or the `errno` of the failing call. Not safe to call from a signal handler.
int hf_capture_install(const HFCaptureConfiguration *_Nonnull configuration);

/// Has exit(3) count as the orderly end of the process: an async main ends by it, and closes nothing. Callable from any thread.
void hf_capture_expect_exit(void);

/// Sets what is done before chroot(2), on the thread that calls it. Callable from any thread.
void hf_capture_set_before_root_changes(void (*_Nonnull action)(void));

/// Restores the actions from before hf_capture_install(), unless a handler is not ours any more.
void hf_capture_uninstall(void);

/// Undoes hf_capture_install() and the start of the deciding thread, so that both can be repeated after a start that failed. The deciding
/// thread has ended when it returns. Not safe to call from a signal handler.
void hf_capture_withdraw(void);

/// Tells hf_capture_withdraw() that the calling thread decides no more. The last call of that thread.
void hf_capture_stop_deciding(void);

/// Sets the process that is told to serve in place of a restart: an `HFStandbyPage` (standby_page.h) and an eventfd; NULL for none.
///
/// If this process keeps something, it is handed over first, by a socket (hf_capture_set_standby_link). The page stays mapped. Callable from
/// any thread.
void hf_capture_set_standby(void *_Nullable page, int event, bool keeps);

/// Notes that what the page says now of a release is that of this process.
void hf_capture_note_own_release(const void *_Nonnull page);

/// Sets the socket to the process that stands by, and its serial number (standby_page.h); 0 for none.
///
/// Nobody uses the former one when it returns. Never returns while another thread replaces this process.
void hf_capture_set_standby_link(int socket, uint32_t serial);

/// Tells it to serve, and hands over what is kept. Returns whether that was done: then this process has to end.
bool hf_capture_release_standby(void);

/// The same, if a restart for the fault of a slot waits for nothing but its drain. By the deciding thread, before it gives that verdict.
bool hf_capture_release_standby_for(uint32_t slot);

/// The plan of a restart.
typedef struct HFRestartPlan {
    /// In the form of execve(2).
    char *_Nullable const *_Nonnull environment;
    /// The table of the descriptors that stay open (kept_table.h), -1 for none.
    int kept_table;
    /// The digits in `environment` over which a restart writes the process that holds the memory of this one until it is freed.
    char *_Nonnull memory_holder;
} HFRestartPlan;

/// Makes the environment of the next process: this one's without some variables, and with entries at its end.
///
/// `left_out` has names, `added` has entries as `name=value`, each with a NUL behind it. Returns one block for free(3), in the form of
/// execve(2), and the last of the added entries, if there are any; NULL without memory. Not safe to call from a signal handler.
char *_Nullable *_Nullable hf_capture_make_environment(
    const char *_Nonnull left_out,
    size_t left_out_size,
    const char *_Nonnull added,
    size_t added_size,
    char *_Nullable *_Nonnull last);

/// Replaces the plan of a restart.
///
/// Returns the former plan, which no handler reads any more, or NULL. Safe to call from a signal handler.
const HFRestartPlan *_Nullable hf_async_exchange_restart_plan(const HFRestartPlan *_Nonnull plan);

/// Sets the process that holds the memory of the one before this one, as the environment has it.
void hf_capture_set_memory_holder(int32_t pid);

/// Waits for its end, if there is one; it takes as long as to free the memory.
void hf_capture_reap_memory_holder(void);

/// Changes what is done when no verdict comes: HF_VERDICT_RESTART or HF_VERDICT_TERMINATE.
void hf_capture_set_verdict_without_decision(uint32_t verdict);

/// Sets facts that hold for the process from now on, HF_FACT_RUNNING or HF_FACT_SERVING: every record has them.
void hf_capture_set_process_facts(uint32_t facts);

/// The items that can be recognised in the next process.
typedef struct HFStartItems {
    /// In ascending order.
    const uint64_t *_Nullable items;
    uint64_t count;
} HFStartItems;

/// Sets the items that records mark by HF_FACT_START_ITEM. The list stays valid until the process ends.
void hf_capture_set_start_items(const HFStartItems *_Nonnull items);

/// Sets when the main loop must have drained, unless that is set; returns it, in nanoseconds of CLOCK_MONOTONIC.
///
/// Called by the deciding thread, before it tells the thread that faulted to wait.
uint64_t hf_capture_begin_drain(void);

/// When the main loop must have drained, as hf_capture_begin_drain() set it; 0 for never.
uint64_t hf_capture_drain_deadline(void);

/// Whether the process has called exit(3): then it ends and is not replaced. Safe to call from a signal handler.
bool hf_async_is_exiting(void);

/// Tells the threads that wait for the main loop that it has drained: they carry out their verdicts.
void hf_capture_end_drain(void);

/// Sets the time before which no fault restarts the process, in nanoseconds of CLOCK_MONOTONIC; 0 for none.
void hf_capture_set_earliest_restart(uint64_t time);

/// Whether a thread waits until it may restart the process.
bool hf_capture_awaits_restart(void);

/// Whether a thread that faulted stands still, with its locks, because the process was told to end.
bool hf_capture_stands_still(void);

/// Forbids faults to restart the process, because it was told to end. Threads that waited for a drain stand still from then on.
///
/// A restart that has begun goes on. The caller then goes through all slots with hf_capture_forgo_restart_of().
void hf_capture_forgo_restart(void);

/// Whether hf_capture_forgo_restart() holds.
bool hf_capture_is_restart_forgone(void);

/// Turns the verdict of a fault that waited for a drain from a restart into an end; true for the one caller that has done it.
///
/// That caller makes the report. False if restarts are not forgone, or there is no such fault in the slot.
bool hf_capture_forgo_restart_of(uint32_t slot);

/// Undoes hf_capture_forgo_restart() for later faults, and clears the drain. Threads that stand still stay so.
void hf_capture_allow_restart(void);

/// Keeps the type and the message of an uncaught C++ exception for the record of the abort(3) that follows; the former handler is still
/// called (std::set_terminate). Not safe to call from a signal handler.
void hf_capture_observe_terminate(void);

/// Restores the handler from before hf_capture_observe_terminate(), unless it is not ours any more.
void hf_capture_stop_observing_terminate(void);

/// Gives the calling thread an alternate signal stack of 256 KiB with a 64 KiB guard, unless it has one of ours.
///
/// Returns 0 or an `errno`. The stack is freed at thread exit. Not safe to call from a signal handler.
int hf_capture_prepare_thread(void);

/// Whether an address lies in our function with which every thread of the process begins.
bool hf_is_thread_start(uint64_t address);

/// Whether an address lies in one of our functions that take and free locks of the POSIX threads library: inside them the count of held
/// locks lags behind.
bool hf_is_in_lock_function(uint64_t address);

/// Announces the thread that decides: from now on faults wait for it.
void hf_capture_expect_decider(void);

/// Declares the calling thread to be the one that decides: nobody waits for a verdict on its own faults.
void hf_capture_become_decider(void);

/// Waits while the program starts, unless something is to be done; false if capture was withdrawn. For the thread that decides.
bool hf_capture_await_start(uint64_t nanoseconds);

/// Notes that the thread that decides has done everything once: from now on it allocates nothing, and takes no lock of others.
void hf_capture_note_ready(void);

/// Has the thread that decides do so now, and waits for that; returns whether it has. Not safe to call from a signal handler.
bool hf_capture_await_ready(uint64_t nanoseconds);

/// Whether there is a thread that decides, or will be.
bool hf_capture_has_decider(void);

/// The id of the thread that decides (gettid(2)); 0 for none, and -1 for one that does not run yet.
int32_t hf_capture_decider(void);

/// Makes memory for a spool without a file (memfd_create(2)).
///
/// Returns its descriptor, or -1. Not safe to call from a signal handler.
int hf_capture_make_memory_spool(uint64_t size);

/// Whether a descriptor, which may be any number, is such memory. Not safe to call from a signal handler.
bool hf_capture_is_memory_spool(int descriptor);

/// Makes the spool whole again if somebody has cut its file. Safe to call from a signal handler.
void hf_capture_check_spool(void);

/// How often the spool was made whole again.
uint32_t hf_capture_spool_mends(void);

/// Whether the records are in memory only: there was no spool file, or its cut part could not be restored.
bool hf_capture_is_spool_in_memory(void);

/// How many slots are not free.
uint32_t hf_capture_slots_in_use(void);

/// Whether a slot other than the last is free. Safe to call from any thread.
bool hf_capture_has_room(void);

/// What the deciding thread has to do. Not a type: in -Onone builds Swift would make its metadata at first use, which allocates.
enum {
    /// A captured record needs a verdict.
    HF_WORK_FAULT = 0,
    /// A library was unloaded.
    HF_WORK_UNLOAD = 1,
    /// Somebody wants to look at a thread.
    HF_WORK_LOOK = 2,
    /// Nothing any more: the thread ends (hf_capture_withdraw).
    HF_WORK_END = 3,
    /// Another process wants to know what the tasks do (hf_capture_take_question).
    HF_WORK_QUESTION = 4,
    /// Another thread wants the process to be restarted in place (hf_capture_restart_for_another).
    HF_WORK_RESTART = 5,
};

/// Restarts the process for a thread that must not do so itself; returns if that has failed. For the deciding thread only.
void hf_capture_restart_for_another(void);

/// How a thread gives way to others, for ever (sched(7)). Each way includes those before.
typedef enum HFWay {
    /// It does not preempt them when it wakes up (SCHED_BATCH).
    HF_WAY_AT_WAKE,
    /// They preempt it when they wake up. A kernel before 6.12 lets them wait until its slice of 3 ms is over.
    HF_WAY_AT_ONCE,
    /// It has a tenth of their share where processors are scarce. Only a privileged thread may take that back.
    HF_WAY_WITH_SHARE,
} HFWay;

/// Has the calling thread give way to others. Threads that it starts, and a program that it executes, are like it.
///
/// A thread of another policy than SCHED_OTHER and SCHED_BATCH is left as it is. Safe to call from a signal handler.
void hf_async_give_way(HFWay way);

/// Has all threads of the process give way to others.
///
/// For a process that ends, while another one serves: whichever thread ends last frees the memory, and takes a processor for it. Safe to call
/// from a signal handler.
void hf_async_all_give_way(HFWay way);

/// Takes the question of another process; returns its number. For the deciding thread only.
uint32_t hf_capture_take_question(void);

/// Waits until there is something to do, and returns what.
///
/// For a fault, `slot` is that of its record. `unloads` says how often a library was unloaded by now. For a look, call
/// hf_capture_take_look(). For the deciding thread only.
uint32_t hf_capture_wait(uint32_t *_Nonnull slot, uint32_t *_Nonnull unloads);

/// Finds the oldest captured record without a verdict; false if there is none. For the deciding thread only.
bool hf_capture_next_waiting(uint32_t *_Nonnull slot);

/// Gives the verdict on a slot; the parked thread acts on it when it is woken, or by itself at its deadline.
///
/// Returns false if the deadline had passed: then the thread has acted without us. For the deciding thread only.
bool hf_capture_decide(uint32_t slot, uint32_t verdict);

/// Wakes the thread that is parked with a slot. For the deciding thread only.
void hf_capture_wake(uint32_t slot);

/// How many records wait for a verdict. Safe to call from any thread.
uint32_t hf_capture_waiting_count(void);

/// Adds facts to a record. Safe to call from a signal handler.
void hf_capture_add_facts(HFRecord *_Nonnull record, uint32_t facts);

/// The record in a slot.
HFRecord *_Nonnull hf_capture_record(uint32_t slot);

/// Claims a free slot other than the last, or returns NULL. The thread that faulted and the report both hold it from then on. Safe to call
/// from a signal handler.
HFRecord *_Nullable hf_async_claim_slot(void);

/// Lets go of a slot for the thread that faulted, which has read its record. Safe to call from a signal handler.
void hf_async_leave_record(HFRecord *_Nonnull record);

/// Lets go of a slot for the report, which is in the store, or counted in another record.
///
/// The record cannot be read afterwards. The slot is free when the thread that faulted has let go of it, too.
void hf_capture_release(uint32_t slot);

/// Whether a thread that faulted may still read its record, even after the verdict.
bool hf_capture_is_parked(uint32_t slot);

/// Adds the count of a decided slot, which no thread reads any more, to another record, and frees the slot.
///
/// Nobody else may read or change either record meanwhile.
void hf_capture_fold(uint32_t slot, uint32_t other);

/// Notes in the record of a decided slot that the log has a line of the fault.
void hf_capture_note_told(uint32_t slot);

/// Reads memory that may not be there.
///
/// Returns the number of bytes read, which is less than `size` if the memory ends before. Safe to call from a signal handler.
size_t hf_async_read_memory(uint64_t address, void *_Nonnull buffer, size_t size);

/// Replaces the process by a fresh one in place: same pid, same arguments, kept descriptors.
///
/// Returns only if that fails. For a thread that ends then: its descriptors are its own. Safe to call from a signal handler.
void hf_async_restart(void);

/// The same for a thread that goes on. Not from a signal handler.
void hf_capture_restart(void);

/// Copies what the Swift runtime says of a fault out of its text: what is there last, but for its warnings.
///
/// A longer one is cut at `size` - 1 bytes. Returns the length, 0 if there are warnings only. Safe to call from a signal handler.
size_t hf_async_copy_fatal_error(char *_Nonnull destination, size_t size, const char *_Nonnull text);

/// Drops the Swift runtime's text of the fault that was resumed: the runtime would append to it for ever.
///
/// Frees nothing, because another thread may be reading it. Safe to call from any thread.
void hf_capture_clear_messages(void);

/// Whether Foundation's NSConditionLock counts as a lock, or there is no Foundation. Its functions are found by name.
bool hf_capture_counts_condition_locks(void);

#ifdef __cplusplus
}
#endif

#endif
