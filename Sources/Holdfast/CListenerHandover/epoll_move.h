// What epoll instances watch under a descriptor that is about to be another file's.

#ifndef HF_EPOLL_MOVE_H
#define HF_EPOLL_MOVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { HF_EPOLL_MOST = 8 };

typedef struct HFEpollEntry {
    int epoll;
    uint32_t events;
    uint64_t data;
} HFEpollEntry;

typedef struct HFEpollEntries {
    int count;
    HFEpollEntry entries[HF_EPOLL_MOST];
} HFEpollEntries;

/// Calls a function for each file that an instance watches: with the descriptor under which, the file's inode, the events and the data of the
/// registration. Returns false where that cannot be known.
bool hf_epoll_each(int epoll, void (*call)(void *context, int descriptor, uint64_t inode, uint32_t events, uint64_t data), void *context)
    __attribute__((visibility("hidden")));

/// Calls a function for each instance of this process. Returns whether they can be known, and the function has always returned true.
bool hf_epoll_each_instance(bool (*call)(void *context, int epoll), void *context) __attribute__((visibility("hidden")));

/// Finds out which instances of this process watch a descriptor. Returns false where that cannot be known.
bool hf_epoll_entries_find(int descriptor, HFEpollEntries *found) __attribute__((visibility("hidden")));

/// Has the instances that watch a descriptor hear of nothing but its errors.
void hf_epoll_entries_rest(int descriptor, const HFEpollEntries *found) __attribute__((visibility("hidden")));

/// Has the same instances watch the file that is open under the descriptor now.
void hf_epoll_entries_restore(int descriptor, const HFEpollEntries *found) __attribute__((visibility("hidden")));

/// Whether an address of this process is that of a socket that was offered: also of a connection that came in there.
bool hf_listeners_is_offered(const struct sockaddr *address, socklen_t length) __attribute__((visibility("hidden")));

#endif
