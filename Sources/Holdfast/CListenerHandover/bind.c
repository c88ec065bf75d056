// Stands before bind(2) and listen(2). A socket that is bound to an address which was offered becomes, under its own number, the socket that
// was offered: it listens already, and clients may wait in its backlog.

#include "listener_handover.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "epoll_move.h"
#include "next_function.h"

typedef struct Offer {
    int descriptor;
    bool once;
    /// Which descriptor has taken it and has not called listen(2) yet; -1 for none.
    int taker;
    socklen_t length;
    struct sockaddr_storage address;
} Offer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Protected by `lock`.
static Offer offers[HF_LISTENERS_MOST];
static int count;
/// Descriptors that were made copies of offers, the latest ones: they may be other files by now.
static int copies[HF_LISTENERS_MOST];
static unsigned copy_count;
/// What watched them when that was noted.
static HFEpollEntries watchers_of_copies[HF_LISTENERS_MOST];

/// The process whose sockets these are: a forked child binds as ever, and takes no lock.
static _Atomic(pid_t) owner;
static _Atomic(void *) next_bind;
static _Atomic(void *) next_listen;

/// How many offers there are, looked at without the lock.
static _Atomic(int) offered;
static _Atomic(void (*)(void)) gate;
static _Atomic(void (*)(int, int)) observer;

/// Everything that a forked child must not do: it may call bind(2), but no function that takes a lock (fork(2)).
static void prepare(void) {
    (void)hf_next_function(&next_bind, "bind");
    (void)hf_next_function(&next_listen, "listen");
    atomic_store(&owner, getpid());
}

static bool is_listening_stream(int descriptor) {
    int type = 0;
    int listens = 0;
    socklen_t size = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        return false;
    }
    size = sizeof listens;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

int hf_listeners_offer(int descriptor, bool once) {
    Offer offer = {.descriptor = descriptor, .once = once, .taker = -1, .length = sizeof offer.address};
    if (getsockname(descriptor, (struct sockaddr *)&offer.address, &offer.length) != 0) {
        return errno;
    }
    if (!is_listening_stream(descriptor)) {
        return EINVAL;
    }
    prepare();
    pthread_mutex_lock(&lock);
    bool has_room = count < HF_LISTENERS_MOST;
    if (has_room) {
        offers[count] = offer;
        count += 1;
        atomic_store(&offered, count);
    }
    pthread_mutex_unlock(&lock);
    return has_room ? 0 : ENOSPC;
}

/// The lock is held.
static void forget(int index) {
    count -= 1;
    offers[index] = offers[count];
    atomic_store(&offered, count);
}

