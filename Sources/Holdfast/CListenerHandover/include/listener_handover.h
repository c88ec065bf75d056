// Listening sockets for servers that can only open their own: bind(2) of an address at which a socket listens already, one that a
// supervisor or the process before this one has handed over, gives them that one.
//
// Ordinary code. Callable from any thread.

#ifndef HF_LISTENER_HANDOVER_H
#define HF_LISTENER_HANDOVER_H

#include <stdbool.h>

/// How many sockets can be offered at a time.
enum { HF_LISTENERS_MOST = 256 };

/// Offers a stream socket that listens to whoever binds its address.
///
/// - Parameter once: Whether one bind(2) takes it; else each gets a copy, and others hold the socket, too.
/// - Returns: 0, or an error: ENOTSOCK or EINVAL for what is no such socket, ENOSPC.
int hf_listeners_offer(int descriptor, bool once);

/// Takes an offer back.
///
/// - Returns: Whether it was there: nobody has taken it, and nobody will.
bool hf_listeners_withdraw(int descriptor);

/// Notes which epoll instances watch copies of sockets that were offered, so that hf_listeners_rest() needs not search. To be called when servers
/// accept.
void hf_listeners_note_watchers(void);

/// Has the epoll instances that watch copies of sockets that were offered hear of no more connections there.
void hf_listeners_rest(void);

/// The same for those that hf_listeners_note_watchers() has noted, unless another thread has the lock. Allocates nothing, and does not wait.
void hf_listeners_rest_noted(void);

/// The same for one socket that the process has opened by itself.
void hf_listeners_rest_at(int descriptor);

/// Has a function called before a socket that was offered is given away, on the thread that binds. It may wait. NULL for none.
void hf_listeners_set_gate(void (*_Nullable gate)(void));

/// Has a function called on the thread that has called listen(2), with its descriptor, and with the one that was offered, once, and is taken
/// now: -1 for none. Not called for copies. NULL for none.
void hf_listeners_set_observer(void (*_Nullable began)(int descriptor, int taken));

#endif
