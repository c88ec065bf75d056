// The layout of a spool file: what is kept of a process and of its faults, in memory that outlives it.
//
// A spool file is mapped shared, so that what was written is there after the process died or was replaced. It holds one
// HFSpoolHeader, `image_capacity` HFImage entries, `slot_count` HFRecord slots and what belongs to few of them (crash_sections.h),
// in this order, each section at the offset that the header names. CCrashCapture writes it, CrashReports/Record reads it, and a test
// compares the tables of Documentation/CrashRecordFormat.md with it.
//
// Life cycle of a slot: free -> claimed -> captured -> decided -> free again once its report is in the store.

#ifndef HF_CRASH_RECORD_H
#define HF_CRASH_RECORD_H

#include <stdint.h>

/// The layout's version. A reader refuses what it does not know.
#define HF_SPOOL_VERSION 1u

enum {
    HF_MAXIMUM_FRAMES = 256,
    HF_MAXIMUM_HEAD_FRAMES = 192,
    HF_REGISTER_COUNT = 23,
    HF_MODE_SIZE = 64,
    HF_LABEL_SIZE = 96,
    HF_MESSAGE_SIZE = 1024,
    HF_REASON_SIZE = 192,
    HF_CODE_SIZE = 16,
    HF_IMAGE_PATH_SIZE = 256,
    HF_BUILD_ID_SIZE = 32,
    HF_EXCEPTION_TYPE_SIZE = 128,
    HF_EXCEPTION_MESSAGE_SIZE = 256,
    HF_TOUCHED_SIZE = 256,
    HF_MAPPING_NAME_SIZE = 128,
    HF_MORE_REGISTER_COUNT = 12,
    HF_ARGUMENTS_SIZE = 2048,
    HF_MAXIMUM_AWAITS = 128,
    HF_FAULT_TAGS_SIZE = 1024,
};

/// Where a slot is in its life cycle.
enum {
    HF_SLOT_FREE = 0,
    /// Being written by a handler: what is there may be incomplete.
    HF_SLOT_CLAIMED = 1,
    /// Everything that the handler knows is there.
    HF_SLOT_CAPTURED = 2,
    /// The walk and the verdict are there.
    HF_SLOT_DECIDED = 3,
};

/// What is done about a fault.
enum {
    HF_VERDICT_PENDING = 0,
    HF_VERDICT_RESUME = 1,
    HF_VERDICT_RESTART = 2,
    HF_VERDICT_TERMINATE = 3,
};

/// Facts of a record that are yes or no.
enum {
    /// On the thread that the process began with.
    HF_FACT_MAIN_THREAD = 1u << 0,
    /// A recovery point was armed, and the stack pointer lay on its callout stack or in the guard below.
    HF_FACT_RECOVERY_POINT = 1u << 1,
    /// The stack pointer or the address lay in the guard of the callout stack.
    HF_FACT_STACK_OVERFLOW = 1u << 2,
    /// A Swift task was current on the thread.
    HF_FACT_TASK = 1u << 3,
    /// A critical section was open that had not been at the recovery point.
    HF_FACT_CRITICAL_SECTION = 1u << 4,
    /// The fault was that of a thread of the crash capture itself.
    HF_FACT_CAPTURE_THREAD = 1u << 5,
    /// No verdict came within the deadline.
    HF_FACT_DEADLINE = 1u << 6,
    /// The walk came to the recovery point.
    HF_FACT_WALK_COMPLETE = 1u << 7,
    /// The walk ended in an error.
    HF_FACT_WALK_BROKEN = 1u << 8,
    /// A restart was decided on and failed; the process ended.
    HF_FACT_RESTART_FAILED = 1u << 9,
    /// The process drained before it was restarted.
    HF_FACT_DRAINED = 1u << 10,
    /// The item was taken out of its loop.
    HF_FACT_QUARANTINED = 1u << 11,
    /// The process was a forked child of the one that the spool file is of.
    HF_FACT_FORKED_CHILD = 1u << 12,
    /// More locks of the POSIX threads library were held than at the recovery point.
    HF_FACT_LOCK_HELD = 1u << 13,
    /// A frame is inside a function that holds a lock which is not counted.
    HF_FACT_LOCK_FRAME = 1u << 14,
    /// Nothing faulted: the callout ran for longer than its deadline and was interrupted.
    HF_FACT_OVERDUE = 1u << 15,
    /// Every other slot was taken, for longer than a fault waits for one.
    HF_FACT_NO_ROOM = 1u << 16,
    /// The job of a task was isolated to an actor, or what it was isolated to could not be told.
    HF_FACT_ISOLATED = 1u << 17,
    /// A runtime keeps something for the thread that cannot be put back to what it was when the callout began.
    HF_FACT_RUNTIME_STATE = 1u << 20,
    /// A frame is inside the initialiser of a thread-local variable.
    HF_FACT_INITIALISER = 1u << 21,
    /// The process had begun to serve: its host ran.
    HF_FACT_RUNNING = 1u << 24,
    /// It had served something since.
    HF_FACT_SERVING = 1u << 25,
    /// The item was in its loop when the host began to run, had a label that no other item had, and was no port of a socket.
    HF_FACT_START_ITEM = 1u << 26,
    /// The item was a port whose input comes from many peers.
    HF_FACT_SHARED_PORT = 1u << 27,
    /// The log of the process has a line of it.
    HF_FACT_TOLD = 1u << 28,
};

