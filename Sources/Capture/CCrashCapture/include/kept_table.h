// The table of what is kept across a restart in place: descriptors by name, each with bytes of the program's.
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
};

/// Whose table it is.
typedef struct HFKeptHeader {
    /// "HFKEPT\0\0".
    char magic[8];
    uint32_t version;
    int32_t pid;
    /// In clock ticks since the boot (proc(5), starttime): execve(2) keeps it, and no other process with this pid has it. 0 where it
    /// cannot be read.
    uint64_t start_time;
    /// Slots from here on were never used.
    uint32_t slots_used;
    uint32_t reserved;
} HFKeptHeader;

/// What is kept, followed by its name and its bytes. Identity is that of fstat(2).
typedef struct HFKeptRecord {
    uint64_t device;
    uint64_t inode;
    uint32_t mode;
    int32_t descriptor;
    uint32_t name_length;
    uint32_t state_length;
} HFKeptRecord;

_Static_assert(sizeof(HFKeptHeader) == 32, "table layout");
_Static_assert(sizeof(HFKeptRecord) == 32, "table layout");

/// Makes an empty memfd, closed on exec. Returns it, or the negated `errno`.
int hf_kept_create(void);

/// Lets the descriptors that a table names, and the table itself, stay open on exec, or not any more.
///
/// With `keep` the table is frozen first: no thread changes it any more (hf_kept_thaw). Passes over a descriptor that is not what
/// it was when it was kept. A negative table is none. Safe to call from a signal handler.
void hf_async_keep_descriptors(int table, bool keep);

/// Waits for the restart that froze a table, and when it has failed puts a copy in the table's place that can be changed.
///
/// Returns 0 or the `errno`: EPERM when the table is not this process's. For the thread that changes the table.
int hf_kept_thaw(int table);

/// Whether a descriptor is a memfd as hf_kept_create() makes it.
int hf_kept_is_table(int descriptor);

/// Whether a table was frozen, as a restart leaves it, and nobody but that does.
int hf_kept_is_frozen(int table);

/// Whether the program acts for another user or group than who executed it: a set-user-ID or set-group-ID program, unless root did.
///
/// Whoever executes a program chooses its environment and descriptors. One that has its rights from the file's capabilities alone acts for
/// the very user who chose them, and makes its files as that user.
bool hf_acts_for_another(void);

/// Whether memory that belongs to a user and a group, and whose number the environment names, may be believed: in a program that acts for
/// another, only if that one made it.
///
/// For all others the owner says nothing: a process that called setuid(2) before its restart left memory of the user that it was.
bool hf_kept_is_trusted(unsigned int owner, unsigned int group);

#endif
