// How often this process is a child of fork(2), counted from when somebody asked for it.

#include <pthread.h>

#include "linux_shims.h"

unsigned int hf_forks;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

// Runs in the child, which may hold the locks of threads it does not have: safe to call from a signal handler.
static void count_fork(void) { __atomic_fetch_add(&hf_forks, 1, __ATOMIC_RELAXED); }

static void watch(void) { pthread_atfork(NULL, NULL, count_fork); }

void hf_fork_count_watch(void) { pthread_once(&watched, watch); }
