// The table of what is kept across a restart in place: descriptors by name, each with bytes of the program.
//
// It is a memfd of the process, handed to its successor by execve(2). A restart may come at any instruction, so a change is
// a record written to free space, and then one aligned word that names it: the successor sees the old record or the new one.
// The thread that restarts seals the table before it looks at what is kept. A change that comes later fails with EPERM: its
// thread waits in hf_kept_thaw(), for ever if the restart succeeds.
//
//     header | slots: a word each, 0 or 1 + the block at which its record begins | blocks of records

#ifndef HF_KEPT_TABLE_H
#define HF_KEPT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HF_KEPT_VERSION = 1,
    HF_KEPT_SLOTS_OFFSET = 4096,
    HF_KEPT_SLOT_LIMIT = 65536,
    HF_KEPT_BLOCKS_OFFSET = HF_KEPT_SLOTS_OFFSET + HF_KEPT_SLOT_LIMIT * 8,
    HF_KEPT_BLOCK_SIZE = 64,
    /// A name that begins with a NUL is one that this library keeps for itself. If this comes next, another process gets it, too.
    HF_KEPT_GOES_ALONG = '>',
};

/// The process that a table belongs to.
typedef struct HFKeptHeader {
    /// "HFKEPT\0\0".
    char magic[8];
    uint32_t version;
    int32_t pid;
    /// In clock ticks since the boot (proc(5), starttime): execve(2) keeps it, and no other process with this pid has the same. 0 if it
    /// cannot be read.
    uint64_t start_time;
    /// Slots from here on were never used, nor some before.
    uint32_t slots_used;
    uint32_t reserved;
} HFKeptHeader;

/// A kept descriptor, followed by its name and its bytes. The identity is that of fstat(2).
typedef struct HFKeptRecord {
    uint64_t device;
    uint64_t inode;
    uint32_t mode;
    int32_t descriptor;
    uint32_t name_length;
    uint32_t state_length;
} HFKeptRecord;

// To another process the table goes over a socket (async_kept.h).

enum {
    /// How long a mark is, without a NUL.
    HF_KEPT_MARK_SIZE = 8,
    /// How many descriptors a packet brings at most: SCM_MAX_FD of the kernel.
    HF_KEPT_PACKET_SLOTS = 253,
};

/// What the packet with the table says, and what those with descriptors begin with.
#define HF_KEPT_TABLE_MARK "HFTABLE\0"
#define HF_KEPT_SLOTS_MARK "HFSLOTS\0"

_Static_assert(sizeof(HFKeptHeader) == 32, "table layout");
_Static_assert(sizeof(HFKeptRecord) == 32, "table layout");

/// Waits while another thread replaces this process: for ever, unless that fails.
void hf_kept_await_restart(void);

/// Makes an empty memfd, closed on exec. Returns it, or the negated `errno`.
int hf_kept_create(void);

/// Freezes a table: no thread can change it any more (hf_kept_thaw).
///
/// A negative table is none. Safe to call from a signal handler.
void hf_async_freeze_kept_table(int table);

/// Leaves the descriptors in a table that is frozen, and the table itself, open on exec, or not any more.
///
/// It skips a descriptor whose identity is not that in the table. A negative table is none. Safe to call from a signal handler.
void hf_async_keep_descriptors(int table, bool keep);

/// Waits for the restart, or the hand-over to another process, that froze a table. If it fails, puts a copy in the table's place that can be
/// changed.
///
/// Returns 0 or the `errno`: EPERM if the table is not this process's. For the thread that changes the table.
int hf_kept_thaw(int table);

/// Whether a descriptor is a memfd that hf_kept_create() has made.
int hf_kept_is_table(int descriptor);

/// Whether a table was frozen, which only a restart does.
int hf_kept_is_frozen(int table);

/// Whether the program acts for another user or group than the one who executed it: a set-user-ID or set-group-ID program, unless root
/// executed it.
///
/// The user who executes a program chooses its environment and descriptors. A program that has its rights from its file's capabilities
/// alone acts for that very user, and makes its files as that user.
bool hf_acts_for_another(void);

/// Whether to believe memory that belongs to a user and a group, and whose number is in the environment. A program that acts for another
/// user believes it only if that user made it.
///
/// For all other programs the owner says nothing: a process that called setuid(2) before its restart left memory of its former user.
bool hf_kept_is_trusted(unsigned int owner, unsigned int group);

#endif
