// Stands before epoll_create(2) and epoll_wait(2): an event loop waits with it on its own thread (NIO's SelectableEventLoop, libuv's uv__io_poll, libev).

#include "epoll_threads.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epoll_move.h"
#include "next_function.h"

/// By the number of the instance, the one thread that waits for its events. Loops are made at the start of a program, so their numbers are low.
enum { MOST = 4096, SHARED = -1 };
static _Atomic(pid_t) waiters[MOST];

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static __thread pid_t own;

/// Nobody has waited for the events of a new instance.
static int note_new(int epoll) {
    if (epoll >= 0 && epoll < MOST) {
        atomic_store_explicit(&waiters[epoll], 0, memory_order_relaxed);
    }
    return epoll;
}

int epoll_create(int size) {
    static _Atomic(void *) next;
    return note_new(((__typeof__(&epoll_create))hf_next_function(&next, "epoll_create"))(size));
}

int epoll_create1(int flags) {
    static _Atomic(void *) next;
    return note_new(((__typeof__(&epoll_create1))hf_next_function(&next, "epoll_create1"))(flags));
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int limit) {
    static _Atomic(void *) next;
    if (own == 0) {
        own = gettid();
    }
    if (epoll >= 0 && epoll < MOST) {
        pid_t known = atomic_load_explicit(&waiters[epoll], memory_order_relaxed);
        if (known != own && known != SHARED &&
            (known != 0 || !atomic_compare_exchange_strong(&waiters[epoll], &known, own))) {
            atomic_store_explicit(&waiters[epoll], SHARED, memory_order_relaxed);
        }
    }
    return ((__typeof__(&epoll_wait))hf_next_function(&next, "epoll_wait"))(epoll, events, most, limit);
}

#endif

/// Whether a descriptor is a connection; then its peer's address.
static bool is_connection(int descriptor, struct sockaddr_storage *peer) {
    socklen_t size = sizeof *peer;
    int type = 0;
    socklen_t type_size = sizeof type;
    return getpeername(descriptor, (struct sockaddr *)peer, &size) == 0 &&
           getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM;
}

static void end_connection(void *context, int descriptor, uint64_t inode, uint32_t events, uint64_t data) {
    (void)events;
    (void)data;
    struct stat status;
    struct sockaddr_storage peer;
    // What is watched may be closed here and open elsewhere, and its number another file's (epoll(7)).
    if (fstat(descriptor, &status) == 0 && status.st_ino == inode && is_connection(descriptor, &peer) &&
        shutdown(descriptor, SHUT_RDWR) == 0) {
        *(int *)context += 1;
    }
}

int hf_epoll_end_connections(int thread) {
    int ended = 0;
    for (int epoll = 0; epoll < MOST; epoll += 1) {
        if (atomic_load_explicit(&waiters[epoll], memory_order_relaxed) == thread) {
            (void)hf_epoll_each(epoll, end_connection, &ended);
        }
    }
    return ended;
}

void hf_end_connections(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int descriptor = atoi(entry->d_name);
        struct sockaddr_storage peer;
        // Others may share a Unix socket: that of the journal, for example.
        if (descriptor > STDERR_FILENO && is_connection(descriptor, &peer) &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6)) {
            shutdown(descriptor, SHUT_RDWR);
        }
    }
    closedir(folder);
}
