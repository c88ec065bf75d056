// Which thread waits for the events of which epoll instance. A thread that has faulted and stands still leaves its connections without an answer:
// nobody else waits for their events, and their peers would wait until the process ends.
//
// Ordinary code. Callable from any thread.

#ifndef HF_EPOLL_THREADS_H
#define HF_EPOLL_THREADS_H

/// Ends the connections of a thread that will never wait for events again: those that are watched by the instances for whose events nobody else
/// has waited, as shutdown(2) does. Their descriptors stay open, and their peers see the end at once.
///
/// - Returns: How many.
int hf_epoll_end_connections(int thread);

/// Ends the connections over a network of this process, as shutdown(2) does: what was written is sent, and peers see the end now.
///
/// For a process that is about to end: the kernel closes descriptors after it has taken the memory down, which takes 5 ms for 60 MiB
/// (kernel/exit.c, do_exit(): exit_mm() before exit_files()).
void hf_end_connections(void);

#endif
