// What a process was doing and what it had, in the spool file: the last events of its loops, notes, and values of the program, with a copy
// of them for each fault.
//
// Life cycle of a snapshot: it is free; the thread that faulted claims it, and copies into it while it waits for its verdict: then it is
// kept; it is free again with the slot of the fault's record. The deciding thread adds the state of the process meanwhile.
//
// The originals are copied without a lock, and may be written at that moment. So events, notes and values have a number that says so.
// crash_context_layout.h has the layout.

#ifndef HF_CRASH_CONTEXT_H
#define HF_CRASH_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crash_context_layout.h"
#include "crash_record.h"
#include "loop_events.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many bytes a section takes.
size_t hf_context_section_size(void);

/// How many bytes a snapshot takes.
size_t hf_context_snapshot_size(void);

/// Fills in where the parts of an empty section of a spool file lie. Not safe to call from a signal handler.
void hf_context_lay_out(HFSpoolHeader *_Nonnull spool);

/// Writes what reports may tell of the environment, and the rules by which texts are redacted: NUL-terminated texts in the form of
/// HFContextArea, cut between two of them if there is no room.
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

/// Copies the snapshot of a fault to `buffer`, which has room for one; false if there is none.
///
/// Waits for the thread that faulted, if it has not copied yet. Not safe to call from a signal handler.
bool hf_context_copy_snapshot(uint32_t fault, void *_Nonnull buffer);

/// Begins to keep events, notes and values in the section of a spool file, if the file has one.
void hf_context_install(HFSpoolHeader *_Nonnull spool);

/// Touches the pages that the first fault writes, so that it does not wait for them. Not safe to call from a signal handler.
void hf_context_warm_up(void);

/// Stops keeping anything: for a forked child, and at the end.
void hf_context_forget(void);

/// The section that is in use, or NULL. Safe to call from a signal handler.
HFContextSection *_Nullable hf_async_context(void);

/// Claims a snapshot for a fault, before the deciding thread looks for it; NULL if none is free. Safe to call from a signal handler.
HFSnapshot *_Nullable hf_async_claim_context(uint32_t fault);

/// Copies the context of a fault before its thread goes on. For the thread that faulted. Safe to call from a signal handler.
void hf_async_keep_context(HFSnapshot *_Nullable snapshot);

/// Adds the state of the process to the snapshot of a fault. Allocates nothing. Safe to call from a signal handler.
void hf_async_complete_context(uint32_t fault);

/// Frees the snapshot of a fault. Safe to call from a signal handler.
void hf_async_release_context(uint32_t fault);

/// Reads the state of the process, by system calls alone; `known` says what could be read. Safe to call from a signal handler.
void hf_async_read_system_state(HFSystemState *_Nonnull state);

/// Adds a note, cut if it is longer than its field. No lock, no allocation. Safe to call from a signal handler.
///
/// Returns false if nothing is kept, or if a thread that stands still is writing to the note's place.
bool hf_async_add_note(uint32_t kind, int32_t code, int32_t detail, const char *_Nonnull text, size_t length);

/// Sets an annotation, or with `is_tag` a tag; a NULL text removes it. Texts are cut if they are longer than their fields.
///
/// Returns false if nothing is kept, or if there is no room for another one. A fault inside is never resumed. Not safe to call from a
/// signal handler: locks.
bool hf_context_set_value(
    bool is_tag, const char *_Nonnull key, size_t key_length, const char *_Nullable text, size_t length);

/// Copies a value and returns its length, -1 for none. `text` has room for HF_VALUE_TEXT_SIZE bytes. Not safe to call from a signal
/// handler: locks.
int hf_context_value(bool is_tag, const char *_Nonnull key, size_t key_length, char *_Nonnull text);

#ifdef __cplusplus
}
#endif

#endif