bool hf_listeners_withdraw(int descriptor) {
    bool is_found = false;
    pthread_mutex_lock(&lock);
    for (int i = count - 1; i >= 0; i -= 1) {
        if (offers[i].descriptor == descriptor && offers[i].taker < 0) {
            forget(i);
            is_found = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

/// Whether two descriptors are open on the same file.
static bool are_same(int one, int other) {
    struct stat first;
    struct stat second;
    return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/// Whether others hold a copy, too; the lock is held.
static bool is_shared(int copy) {
    for (int i = 0; i < count; i += 1) {
        if (!offers[i].once && are_same(copy, offers[i].descriptor)) {
            return true;
        }
    }
    return false;
}

void hf_listeners_note_watchers(void) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < copy_count && i < HF_LISTENERS_MOST; i += 1) {
        if (is_shared(copies[i])) {
            (void)hf_epoll_entries_find(copies[i], &watchers_of_copies[i]);
        }
    }
    pthread_mutex_unlock(&lock);
}

/// The lock is held.
static void rest(bool searches) {
    for (unsigned i = 0; i < copy_count && i < HF_LISTENERS_MOST; i += 1) {
        HFEpollEntries *watchers = &watchers_of_copies[i];
        // The search takes a millisecond, in which others would go on accepting.
        if (is_shared(copies[i]) &&
            (watchers->count > 0 || (searches && hf_epoll_entries_find(copies[i], watchers)))) {
            hf_epoll_entries_rest(copies[i], watchers);
        }
    }
}

void hf_listeners_rest(void) {
    pthread_mutex_lock(&lock);
    rest(true);
    pthread_mutex_unlock(&lock);
}

void hf_listeners_rest_noted(void) {
    if (pthread_mutex_trylock(&lock) == 0) {
        rest(false);
        pthread_mutex_unlock(&lock);
    }
}

void hf_listeners_rest_at(int descriptor) {
    HFEpollEntries watchers;
    if (is_listening_stream(descriptor) && hf_epoll_entries_find(descriptor, &watchers)) {
        hf_epoll_entries_rest(descriptor, &watchers);
    }
}

void hf_listeners_set_gate(void (*wanted)(void)) { atomic_store(&gate, wanted); }

void hf_listeners_set_observer(void (*wanted)(int, int)) {
    prepare();
    atomic_store(&observer, wanted);
}

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// MARK: Addresses

/// The port, and whether it is that of all addresses of the host; 0 for another family.
static in_port_t port_of(const struct sockaddr *address, socklen_t length, bool *is_all) {
    if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *place = (const struct sockaddr_in *)address;
        *is_all = place->sin_addr.s_addr == htonl(INADDR_ANY);
        return place->sin_port;
    }
    if (address->sa_family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        const struct sockaddr_in6 *place = (const struct sockaddr_in6 *)address;
        *is_all = IN6_IS_ADDR_UNSPECIFIED(&place->sin6_addr);
        return place->sin6_port;
    }
    return 0;
}

/// The name of a Unix socket, without the zero that ends a path.
static size_t unix_name(const struct sockaddr *address, socklen_t length, const char **name) {
    size_t start = offsetof(struct sockaddr_un, sun_path);
    *name = (const char *)address + start;
    if (length <= start) {
        return 0;
    }
    return (*name)[0] == 0 ? length - start : strnlen(*name, length - start);
}

/// Whether clients still reach a Unix socket by its name: its file may have been removed.
static bool is_reachable(const char *name, size_t size) {
    struct stat status;
    char path[sizeof((struct sockaddr_un *)0)->sun_path + 1] = {0};
    memcpy(path, name, size);
    return name[0] == 0 || (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode));
}

/// Whether the socket of an offer is where another is to be bound: at the same place, or both at all addresses of the host.
static bool serves(const Offer *offer, const struct sockaddr *wanted, socklen_t length) {
    const struct sockaddr *own = (const struct sockaddr *)&offer->address;
    if (own->sa_family == AF_UNIX && wanted->sa_family == AF_UNIX) {
        const char *name;
        const char *other;
        size_t size = unix_name(wanted, length, &name);
        return size > 0 && size <= sizeof((struct sockaddr_un *)0)->sun_path &&
               unix_name(own, offer->length, &other) == size && memcmp(name, other, size) == 0 && is_reachable(name, size);
    }
    bool own_is_all = false;
    bool is_all = false;
    in_port_t port = port_of(wanted, length, &is_all);
    if (port == 0 || port != port_of(own, offer->length, &own_is_all)) {
        return false;
    }
    if (is_all || own_is_all) {
        return is_all && own_is_all;
    }
    if (own->sa_family != wanted->sa_family) {
        return false;
    }
    if (own->sa_family == AF_INET) {
        return ((const struct sockaddr_in *)own)->sin_addr.s_addr == ((const struct sockaddr_in *)wanted)->sin_addr.s_addr;
    }
    return memcmp(&((const struct sockaddr_in6 *)own)->sin6_addr, &((const struct sockaddr_in6 *)wanted)->sin6_addr,
                  sizeof(struct in6_addr)) == 0;
}

/// The lock is held. Returns the index of an offer that nobody has taken, or -1.
static int find(const struct sockaddr *address, socklen_t length) {
    for (int i = 0; i < count; i += 1) {
        if (offers[i].taker < 0 && serves(&offers[i], address, length)) {
            return i;
        }
    }
    return -1;
}

