// Packets with descriptors over a Unix socket, and sealed memory.

#include "packet_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// Room for every descriptor that a packet can carry and for the credentials, aligned for the first header.
typedef union {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(sizeof(int) * HF_PACKET_DESCRIPTORS) + CMSG_SPACE(sizeof(struct ucred))];
} ControlBuffer;

long hf_packet_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
                       const int *descriptors, uint32_t descriptor_count) {
    if (descriptor_count > HF_PACKET_DESCRIPTORS) {
        errno = ETOOMANYREFS;
        return -1;
    }
    struct iovec parts[2] = {
        {.iov_base = (void *)head, .iov_len = head_size},
        {.iov_base = (void *)body, .iov_len = body_size},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body_size > 0 ? 2 : 1};
    ControlBuffer control;
    if (descriptor_count > 0) {
        size_t size = sizeof(int) * descriptor_count;
        // The padding behind the last descriptor goes to the kernel, too.
        memset(&control, 0, CMSG_SPACE(size));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(rights), descriptors, size);
    }
    // Per call, and not a mode of the socket: whoever has the same open socket could change that.
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long hf_packet_receive(int socket, void *bytes, size_t capacity, HFPacketExtras *extras) {
    extras->descriptor_count = 0;
    extras->has_credentials = false;
    extras->is_truncated = false;
    ControlBuffer control;
    struct iovec part = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) {
        return count;
    }
    extras->is_truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item != NULL; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_len < CMSG_LEN(0)) {
            continue;
        }
        size_t size = item->cmsg_len - CMSG_LEN(0);
        if (item->cmsg_type == SCM_RIGHTS) {
            for (size_t offset = 0; offset + sizeof(int) <= size; offset += sizeof(int)) {
                int descriptor;
                memcpy(&descriptor, CMSG_DATA(item) + offset, sizeof descriptor);
                if (extras->descriptor_count < HF_PACKET_DESCRIPTORS) {
                    extras->descriptors[extras->descriptor_count] = descriptor;
                    extras->descriptor_count += 1;
                } else {
                    // The kernel does not send as many; if it ever does, none may leak.
                    close(descriptor);
                    extras->is_truncated = true;
                }
            }
        } else if (item->cmsg_type == SCM_CREDENTIALS && size >= sizeof(struct ucred)) {
            struct ucred credentials;
            memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
            extras->pid = credentials.pid;
            extras->uid = credentials.uid;
            extras->gid = credentials.gid;
            extras->has_credentials = true;
        }
    }
    return count;
}

// Fills in an address; an abstract name has no terminator, and its length says where it ends (unix(7)).
static socklen_t set_address(struct sockaddr_un *address, const char *path, size_t length) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(address->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] != '\0' ? 1 : 0));
}

int hf_unix_socket_bind(int socket, const char *path, size_t length, unsigned mode) {
    struct sockaddr_un address;
    socklen_t size = set_address(&address, path, length);
    if (size == 0 || fchmod(socket, mode) != 0) {
        return -1;
    }
    return bind(socket, (const struct sockaddr *)&address, size);
}

int hf_unix_socket_connect(int socket, const char *path, size_t length) {
    struct sockaddr_un address;
    socklen_t size = set_address(&address, path, length);
    if (size == 0) {
        return -1;
    }
    return connect(socket, (const struct sockaddr *)&address, size);
}

int hf_replace_descriptor(int number, int other) { return dup3(other, number, O_CLOEXEC); }

int hf_unix_socket_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }

int hf_connection_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

// Of Linux 6.3: nothing in the file can be executed.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { CONTENT_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

int hf_memory_create(void) {
    int descriptor = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (descriptor < 0 && errno == EINVAL) {
        descriptor = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    return descriptor;
}

int hf_memory_seal(int descriptor) { return fcntl(descriptor, F_ADD_SEALS, CONTENT_SEALS | F_SEAL_SEAL); }

bool hf_memory_is_sealed(int descriptor) {
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & CONTENT_SEALS) == CONTENT_SEALS;
}