/// What a question of another process carries in the upper half of the signal's value; the lower half is a number that the answer repeats.
static const uint64_t HF_QUESTION_MARK = 0x686f6c6400000000;
/// The number that asks a process to accept no more connections, because another one serves.
static const uint32_t HF_QUESTION_REST = 0xffffffff;

/// Among the addresses of awaits: those that follow are of the task that the one before belongs to.
enum { HF_AWAIT_PARENT_TASK = 1 };

typedef struct HFImage {
    uint64_t base;
    uint64_t end;
    uint32_t build_id_length;
    uint32_t reserved;
    uint8_t build_id[HF_BUILD_ID_SIZE];
    char path[HF_IMAGE_PATH_SIZE];
} HFImage;

/// A mapping of the process, as in /proc/PID/maps.
typedef struct HFMapping {
    uint64_t start;
    /// 0 if none is known.
    uint64_t end;
    /// Bits: 0 readable, 1 writable, 2 executable, 3 shared.
    uint32_t permissions;
    uint32_t reserved;
    char name[HF_MAPPING_NAME_SIZE];
} HFMapping;

/// Instead of the kind of a callout: what the loop says of it could not be read.
enum { HF_CALLOUT_UNREADABLE = 0xffff };

typedef struct HFRecord {
    uint32_t state;
    /// Which fault of the process it is, from 1.
    uint32_t number;
    int64_t time_unix_nanoseconds;
    int64_t uptime_nanoseconds;
    int32_t signal;
    int32_t code;
    uint64_t address;
    int32_t sender_pid;
    uint32_t sender_uid;
    int32_t thread;
    uint32_t facts;
    char thread_name[16];

    /// Written by the thread that decides, waited for by the one that faulted.
    uint32_t verdict;
    uint32_t frame_count;
    uint32_t head_frame_count;
    uint32_t frames_omitted;
    /// On x86-64 in the order of the kernel's gregset_t (sys/ucontext.h): r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
    /// eflags, csgsfs, err, trapno, oldmask, cr2. On AArch64 x0 … x22, and the rest in `more_registers`.
    uint64_t registers[HF_REGISTER_COUNT];
    /// The parked thread's ucontext: means something only in the process itself, until the verdict.
    uint64_t context;
    uint64_t stack_low;
    uint64_t stack_high;

    uint64_t item;
    uint64_t pass;
    uint32_t callout_kind;
    uint32_t activity;
    uint32_t nesting;
    uint32_t code_length;
    uint8_t code_bytes[HF_CODE_SIZE];
    char mode[HF_MODE_SIZE];
    char label[HF_LABEL_SIZE];
    /// The Swift runtime's fatal error, then glibc's abort message: each NUL-terminated, "" if there is none.
    char message[HF_MESSAGE_SIZE];
    char abort_message[256];
    char reason[HF_REASON_SIZE];
    /// Program counters, innermost first: the first one exact, the rest return addresses.
    uint64_t frames[HF_MAXIMUM_FRAMES];

    /// The process that faulted: the header's, but for a forked child.
    int32_t pid;
    /// How many locks of the POSIX threads library were taken since the recovery point.
    uint32_t held_locks;
    /// Of an uncaught C++ exception: its type, demangled, and what it says of itself; "" if there is none.
    char exception_type[HF_EXCEPTION_TYPE_SIZE];
    char exception_message[HF_EXCEPTION_MESSAGE_SIZE];
    /// The names of what the callout had marked as touched, a line each, innermost first.
    char touched[HF_TOUCHED_SIZE];

    /// What became of the other threads: HF_SAMPLING_… of crash_sections.h.
    uint32_t sampling;
    /// Which HFThreadSnapshot is of this fault, from 1; 0 for none. That one names the fault, too.
    uint32_t thread_snapshot;
    /// Which HFMemoryArea is of this fault, likewise.
    uint32_t memory_area;
    /// How many bytes before the program counter are in `code_before`, at its end.
    uint32_t code_before_length;
    uint8_t code_before[HF_CODE_SIZE];
    /// On AArch64: x23 … x30, sp, pc, pstate, and the address that faulted.
    uint64_t more_registers[HF_MORE_REGISTER_COUNT];
    /// Of a memory fault: the mapping that holds the address, or the nearest one.
    HFMapping mapping;
    /// The name of the process that sent the signal, "" if it is not known.
    char sender_name[16];
    /// With HF_FACT_OVERDUE: the deadline of the callout in nanoseconds, else 0.
    uint64_t callout_deadline;
    /// Equal faults that came while this one waited for its report, and when the last of them did.
    uint32_t repeats;
    /// With HF_FACT_DEADLINE: what the deciding thread did. The letter of proc_pid_stat(5), 0 if it is not known, and its system call, -1
    /// if it was in none or that is not known.
    uint16_t decider_state;
    int16_t decider_system_call;
    int64_t last_repeat_unix_nanoseconds;
    /// The Swift task that was current: its address, which means something only in the process itself, its number, and the flags of its
    /// job, of which the second byte is the priority. 0 for none, or if that is not known.
    uint64_t task;
    uint32_t task_id;
    uint32_t task_flags;
    /// The async calls behind the frames, innermost first: where each function goes on that waits. Each is the start of a function. They
    /// come after so many of `frames`: what is behind those is the runtime's.
    uint32_t await_count;
    uint32_t await_position;
    uint64_t awaits[HF_MAXIMUM_AWAITS];
    /// What the caller of a fault boundary has told of the fault since: NUL-terminated keys and values in turns, so many bytes of them.
    uint32_t tags_length;
    uint32_t reserved;
    char tags[HF_FAULT_TAGS_SIZE];
} HFRecord;

