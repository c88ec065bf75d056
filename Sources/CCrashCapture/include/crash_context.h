// What a process was doing and what it had, in the spool file: the last events of its loops, notes, values that the program set, and
// for each fault a copy of them as they were then.
//
// Life cycle of a snapshot: free -> claimed by the thread that faulted -> kept, when that thread has copied what there is, while it waits
// for its verdict -> free again with the slot of the fault's record. The deciding thread adds the state of the process meanwhile.
//
// What lives on is read at a fault without a lock, and may be written at that moment: events, notes and values have a number that says
// so. Documented in Documentation/CrashContext.md; decoded by CrashReports/Record.

#ifndef HF_CRASH_CONTEXT_H
#define HF_CRASH_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crash_record.h"
#include "loop_events.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HF_RING_COUNT = 16,
    HF_NOTE_COUNT = 64,
    HF_NOTE_TEXT_SIZE = 224,
    HF_ANNOTATION_COUNT = 32,
    HF_TAG_COUNT = 16,
    HF_VALUE_COUNT = HF_ANNOTATION_COUNT + HF_TAG_COUNT,
    HF_VALUE_KEY_SIZE = 40,
    HF_VALUE_TEXT_SIZE = 208,
    HF_CONTEXT_SNAPSHOT_COUNT = 16,
    HF_LIMIT_COUNT = 16,
    HF_ENVIRONMENT_SIZE = 4096,
    HF_REDACTION_SIZE = 2048,
};

/// Kinds of notes.
enum {
    /// Logged by the program; `code` is the level, from 0 for trace to 6 for critical.
    HF_NOTE_LOG = 1,
    /// A fault was resumed; `code` is its signal, `detail` its number, the text the label of the item.
    HF_NOTE_FAULT = 2,
    /// A signal was delivered; `code` is its number, `detail` the sending process.
    HF_NOTE_SIGNAL = 3,
};

/// The number of a note that is being written.
#define HF_NOTE_BUSY UINT64_MAX

typedef struct HFNote {
    /// Which note of the process it is, from 1; 0 for none, HF_NOTE_BUSY while it is written.
    uint64_t number;
    /// CLOCK_MONOTONIC in nanoseconds.
    int64_t time;
    uint32_t kind;
    int32_t thread;
    int32_t code;
    int32_t detail;
    char text[HF_NOTE_TEXT_SIZE];
} HFNote;

typedef struct HFValue {
    /// 0 for none, odd while it is written, and even, another one after each change.
    uint64_t version;
    char key[HF_VALUE_KEY_SIZE];
    char text[HF_VALUE_TEXT_SIZE];
} HFValue;

/// What of HFSystemState could be had.
enum {
    HF_KNOWN_MEMORY = 1 << 0,
    HF_KNOWN_PEAK = 1 << 1,
    HF_KNOWN_THREADS = 1 << 2,
    HF_KNOWN_MACHINE_MEMORY = 1 << 3,
    HF_KNOWN_LOAD = 1 << 4,
    HF_KNOWN_DESCRIPTORS = 1 << 5,
    HF_KNOWN_LIMITS = 1 << 6,
};

/// What the process and the machine had at one time. Memory is in bytes.
typedef struct HFSystemState {
    /// Written last; 0 until then.
    uint32_t known;
    uint32_t threads;
    uint32_t descriptors;
    /// The load averages of 1, 5 and 15 minutes, in hundredths.
    uint32_t load[3];
    uint64_t resident;
    uint64_t peak_resident;
    uint64_t virtual_size;
    uint64_t machine_total;
    uint64_t machine_available;
    /// By number of the resource (getrlimit(2)): the soft and the hard limit, UINT64_MAX for none.
    uint64_t limits[HF_LIMIT_COUNT][2];
} HFSystemState;

enum {
    HF_SNAPSHOT_FREE = 0,
    HF_SNAPSHOT_CLAIMED = 1,
    HF_SNAPSHOT_KEPT = 2,
};

