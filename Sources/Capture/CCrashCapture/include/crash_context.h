// What a process was doing and what it had, in the spool file: the last events of its loops, notes, values that the program set, and
// for each fault a copy of them as they were then.
//
// Life cycle of a snapshot: free -> claimed by the thread that faulted -> kept, when that thread has copied what there is, while it waits
// for its verdict -> free again with the slot of the fault's record. The deciding thread adds the state of the process meanwhile.
//
// What lives on is read at a fault without a lock, and may be written at that moment: events, notes and values have a number that says
// so. crash_context_layout.h is the layout.

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