/// How a process ended.
enum {
    /// It runs, or it ended without a word: killed, or by a fault that has a record.
    HF_END_NONE = 0,
    /// It closed its host.
    HF_END_CLOSED = 1,
    /// A fresh one took its place.
    HF_END_RESTARTED = 2,
    /// It called exit(3), and had not closed its host.
    HF_END_EXIT = 3,
};

typedef struct HFSpoolHeader {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t image_offset;
    uint32_t image_size;
    uint32_t image_capacity;
    uint32_t image_count;
    uint32_t slot_offset;
    uint32_t slot_size;
    uint32_t slot_count;
    /// Faults so far, and those for which no slot was free.
    uint32_t fault_count;
    uint32_t faults_lost;
    int32_t pid;
    int32_t parent_pid;
    uint32_t restarts;
    int64_t start_unix_nanoseconds;
    int64_t start_monotonic_nanoseconds;
    uint32_t processors;
    /// Bytes of `arguments` in use: NUL-terminated strings one after the other.
    uint32_t arguments_length;
    uint32_t argument_count;
    /// How often a later process began to finish the records.
    uint32_t attempts;
    char name[64];
    char executable[512];
    char host[72];
    char kernel[160];
    char operating_system[96];
    char architecture[16];
    char libc[32];
    char swift[64];
    char holdfast[32];
    char arguments[HF_ARGUMENTS_SIZE];

    /// The HFThreadSnapshot section, its entries, and the HFThreadEntry entries in each.
    uint32_t snapshot_offset;
    uint32_t snapshot_size;
    uint32_t snapshot_count;
    uint32_t thread_entry_size;
    /// The HFMemoryArea section: no entries unless the process asked for them.
    uint32_t memory_offset;
    uint32_t memory_size;
    uint32_t memory_count;
    /// How the process ended, HF_END_…: written last of all.
    uint32_t end;
    /// Where the HFContextArea begins (crash_context_layout.h), and how long it is with all that belongs to it; 0 for none.
    uint32_t context_offset;
    uint32_t context_size;
    /// How much the store of the process may hold, for whoever finishes its records: a number and one more, all ones for any number,
    /// 0 where nothing was said.
    uint64_t limit_reports;
    uint64_t limit_bytes;
    uint64_t limit_age_seconds;
    /// HF_LIMIT_CHECK and the three before, by exclusive or. A limit that a stray write has left must not empty the store.
    uint64_t limit_check;
} HFSpoolHeader;

/// The arguments: Swift takes the array for a tuple of so many bytes, whose type it makes at run time.
static inline void *_Nonnull hf_spool_arguments(HFSpoolHeader *_Nonnull header) { return header->arguments; }

#define HF_SPOOL_MAGIC "HFSPOOL"
#define HF_LIMIT_CHECK 0x73696d696c5f6668u

// What is added to one of these goes to its end, and these change with it; anything else is another HF_SPOOL_VERSION.
_Static_assert(sizeof(HFImage) == 312, "spool layout");
_Static_assert(sizeof(HFMapping) == 152, "spool layout");
_Static_assert(sizeof(HFRecord) == 7072, "spool layout");
_Static_assert(sizeof(HFSpoolHeader) == 3264, "spool layout");

#endif
