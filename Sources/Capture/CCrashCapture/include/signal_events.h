// Asynchronous signals as events: observing them, taking them, and restoring the former actions.

#ifndef HF_SIGNAL_EVENTS_H
#define HF_SIGNAL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A signal that arrived, as its handler saw it. Values that the sender did not give are 0.
typedef struct HFSignalEvent {
    int64_t time_unix_nanoseconds;
    int32_t signal;
    int32_t code;
    /// The sender; of SIGCHLD the child.
    int32_t sender_pid;
    uint32_t sender_uid;
    /// The value of sigqueue(3), of a timer or of a message queue.
    int64_t value;
    /// Of SIGCHLD: an exit status or a signal; the code says which.
    int32_t status;
    /// Of SI_TIMER: further expirations that this signal stands for.
    int32_t overrun;
    /// The descriptor of a descriptor's signal (fcntl(2), F_SETSIG), else -1, and its events in the form of poll(2).
    int32_t descriptor;
    int32_t descriptor_events;
    /// Earlier signals of this number that found no room.
    uint64_t lost;
    /// Whether the event is only that count.
    bool is_count_only;
    /// Whether it is an order to end that the process before this one took.
    bool is_repeated;
} HFSignalEvent;

/// Why a signal cannot be observed.
typedef enum __attribute__((enum_extensibility(closed))) HFSignalObstacle : int32_t {
    HFSignalObstacleNone = 0,
    /// It is the signal of a fault, which is captured.
    HFSignalObstacleFault = 1,
    /// SIGKILL, SIGSTOP.
    HFSignalObstacleKernel = 2,
    /// The C library's own real-time signals, below SIGRTMIN.
    HFSignalObstacleLibrary = 3,
    /// No signal has this number.
    HFSignalObstacleNoSignal = 4,
    /// Threads are asked by it to stand still (thread_sampling.h).
    HFSignalObstacleSamples = 5,
} HFSignalObstacle;

HFSignalObstacle hf_signal_obstacle(int signal);

/// Turns a signal into events on `descriptor`, an eventfd, and unblocks it on the calling thread.
///
/// Returns 0 or an `errno`: EINVAL for a signal that has an obstacle. Not safe to call from a signal handler.
int hf_signal_observe(int signal, int descriptor);

/// Restores the former action of every observed signal while nobody takes the events; hf_signal_next() still takes those that wait. Not
/// while another thread calls hf_signal_observe() or hf_signal_stop(). Not safe to call from a signal handler.
void hf_signal_give_up(void);

/// Undoes hf_signal_give_up().
void hf_signal_take_up(void);

/// Restores the action from before hf_signal_observe(), unless the handler is not ours any more; waits for handlers that run.
///
/// For the thread that observed. Not safe to call from a signal handler.
void hf_signal_stop(int signal);

/// Lets a signal do nothing until hf_signal_restore(), unless it is ignored already.
///
/// It gets a handler, because execve(2) keeps ignored signals ignored but resets handlers: so children begin with the default action.
/// Returns 0 or an `errno`. Not safe to call from a signal handler.
int hf_signal_discard(int signal);

/// Restores the action from before hf_signal_discard(), unless the handler is not ours any more.
void hf_signal_restore(int signal);

/// Unblocks the observed signals on the calling thread. Not safe to call from a signal handler.
void hf_signal_let_through(void);

/// Unblocks signals that a restart held back, as bits.
void hf_signal_release(uint64_t signals);

/// Blocks on the calling thread the signals that a service thread leaves to others, and returns the former mask, as bits. A thread that is
/// made now begins with this mask. The fault signals are not among them, unless that is asked for.
///
/// Real-time signals keep their order only if one thread takes them.
uint64_t hf_signal_block_for_service(bool with_faults);

/// Unblocks the fault signals on the calling thread.
void hf_signal_unblock_faults(void);

/// Sets the mask of the calling thread, as bits.
void hf_signal_set_mask(uint64_t mask);

/// Takes the oldest event; false if there is none. For one thread at a time.
///
/// An order to end (SIGTERM, SIGINT) that was taken comes again in the next process if this one is restarted within 90 seconds.
bool hf_signal_next(HFSignalEvent *_Nonnull event);

/// Forgets the orders that were taken: the process has carried them out, or wants a restart.
void hf_signal_settle_orders(void);

/// Whether a signal is an order to end.
bool hf_signal_is_order(int signal);

/// The order to end that the process still has to carry out, or 0.
int hf_signal_due_order(void);

/// The order to end that the program has taken itself and carries out in its own way, or 0.
int hf_signal_own_order(void);

/// Ends the process by the default action of an order to end.
__attribute__((noreturn)) void hf_signal_end_by(int signal);

#ifdef __cplusplus
}
#endif

#endif
