// The main dispatch queue, seen from a run loop (the two functions that CFRunLoop uses), and the main thread.

#include "linux_shims.h"

#include <stddef.h>
#include <unistd.h>

// Weak: an executable that does not link libdispatch must not need it for these.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

bool hf_has_main_queue(void) {
    return _dispatch_get_main_queue_handle_4CF != NULL && _dispatch_main_queue_callback_4CF != NULL;
}

int hf_main_queue_handle(void) {
    if (!hf_has_main_queue()) {
        return -1;
    }
    return _dispatch_get_main_queue_handle_4CF();
}

void hf_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF != NULL) {
        _dispatch_main_queue_callback_4CF(NULL);
    }
}

bool hf_is_main_thread(void) { return gettid() == getpid(); }

int hf_thread_id(void) { return gettid(); }
