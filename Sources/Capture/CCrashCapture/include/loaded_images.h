// The images that are mapped into the process: what the walk needs to know of them, and what a report keeps.

#ifndef HF_LOADED_IMAGES_H
#define HF_LOADED_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "crash_record.h"

enum { HF_MAXIMUM_SEGMENTS = 4 };

/// What an image's code counts as when a walk is judged.
typedef enum __attribute__((enum_extensibility(closed))) HFImageKind : uint32_t {
    /// The executable: the application, with everything that is linked into it.
    HFImageKindApplication = 0,
    HFImageKindSwiftCore = 1,
    HFImageKindC = 2,
    /// Any other library: it may hold a lock, or have broken an invariant, that no rule knows.
    HFImageKindOther = 3,
} HFImageKind;

/// An image as the walk sees it.
typedef struct HFLoadedImage {
    uint64_t base;
    uint64_t end;
    /// The address of its .eh_frame_hdr, or 0.
    uint64_t unwind_table;
    /// Its executable segment, [start, end).
    uint64_t code[2];
    HFImageKind kind;
    uint32_t segment_count;
    /// Segments that are mapped readable and not writable, as [start, end) pairs: safe to load from while the image stays loaded.
    uint64_t segments[HF_MAXIMUM_SEGMENTS][2];
} HFLoadedImage;

/// Lists the loaded images by address, in `images` and in the spool's image table.
///
/// Returns how many there are, at most `capacity`. Takes the loader's lock. Not safe to call from a signal handler.
uint32_t hf_loaded_images_snapshot(
    HFSpoolHeader *_Nonnull spool, HFLoadedImage *_Nullable images, uint32_t capacity);

/// A number that changes when the spool's image table does. Safe to call from any thread.
uint32_t hf_loaded_images_version(void);

/// An address in the program's image if the kernel executed the dynamic loader, and that the program (`ld.so ./program`, ld.so(8)), or if
/// there is no loader; otherwise 0.
///
/// `/proc/self/exe` is the loader then.
uint64_t hf_program_without_interpreter(void);

/// The path by which the program was executed, or NULL (getauxval(3), AT_EXECFN).
const char *_Nullable hf_program_name_at_start(void);

/// How many arguments the process began with, its name among them.
int hf_program_argument_count(void);

/// An argument; NULL if there is none with this index.
const char *_Nullable hf_program_argument(int index);

#endif
