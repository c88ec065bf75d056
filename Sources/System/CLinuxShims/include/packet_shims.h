// Packets with descriptors over a Unix socket, and sealed memory: what the Glibc overlay does not import.

#ifndef HF_PACKET_SHIMS_H
#define HF_PACKET_SHIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Not <sys/types.h>: its pthread types would become this module's.

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

/// How many descriptors one packet can carry: SCM_MAX_FD of the kernel, unix(7).
#define HF_PACKET_DESCRIPTORS 253

/// What came with a packet.
typedef struct HFPacketExtras {
    /// Open descriptors, closed on exec; the first `descriptor_count` are valid and belong to the receiver.
    int descriptors[HF_PACKET_DESCRIPTORS];
    uint32_t descriptor_count;
    /// Who sent it, as the kernel says (SCM_CREDENTIALS); valid if `has_credentials`.
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
    bool has_credentials;
    /// Whether the packet or its descriptors did not fit (MSG_TRUNC, MSG_CTRUNC).
    bool is_truncated;
} HFPacketExtras;

/// Sends one packet, made of a head and a body, without waiting; raises no SIGPIPE.
///
/// Returns the number of bytes, or -1 with `errno` set: EAGAIN while there is no room. The descriptors stay the caller's.
/// Not safe to call from a signal handler.
long hf_packet_send(int socket, const void *head, size_t head_size, const void *_Nullable body, size_t body_size,
                       const int *_Nullable descriptors, uint32_t descriptor_count);

/// Takes one packet without waiting.
///
/// Returns the number of bytes, 0 when the peer is gone, or -1 with `errno` set: EAGAIN while there is none. `extras` is
/// set in every case. Not safe to call from a signal handler.
long hf_packet_receive(int socket, void *bytes, size_t capacity, HFPacketExtras *extras);

/// Gives a Unix socket a name: a file with this mode, or an abstract name if `path` begins with NUL.
///
/// Linux takes the mode of the file from that of the socket (unix_bind_bsd of af_unix.c): no other process ever sees a
/// wider one. Returns 0, or -1 with `errno` set: ENAMETOOLONG for a name of more than 107 bytes.
int hf_unix_socket_bind(int socket, const char *path, size_t length, unsigned mode);

/// Connects a Unix socket; `path` may begin with NUL (an abstract name). Returns 0, or -1 with `errno` set.
int hf_unix_socket_connect(int socket, const char *path, size_t length);

/// Closes a descriptor and gives its number to a duplicate of another one, closed on exec, in the same moment: dup3(2). Returns
/// -1 with `errno` set.
///
/// Provided because the Glibc overlay lacks it. Safe to call from a signal handler.
int hf_replace_descriptor(int number, int other);

/// Takes a connection that waits, closed on exec. Returns its descriptor, or -1 with `errno` set.
int hf_unix_socket_accept(int listener);

/// The same, nonblocking: accept4(2), which the Glibc overlay lacks.
int hf_connection_accept(int listener);

/// Makes an empty file in memory that can be sealed, closed on exec.
///
/// Provided because the overlay imports neither memfd_create(2) nor the seals of fcntl(2). Returns its descriptor, or -1
/// with `errno` set.
int hf_memory_create(void);

/// Seals a file in memory: from now on nobody can write, cut or grow it. Returns 0, or -1 with `errno` set.
int hf_memory_seal(int descriptor);

/// Says whether a descriptor is a file in memory that nobody can write, cut or grow.
bool hf_memory_is_sealed(int descriptor);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
