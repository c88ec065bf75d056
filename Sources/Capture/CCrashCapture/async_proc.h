// Reading proc(5) in a crashed context: files, folders, texts with numbers, and what they say. All of it is safe to call from a signal
// handler.

#ifndef HF_ASYNC_PROC_H
#define HF_ASYNC_PROC_H

#include "crash_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Opens a file or a folder for reading; below 0 if that fails.
long hf_async_open(int folder, const char *path);

/// Reads the beginning of a file, terminates it with a NUL, and closes the file; returns the length. A descriptor below 0 gives 0.
size_t hf_async_read_text(long descriptor, char *text, size_t size);

/// A folder whose entries are read.
typedef struct HFFolder {
    long descriptor;
    /// Bytes in the buffer; 0 when all entries were read, below 0 after an error.
    long size;
    long offset;
    _Alignas(8) char bytes[2048];
} HFFolder;

/// Begins to read the entries of an open folder.
void hf_async_begin_entries(HFFolder *folder, long descriptor);

/// The name of the next entry, valid until the next call; NULL for none.
const char *hf_async_next_entry(HFFolder *folder);

/// The number that a name stands for; below 0 if it is no number.
int32_t hf_async_number_of(const char *name);

/// Skips blanks, reads a number and moves behind it; false if there is none.
bool hf_async_read_number(const char **text, uint64_t *number);

/// Reads a hexadecimal number in lowercase and moves behind it; 0 if there is none.
uint64_t hf_async_read_hexadecimal(const char **text);

/// The value of the line that begins with a name and a colon, without leading blanks; NULL if there is no such line.
const char *hf_async_field(const char *text, const char *name);

/// Appends as much to a text of a length as there is room for, and returns the new length. The text stays NUL-terminated.
size_t hf_async_append(char *text, size_t size, size_t length, const char *more);

/// Appends a decimal number.
size_t hf_async_append_number(char *text, size_t size, size_t length, uint64_t number);

/// Finds the mapping that holds an address, or the nearest one.
///
/// The end is zero if it could not be found: proc(5) is not mounted, no descriptor is free, or there are too many mappings. Safe to call
/// from a signal handler.
void hf_async_find_mapping(uint64_t address, HFMapping *nearest);

/// Unmaps what is mapped to be shared with other processes. For a process that runs nothing else any more.
void hf_async_unmap_shared(void);

/// Copies the name of a process, as in /proc/PID/comm; "" if it cannot be had. Safe to call from a signal handler.
void hf_async_name_process(int32_t pid, char *name, size_t size);

#endif