bool hf_listeners_is_offered(const struct sockaddr *address, socklen_t length) {
    bool is_all = false;
    in_port_t port = port_of(address, length, &is_all);
    bool is_offered = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && !is_offered; i += 1) {
        // A connection to a socket at all addresses has one of them.
        is_offered = !offers[i].once &&
                     (port != 0 ? port == port_of((const struct sockaddr *)&offers[i].address, offers[i].length, &is_all)
                                : serves(&offers[i], address, length));
    }
    pthread_mutex_unlock(&lock);
    return is_offered;
}

// MARK: Exchanging

/// Has the descriptor refer to the socket of an offer; the lock is held. Returns 0, or -1 with errno.
static int exchange(int descriptor, const Offer *offer, const HFEpollEntries *watchers) {
    int flags = fcntl(descriptor, F_GETFL);
    int is_closed_on_exec = fcntl(descriptor, F_GETFD) & FD_CLOEXEC;
    if (flags < 0 || dup3(offer->descriptor, descriptor, is_closed_on_exec != 0 ? O_CLOEXEC : 0) < 0) {
        return -1;
    }
    // Both share it from now on, and the one that accepts decides.
    int shared = fcntl(descriptor, F_GETFL);
    fcntl(descriptor, F_SETFL, (shared & ~O_NONBLOCK) | (flags & O_NONBLOCK));
    hf_epoll_entries_restore(descriptor, watchers);
    return 0;
}

/// Gives an offered socket away, if there is one at the address. Returns 1 if there is none, else as bind(2).
static int take(int descriptor, const struct sockaddr *address, socklen_t length) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getpid() != atomic_load(&owner) || address == NULL || length < sizeof(sa_family_t) ||
        getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        return 1;
    }
    pthread_mutex_lock(&lock);
    bool is_offered = find(address, length) >= 0;
    pthread_mutex_unlock(&lock);
    // Without proc(5) nobody knows who watches the descriptor.
    HFEpollEntries watchers;
    if (!is_offered || !hf_epoll_entries_find(descriptor, &watchers)) {
        return 1;
    }
    void (*wait)(void) = atomic_load(&gate);
    if (wait != NULL) {
        wait();
    }
    pthread_mutex_lock(&lock);
    int index = find(address, length);
    int result = index >= 0 ? exchange(descriptor, &offers[index], &watchers) : 1;
    int error = errno;
    if (result == 0 && offers[index].once) {
        offers[index].taker = descriptor;
    } else if (result == 0) {
        copies[copy_count % HF_LISTENERS_MOST] = descriptor;
        watchers_of_copies[copy_count % HF_LISTENERS_MOST].count = 0;
        copy_count += 1;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

/// What was offered, once, and is the caller's now; -1 for none. `is_copy` says that others hold it, too.
static int settle(int descriptor, bool *is_copy) {
    int taken = -1;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    *is_copy = false;
    if (atomic_load(&offered) == 0 || getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    pthread_mutex_lock(&lock);
    for (int i = count - 1; i >= 0; i -= 1) {
        if (offers[i].taker == descriptor) {
            taken = offers[i].descriptor;
            forget(i);
        } else if (!offers[i].once && serves(&offers[i], (struct sockaddr *)&address, length)) {
            *is_copy = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

// MARK: Standing before

int bind(int descriptor, __CONST_SOCKADDR_ARG address, socklen_t length) {
    if (atomic_load(&offered) > 0) {
        int result = take(descriptor, address.__sockaddr__, length);
        if (result <= 0) {
            return result;
        }
    }
    return ((__typeof__(&bind))hf_next_function(&next_bind, "bind"))(descriptor, address, length);
}

int listen(int descriptor, int backlog) {
    int result = ((__typeof__(&listen))hf_next_function(&next_listen, "listen"))(descriptor, backlog);
    void (*began)(int, int) = atomic_load(&observer);
    if (result != 0 || (began == NULL && atomic_load(&offered) == 0) || getpid() != atomic_load(&owner)) {
        return result;
    }
    bool is_copy;
    int taken = settle(descriptor, &is_copy);
    if (began != NULL && !is_copy && is_listening_stream(descriptor)) {
        began(descriptor, taken);
    }
    return result;
}

#endif