/// What a fault found, copied while its thread stood still.
typedef struct HFSnapshot {
    uint32_t state;
    /// The number of the fault.
    uint32_t fault;
    /// CLOCK_MONOTONIC at the copying, in nanoseconds: not before the fault.
    int64_t time;
    /// The thread whose events were copied: that of the fault, or the first one of the process; 0 for none.
    int32_t event_thread;
    uint32_t event_count;
    /// How many events that thread's ring had had.
    uint64_t events_total;
    uint32_t note_count;
    uint32_t value_count;
    uint64_t notes_total;
    uint64_t reserved[2];
    HFSystemState system;
    HFLoopEvent events[HF_EVENT_COUNT];
    HFNote notes[HF_NOTE_COUNT];
    /// Annotations come first: those with an index below HF_ANNOTATION_COUNT in the live table. Their index is in `value_index`.
    HFValue values[HF_VALUE_COUNT];
    uint8_t value_index[HF_VALUE_COUNT];
} HFSnapshot;

/// Bits of `redaction_flags`.
enum {
    /// The rules are there.
    HF_REDACTION_KNOWN = 1u << 0,
    HF_REDACTION_BUILT_IN = 1u << 1,
    HF_REDACTION_EMAIL = 1u << 2,
};

/// Where everything lies, and what does not change. Offsets count from the start of this.
typedef struct HFContextArea {
    uint32_t size;
    uint32_t ring_offset;
    uint32_t ring_size;
    uint32_t ring_count;
    uint32_t event_count;
    uint32_t note_offset;
    uint32_t note_size;
    uint32_t note_count;
    uint32_t value_offset;
    uint32_t value_size;
    uint32_t annotation_count;
    uint32_t tag_count;
    uint32_t snapshot_offset;
    uint32_t snapshot_size;
    uint32_t snapshot_count;
    /// Bytes of `environment` in use: NUL-terminated `name=value`, one after the other.
    uint32_t environment_length;
    /// Notes so far, and those that found their place being written.
    uint64_t notes_total;
    uint64_t notes_dropped;
    /// The rules by which texts are redacted: bits, and NUL-terminated lines that begin with `n` for a name, `p` for a pattern.
    uint32_t redaction_flags;
    uint32_t redaction_length;
    /// 1 when what is known of the container is there.
    uint32_t container_known;
    /// Processors that the control group may use, in thousandths; 0 for no limit.
    uint32_t processor_limit;
    /// Bytes that the control group may have; 0 for no limit.
    uint64_t memory_limit;
    char container_runtime[32];
    char container_id[96];
    char control_group[256];
    char environment[HF_ENVIRONMENT_SIZE];
    char redaction[HF_REDACTION_SIZE];
} HFContextArea;

/// The whole of a section, as it is laid out.
typedef struct HFContextSection {
    HFContextArea area;
    uint64_t padding[3];
    HFEventRing rings[HF_RING_COUNT];
    HFNote notes[HF_NOTE_COUNT];
    HFValue values[HF_VALUE_COUNT];
    HFSnapshot snapshots[HF_CONTEXT_SNAPSHOT_COUNT];
} HFContextSection;

// The decoder in CrashReports/Record reads by these offsets.
_Static_assert(sizeof(HFNote) == 256, "context layout");
_Static_assert(offsetof(HFNote, text) == 32, "context layout");
_Static_assert(sizeof(HFValue) == 256, "context layout");
_Static_assert(offsetof(HFValue, text) == 48, "context layout");
_Static_assert(sizeof(HFSystemState) == 320, "context layout");
_Static_assert(offsetof(HFSystemState, resident) == 24, "context layout");
_Static_assert(offsetof(HFSystemState, limits) == 64, "context layout");
_Static_assert(offsetof(HFSnapshot, system) == 64, "context layout");
_Static_assert(offsetof(HFSnapshot, events) == 384, "context layout");
_Static_assert(offsetof(HFSnapshot, notes) == 8576, "context layout");
_Static_assert(offsetof(HFSnapshot, values) == 24960, "context layout");
_Static_assert(offsetof(HFSnapshot, value_index) == 37248, "context layout");
_Static_assert(sizeof(HFSnapshot) == 37296, "context layout");
_Static_assert(offsetof(HFContextArea, notes_total) == 64, "context layout");
_Static_assert(offsetof(HFContextArea, memory_limit) == 96, "context layout");
_Static_assert(offsetof(HFContextArea, container_runtime) == 104, "context layout");
_Static_assert(offsetof(HFContextArea, environment) == 488, "context layout");
_Static_assert(offsetof(HFContextArea, redaction) == 4584, "context layout");
_Static_assert(sizeof(HFContextArea) == 6632, "context layout");
_Static_assert(offsetof(HFContextSection, rings) % 64 == 0, "events on cache lines");

