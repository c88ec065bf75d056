// Stands before epoll_create(2) and epoll_wait(2): an event loop waits with it on its own thread (NIO's SelectableEventLoop, libuv's uv__io_poll, libev).

#include "epoll_threads.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
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

bool hf_epoll_is_loop(int thread) {
    for (int epoll = 0; epoll < MOST; epoll += 1) {
        if (thread > 0 && atomic_load_explicit(&waiters[epoll], memory_order_relaxed) == thread) {
            return true;
        }
    }
    return false;
}

/// Calls a function for each connection of the process. Returns false where they cannot be known.
static bool each_connection(void (*call)(int descriptor, const struct sockaddr_storage *peer)) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return false;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int descriptor = atoi(entry->d_name);
        struct sockaddr_storage peer;
        if (descriptor > STDERR_FILENO && is_connection(descriptor, &peer)) {
            call(descriptor, &peer);
        }
    }
    closedir(folder);
    return true;
}

/// A set of descriptors: those beyond are in no set.
enum { SET = 1 << 16 };
typedef struct Descriptors {
    uint64_t words[SET / 64];
} Descriptors;

static bool contains(const Descriptors *set, int descriptor) {
    return descriptor < SET && (set->words[descriptor / 64] >> descriptor % 64 & 1) != 0;
}

static void insert(Descriptors *set, int descriptor) {
    if (descriptor < SET) {
        set->words[descriptor / 64] |= 1ull << descriptor % 64;
    }
}

static Descriptors watched;
/// Found unwatched by the call before, and by this one.
static Descriptors suspects;
static Descriptors found;
static int ended_unwatched;

static void note_watched(void *context, int descriptor, uint64_t inode, uint32_t events, uint64_t data) {
    (void)context;
    (void)inode;
    (void)events;
    (void)data;
    insert(&watched, descriptor);
}

/// Whether all that has come is still there: a server that watches nothing, because it waits in read(2), reads at once.
static bool is_unread(int descriptor) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int waiting = 0;
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           size >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received &&
           ioctl(descriptor, SIOCINQ, &waiting) == 0 && info.tcpi_bytes_received == (uint64_t)waiting;
}

static void look_at_connection(int descriptor, const struct sockaddr_storage *peer) {
    (void)peer;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    if (contains(&watched, descriptor) || !is_unread(descriptor) ||
        getsockname(descriptor, (struct sockaddr *)&own, &length) != 0 ||
        !hf_listeners_is_offered((const struct sockaddr *)&own, length)) {
        return;
    }
    insert(&found, descriptor);
    if (contains(&suspects, descriptor) && shutdown(descriptor, SHUT_RDWR) == 0) {
        ended_unwatched += 1;
    }
}

static bool look_at_instance(void *context, int epoll) { return hf_epoll_each(epoll, note_watched, context); }

int hf_epoll_end_unwatched_connections(void) {
    watched = found = (Descriptors){0};
    ended_unwatched = 0;
    if (!hf_epoll_each_instance(look_at_instance, NULL)) {
        return 0;
    }
    (void)each_connection(look_at_connection);
    suspects = found;
    return ended_unwatched;
}

static void end_over_network(int descriptor, const struct sockaddr_storage *peer) {
    // Others may share a Unix socket: that of the journal, for example.
    if (peer->ss_family == AF_INET || peer->ss_family == AF_INET6) {
        shutdown(descriptor, SHUT_RDWR);
    }
}

void hf_end_connections(void) { (void)each_connection(end_over_network); }
