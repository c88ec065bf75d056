// What the Glibc overlay does not import: epoll, eventfd, and the main dispatch queue's hooks for a run loop.

#ifndef HF_LINUX_SHIMS_H
#define HF_LINUX_SHIMS_H

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the descriptor that is readable while the main dispatch queue has work, or -1 when the process has no
/// libdispatch.
///
/// Provided because libdispatch exports the function but declares it in no public header, and because the
/// reference must be weak. The descriptor belongs to libdispatch. Not safe to call from a signal handler.
int hf_main_queue_handle(void);

/// Runs what the main dispatch queue has queued. To be called on the main thread only, never from inside itself.
///
/// Does nothing when the process has no libdispatch. Not safe to call from a signal handler: runs user code.
void hf_main_queue_drain(void);

/// Says whether the calling thread is the one that the process started with.
///
/// Provided because the Glibc overlay lacks gettid(2). Safe to call from a signal handler.
bool hf_is_main_thread(void);

#ifdef __cplusplus
}
#endif

#endif
