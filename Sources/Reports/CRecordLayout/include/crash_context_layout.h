// The section of a spool file that says what the process was doing and what it had. CCrashCapture writes it, CrashReports/Record reads it,
// and a test compares the tables of Documentation/CrashContext.md with it.

#ifndef HF_CRASH_CONTEXT_LAYOUT_H
#define HF_CRASH_CONTEXT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "loop_event_layout.h"

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

_Static_assert(sizeof(HFNote) == 256, "context layout");
_Static_assert(sizeof(HFValue) == 256, "context layout");
_Static_assert(sizeof(HFSystemState) == 320, "context layout");
_Static_assert(sizeof(HFSnapshot) == 37296, "context layout");
_Static_assert(sizeof(HFContextArea) == 6632, "context layout");
_Static_assert(offsetof(HFContextSection, rings) % 64 == 0, "events on cache lines");

#endif
