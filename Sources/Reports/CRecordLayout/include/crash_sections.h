// The sections of a spool file that belong to few of its records: the other threads, and memory near the fault.
//
// Both are taken by the crash thread. An entry names the fault that it is of, and so does that fault's record: one that was used
// again for a later fault is nobody's. Documented in Documentation/CrashRecordFormat.md.

#ifndef HF_CRASH_SECTIONS_H
#define HF_CRASH_SECTIONS_H

#include <stdint.h>

enum {
    HF_SNAPSHOT_COUNT = 4,
    HF_SNAPSHOT_THREADS = 64,
    HF_THREAD_FRAMES = 64,
    HF_THREAD_HEAD_FRAMES = 48,
    HF_MEMORY_AREA_COUNT = 16,
    HF_MEMORY_PIECES = 20,
    HF_MEMORY_STACK_SIZE = 512,
    HF_MEMORY_NEAR_SIZE = 64,
    HF_MEMORY_SIZE = 2048,
};

/// What became of the other threads of a fault.
enum {
    /// Nobody came to look, or did not come to the end.
    HF_SAMPLING_NONE = 0,
    /// They were sampled, as far as they answered.
    HF_SAMPLING_DONE = 1,
    /// The process does not want it.
    HF_SAMPLING_OFF = 2,
    /// The last sample was taken just before.
    HF_SAMPLING_TOO_SOON = 3,
    /// They could not be listed.
    HF_SAMPLING_NO_LIST = 4,
    /// The program uses the signal itself.
    HF_SAMPLING_SIGNAL_TAKEN = 5,
    /// A debugger holds the process, which would stop it at each signal.
    HF_SAMPLING_TRACED = 6,
    /// The next fault came meanwhile: some have no frames.
    HF_SAMPLING_INTERRUPTED = 7,
    /// Every snapshot waits for its report.
    HF_SAMPLING_NO_ROOM = 8,
};

/// What is known of a thread's stack.
enum {
    /// It was not asked: it had ended or was stopped, or there was no time left.
    HF_THREAD_NOT_ASKED = 0,
    /// Asked, and walked to the end of its stack.
    HF_THREAD_WALKED = 1,
    /// The walk ended before the end of its stack.
    HF_THREAD_WALK_BROKEN = 2,
    /// It did not answer in time.
    HF_THREAD_SILENT = 3,
};

typedef struct HFThreadEntry {
    int32_t id;
    /// HF_THREAD_…
    uint32_t outcome;
    char name[16];
    /// The system call it was in, -1 if it was in none or that is not known.
    int32_t system_call;
    /// The letter of proc_pid_stat(5), 0 if it is not known.
    uint32_t kernel_state;
    uint32_t frame_count;
    uint32_t head_frame_count;
    uint32_t frames_omitted;
    uint32_t reserved;
    /// How long after the fault this was taken.
    int64_t after_nanoseconds;
    uint64_t stack_pointer;
    uint64_t frame_pointer;
    /// Program counters, innermost first: the first one exact, the rest return addresses.
    uint64_t frames[HF_THREAD_FRAMES];
} HFThreadEntry;

typedef struct HFThreadSnapshot {
    /// The fault that it is of, 0 for none.
    uint32_t fault_number;
    /// The slot of that fault's record.
    uint32_t slot;
    uint32_t thread_count;
    /// How many threads there were beyond these and the one that faulted. The thread that took the sample does not count, nor do those of
    /// Holdfast's own that waited for work.
    uint32_t threads_omitted;
    /// 1 if all of them stood still at one time, 0 if they were looked at one after the other.
    uint32_t is_stopped;
    uint32_t reserved[3];
    HFThreadEntry threads[HF_SNAPSHOT_THREADS];
} HFThreadSnapshot;

/// What a piece of memory was taken for, besides the number of a register.
enum { HF_MEMORY_ABOUT_STACK = 255 };

typedef struct HFMemoryPiece {
    uint64_t address;
    /// Where its bytes are in the area.
    uint32_t offset;
    uint32_t length;
    /// A register's place in the record's list, or HF_MEMORY_ABOUT_STACK.
    uint32_t about;
    uint32_t reserved;
} HFMemoryPiece;

typedef struct HFMemoryArea {
    /// As in a snapshot.
    uint32_t fault_number;
    uint32_t slot;
    uint32_t piece_count;
    uint32_t reserved;
    HFMemoryPiece pieces[HF_MEMORY_PIECES];
    uint8_t bytes[HF_MEMORY_SIZE];
} HFMemoryArea;

_Static_assert(sizeof(HFThreadEntry) == 584, "spool layout");
_Static_assert(sizeof(HFThreadSnapshot) == 37408, "spool layout");
_Static_assert(sizeof(HFMemoryPiece) == 24, "spool layout");
_Static_assert(sizeof(HFMemoryArea) == 2544, "spool layout");

#endif
