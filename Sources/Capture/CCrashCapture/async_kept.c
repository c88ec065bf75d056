// What is kept, as a fault handler hands it on: to the next program of this process, or to the process that stands by.

#include "async_kept.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "kept_table.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { slots_at_a_time = 256 };

static bool read_at(int table, void *buffer, long size, uint64_t offset) {
    return HF_SYSCALL4(SYS_pread64, table, buffer, size, offset) == size;
}

static bool is_ours(const HFKeptHeader *header) {
    static const char magic[sizeof header->magic] = "HFKEPT";
    for (unsigned i = 0; i < sizeof magic; i += 1) {
        if (header->magic[i] != magic[i]) {
            return false;
        }
    }
    return header->pid == hf_async_process();
}

static bool is_still(const HFKeptRecord *record) {
    struct stat status;
    return HF_SYSCALL2(SYS_fstat, record->descriptor, &status) == 0 && status.st_dev == record->device &&
           status.st_ino == record->inode && status.st_mode == record->mode;
}

/// Seals the table: changes by other threads do not count any more, and execve(2) will end them.
///
/// A seal is set under the lock that a write holds (mm/memfd.c, memfd_add_seals; mm/filemap.c, generic_file_write_iter): a write is in the
/// table as a whole by then, or fails with EPERM. So we wait for no thread, wherever it stands.
static void freeze(int table) {
    if (HF_SYSCALL3(SYS_fcntl, table, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == -EINVAL) {
        // Before Linux 5.1. This seal looks for pages that a device may still write to, and takes longer.
        HF_SYSCALL3(SYS_fcntl, table, F_ADD_SEALS, F_SEAL_WRITE);
    }
}

/// A program that closes descriptors in a loop may have closed the table, too.
static bool read_header(int table, HFKeptHeader *header) {
    return table >= 0 && read_at(table, header, sizeof *header, 0) && is_ours(header);
}

void hf_async_freeze_kept_table(int table) {
    HFKeptHeader header;
    if (read_header(table, &header)) {
        freeze(table);
    }
}

/// Where a record is in its table.
typedef struct Place {
    uint32_t slot;
    uint64_t offset;
} Place;

/// Calls a function for each descriptor in a table that is still open. It returns whether to go on.
///
/// Returns false if that, or a read, has failed.
static bool for_each(int table, bool (*visit)(void *context, Place place, const HFKeptRecord *record), void *context) {
    HFKeptHeader header;
    if (!read_header(table, &header)) {
        return false;
    }
    uint32_t used = header.slots_used < HF_KEPT_SLOT_LIMIT ? header.slots_used : HF_KEPT_SLOT_LIMIT;
    uint64_t slots[slots_at_a_time];
    for (uint32_t first = 0; first < used; first += slots_at_a_time) {
        uint32_t count = used - first < slots_at_a_time ? used - first : slots_at_a_time;
        if (!read_at(table, slots, count * 8, HF_KEPT_SLOTS_OFFSET + (uint64_t)first * 8)) {
            return false;
        }
        for (uint32_t i = 0; i < count; i += 1) {
            HFKeptRecord record;
            Place place = {.slot = first + i, .offset = HF_KEPT_BLOCKS_OFFSET + (slots[i] - 1) * HF_KEPT_BLOCK_SIZE};
            if (slots[i] == 0 || !read_at(table, &record, sizeof record, place.offset) || !is_still(&record)) {
                continue;
            }
            if (!visit(context, place, &record)) {
                return false;
            }
        }
    }
    return true;
}

// MARK: By execve(2)

static bool keep_one(void *context, Place place, const HFKeptRecord *record) {
    (void)place;
    const bool *keep = context;
    // The standard three stay open in children in any case.
    if (*keep || record->descriptor > STDERR_FILENO) {
        HF_SYSCALL3(SYS_fcntl, record->descriptor, F_SETFD, *keep ? 0 : FD_CLOEXEC);
    }
    return true;
}

void hf_async_keep_descriptors(int table, bool keep) {
    HFKeptHeader header;
    if (read_header(table, &header)) {
        HF_SYSCALL3(SYS_fcntl, table, F_SETFD, keep ? 0 : FD_CLOEXEC);
        for_each(table, keep_one, &keep);
    }
}

// MARK: By a socket

/// What is under way: descriptors with their slots.
typedef struct Batch {
    int socket;
    int table;
    uint64_t deadline;
    uint32_t count;
    struct {
        char mark[HF_KEPT_MARK_SIZE];
        uint32_t slots[HF_KEPT_PACKET_SLOTS];
    } packet;
    int descriptors[HF_KEPT_PACKET_SLOTS];
} Batch;

/// Waits until a socket is ready for something, the peer is gone, or the time is over; returns what it is ready for.
static short await(int socket, short events, uint64_t deadline) {
    struct pollfd request = {.fd = socket, .events = events};
    for (;;) {
        uint64_t now = hf_async_monotonic_nanoseconds();
        uint64_t left = deadline > now ? deadline - now : 0;
        struct timespec time = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        long count = HF_SYSCALL4(SYS_ppoll, &request, 1, &time, NULL);
        if (count > 0) {
            return request.revents;
        }
        if (left == 0 || (count < 0 && count != -EINTR)) {
            return 0;
        }
    }
}

static bool send_packet(int socket, void *bytes, unsigned long size, const int *numbers, uint32_t count, uint64_t deadline) {
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    union {
        char bytes[CMSG_SPACE(HF_KEPT_PACKET_SLOTS * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    __builtin_memcpy(CMSG_DATA(head), numbers, count * sizeof(int));
    for (;;) {
        long result = HF_SYSCALL3(SYS_sendmsg, socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (result >= 0) {
            return true;
        }
        if (hf_async_monotonic_nanoseconds() >= deadline) {
            return false;
        }
        if (result == -EAGAIN) {
            await(socket, POLLOUT, deadline);
        } else if (result == -ETOOMANYREFS) {
            // More are under way than RLIMIT_NOFILE allows: until the other side has taken some.
            struct timespec time = {.tv_nsec = 1000000};
            HF_SYSCALL2(SYS_nanosleep, &time, NULL);
        } else if (result != -EINTR) {
            return false;
        }
    }
}

static bool send_batch(Batch *batch) {
    if (batch->count == 0) {
        return true;
    }
    unsigned long size = offsetof(Batch, packet.slots[batch->count]) - offsetof(Batch, packet);
    bool is_sent = send_packet(batch->socket, &batch->packet, size, batch->descriptors, batch->count, batch->deadline);
    batch->count = 0;
    return is_sent;
}

/// Whether a record is of no use to another process: this library keeps it for itself (kept_table.h).
static bool stays_here(int table, Place place, const HFKeptRecord *record) {
    char name[2] = {1};
    return record->name_length >= sizeof name && read_at(table, name, sizeof name, place.offset + sizeof *record) &&
           name[0] == 0 && name[1] != HF_KEPT_GOES_ALONG;
}

static bool send_one(void *context, Place place, const HFKeptRecord *record) {
    Batch *batch = context;
    if (stays_here(batch->table, place, record)) {
        return true;
    }
    batch->packet.slots[batch->count] = place.slot;
    batch->descriptors[batch->count] = record->descriptor;
    batch->count += 1;
    return batch->count < HF_KEPT_PACKET_SLOTS || send_batch(batch);
}

bool hf_async_send_kept(int socket, int table, uint64_t deadline) {
    char mark[] = HF_KEPT_TABLE_MARK;
    Batch batch = {.socket = socket, .table = table, .deadline = deadline, .packet.mark = HF_KEPT_SLOTS_MARK};
    return send_packet(socket, mark, HF_KEPT_MARK_SIZE, &table, 1, deadline) && for_each(table, send_one, &batch) &&
           send_batch(&batch);
}

bool hf_async_kept_was_taken(int socket, uint64_t deadline) {
    if (await(socket, POLLIN, deadline) == 0) {
        // Whoever has not answered may serve by now.
        return true;
    }
    // One that has ended does not, and its socket counts as readable (net/unix/af_unix.c, unix_dgram_poll).
    char byte;
    return HF_SYSCALL6(SYS_recvfrom, socket, &byte, sizeof byte, MSG_DONTWAIT | MSG_PEEK, NULL, NULL) > 0;
}
