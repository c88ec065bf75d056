// Asynchronous signals as events: observing them, taking them, and giving back what stood before.

#ifndef HF_SIGNAL_EVENTS_H
#define HF_SIGNAL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One signal that arrived, as its handler saw it. What the sender did not give is 0.
typedef struct HFSignalEvent {
    int64_t time_unix_nanoseconds;
    int32_t signal;
    int32_t code;
    /// The sender; of SIGCHLD the child.
    int32_t sender_pid;
    uint32_t sender_uid;
    /// The value of sigqueue(3), of a timer or of a message queue.
    int64_t value;
    /// Of SIGCHLD: an exit status or a signal, as the code says.
    int32_t status;
    /// Of SI_TIMER: the expirations that this signal stands for beside its own.
    int32_t overrun;
    /// Of a descriptor's signal (fcntl(2), F_SETSIG), else -1, and its events as poll(2) has them.
    int32_t descriptor;
    int32_t descriptor_events;
    /// Signals of this number that came before this one and found no room.
    uint64_t lost;
    /// Whether this is nothing but that count.
    bool is_count_only;
    /// Whether it is an order to end that the process before this one took.
    bool is_repeated;
} HFSignalEvent;

/// Why a signal cannot be observed.
typedef enum __attribute__((enum_extensibility(closed))) HFSignalObstacle : int32_t {
    HFSignalObstacleNone = 0,
    /// Faults are captured.
    HFSignalObstacleFault = 1,
    /// SIGKILL, SIGSTOP.
    HFSignalObstacleKernel = 2,
    /// The C library's own real-time signals, below SIGRTMIN.
    HFSignalObstacleLibrary = 3,
    /// No signal has this number.
    HFSignalObstacleNoSignal = 4,
    /// By it threads are asked to stand still (thread_sampling.h).
    HFSignalObstacleSamples = 5,
} HFSignalObstacle;

HFSignalObstacle hf_signal_obstacle(int signal);

/// Turns a signal into events on `descriptor`, an eventfd, and lets it through on the calling thread.
///
/// Returns 0 or an `errno`: EINVAL for what has an obstacle. Not safe to call from a signal handler.
int hf_signal_observe(int signal, int descriptor);

/// Lets every observed signal act as it did before, for as long as nobody takes the events; what waits is still taken by
/// hf_signal_next(). Not while another thread calls hf_signal_observe() or hf_signal_stop(). Not safe to call from a signal handler.
void hf_signal_give_up(void);

/// Ends what hf_signal_give_up() has begun.
void hf_signal_take_up(void);

/// Gives back what stood before hf_signal_observe(), where the handler is still ours; waits for handlers that run.
///
/// For the thread that observed. Not safe to call from a signal handler.
void hf_signal_stop(int signal);

/// Lets a signal do nothing until hf_signal_restore(), unless it is ignored already.
///
/// By a handler: execve(2) keeps what is ignored and resets what is handled, so children begin with the default action.
/// Returns 0 or an `errno`. Not safe to call from a signal handler.
int hf_signal_discard(int signal);

/// Gives back what stood before hf_signal_discard(), where the handler is still ours.
void hf_signal_restore(int signal);

/// Unblocks the observed signals on the calling thread. Not safe to call from a signal handler.
void hf_signal_let_through(void);

/// Lets signals through that a restart held back, as bits.
void hf_signal_release(uint64_t signals);

/// Blocks on the calling thread what a thread of ours should leave to others, and returns what was blocked before, as bits: a
/// thread that is made now begins like that.
///
/// Real-time signals keep their order only when one thread takes them.
uint64_t hf_signal_block_for_service(void);

/// Sets the mask of the calling thread, as bits.
void hf_signal_set_mask(uint64_t mask);

/// Takes the oldest event; false when there is none. For one thread at a time.
///
/// An order to end (SIGTERM, SIGINT) that was taken comes again in the next process, should this one be restarted within 90 seconds.
bool hf_signal_next(HFSignalEvent *_Nonnull event);

/// Forgets the orders that were taken: they were carried out, or the program wants a restart.
void hf_signal_settle_orders(void);

/// Whether a signal is an order to end.
bool hf_signal_is_order(int signal);

/// The order to end that the process has yet to carry out, or 0.
int hf_signal_due_order(void);

/// Ends the process by the default action of an order to end.
__attribute__((noreturn)) void hf_signal_end_by(int signal);

#ifdef __cplusplus
}
#endif

#endif