/// How many bytes a section takes.
size_t hf_context_section_size(void);

/// How many bytes a snapshot takes.
size_t hf_context_snapshot_size(void);

/// Fills in where the parts of the empty section of a spool file lie. Not safe to call from a signal handler.
void hf_context_lay_out(HFSpoolHeader *_Nonnull spool);

/// Writes what may be told of the environment, and the rules by which texts are redacted: NUL-terminated texts, as HFContextArea has
/// them, cut between two of them where there is no room.
void hf_context_describe(
    HFSpoolHeader *_Nonnull spool,
    const char *_Nullable environment,
    size_t environment_length,
    const char *_Nullable redaction,
    size_t redaction_length,
    uint32_t redaction_flags);

/// What is known of the container and the control group of the process.
typedef struct HFContainer {
    const char *_Nonnull runtime;
    const char *_Nonnull identifier;
    const char *_Nonnull control_group;
    uint64_t memory_limit;
    uint32_t processor_limit;
} HFContainer;

/// Writes what is known of the container, if a section is in use. Not safe to call from a signal handler.
void hf_context_describe_container(const HFContainer *_Nonnull container);

/// Copies what was kept of a fault to `buffer`, which has room for a snapshot; false if nothing was.
///
/// Waits for the thread that faulted, if that has not come to it yet. Not safe to call from a signal handler.
bool hf_context_copy_snapshot(uint32_t fault, void *_Nonnull buffer);

/// Begins to keep events, notes and values in the section of a spool file, if that has one.
void hf_context_install(HFSpoolHeader *_Nonnull spool);

/// Keeps nothing any more: for a forked child, and at the end.
void hf_context_forget(void);

/// The section that is in use, or NULL. Safe to call from a signal handler.
HFContextSection *_Nullable hf_async_context(void);

/// Claims room for what there is to know of a fault, before the deciding thread looks for it; NULL when there is none.
/// Safe to call from a signal handler.
HFSnapshot *_Nullable hf_async_claim_context(uint32_t fault);

/// Copies what there is to know of a fault, before its thread goes on. For the thread that faulted. Safe to call from a signal handler.
void hf_async_keep_context(HFSnapshot *_Nullable snapshot);

/// Adds the state of the process to what was kept of a fault. Allocates nothing. Safe to call from a signal handler.
void hf_async_complete_context(uint32_t fault);

/// Frees what was kept of a fault. Safe to call from a signal handler.
void hf_async_release_context(uint32_t fault);

/// Asks for the state of the process, with system calls alone: what cannot be had is not among `known`.
/// Safe to call from a signal handler.
void hf_async_read_system_state(HFSystemState *_Nonnull state);

/// Adds a note, cut where its field ends. No lock, no allocation. Safe to call from a signal handler.
///
/// Returns false when nothing is kept, or when its place is being written by a thread that stands still.
bool hf_async_add_note(uint32_t kind, int32_t code, int32_t detail, const char *_Nonnull text, size_t length);

/// Sets an annotation, or with `is_tag` a tag; a NULL text removes it. Texts are cut where their fields end.
///
/// Returns false when nothing is kept, or when there is no room for another one. A fault inside is never resumed. Not safe to call
/// from a signal handler: locks.
bool hf_context_set_value(
    bool is_tag, const char *_Nonnull key, size_t key_length, const char *_Nullable text, size_t length);

/// Copies a value and returns its length, -1 for none. `text` has room for HF_VALUE_TEXT_SIZE bytes. Not safe to call from a signal
/// handler: locks.
int hf_context_value(bool is_tag, const char *_Nonnull key, size_t key_length, char *_Nonnull text);

#ifdef __cplusplus
}
#endif

#endif
