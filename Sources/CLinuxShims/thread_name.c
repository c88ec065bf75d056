// The name of a thread, as /proc and debuggers show it.

#include <pthread.h>

#include "linux_shims.h"

// ERANGE for a name that is too long: the caller cuts it.
void hf_thread_set_name(const char *name) { pthread_setname_np(pthread_self(), name); }
