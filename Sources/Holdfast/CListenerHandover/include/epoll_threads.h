// Which thread waits for the events of which epoll instance. A thread that has faulted and stands still leaves its connections without an answer:
// nobody else waits for their events, and their peers would wait until the process ends.
//
// Ordinary code. Callable from any thread.

#ifndef HF_EPOLL_THREADS_H
#define HF_EPOLL_THREADS_H

#include <stdbool.h>

/// Ends the connections of a thread that will never wait for events again: those that are watched by the instances for whose events nobody else
/// has waited, as shutdown(2) does. Their descriptors stay open, and their peers see the end at once.
///
/// - Returns: How many.
int hf_epoll_end_connections(int thread);

/// Whether a thread waits for the events of an epoll instance: an event loop.
bool hf_epoll_is_loop(int thread);

/// Ends the TCP connections that came in at an offered socket, that no event loop watches and of which nobody has read, if the call before this
/// one has found the same: they were accepted for a loop that stands still, which will never register them. To be called twice, some milliseconds apart, once nobody accepts
/// any more. One thread at a time.
///
/// - Returns: How many.
int hf_epoll_end_unwatched_connections(void);

/// Ends the connections over a network of this process, as shutdown(2) does: what was written is sent, and peers see the end now.
///
/// For a process that is about to end: the kernel closes descriptors after it has taken the memory down, which takes 5 ms for 60 MiB
/// (kernel/exit.c, do_exit(): exit_mm() before exit_files()).
void hf_end_connections(void);

#endif
