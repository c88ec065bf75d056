// How often this process is a child of fork(2), counted from when somebody asked for it.

#include <pthread.h>
#include <stdatomic.h>

#include "linux_shims.h"

static atomic_uint fork_count;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

// Runs in the child, which may hold the locks of threads it does not have: safe to call from a signal handler.
static void count_fork(void) { atomic_fetch_add_explicit(&fork_count, 1, memory_order_relaxed); }

static void watch(void) { pthread_atfork(NULL, NULL, count_fork); }

void hf_fork_count_watch(void) { pthread_once(&watched, watch); }

unsigned int hf_fork_count(void) { return atomic_load_explicit(&fork_count, memory_order_relaxed); }
