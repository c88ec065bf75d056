// libdw's functions, through pointers.
//
// Provided because few programs need debug information while they run: libdw and its decompressors are five libraries that the
// dynamic linker would load and relocate at every start.

#ifndef HF_LIBDW_TABLE_H
#define HF_LIBDW_TABLE_H

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <libelf.h>

/// The functions that are called. Those of libelf are found by the same handle, for libdw needs it.
#define HF_LIBDW_FUNCTIONS(USE) \
    USE(elf_version) \
    USE(elf_begin) \
    USE(elf_end) \
    USE(dwarf_attr) \
    USE(dwarf_attr_integrate) \
    USE(dwarf_begin_elf) \
    USE(dwarf_child) \
    USE(dwarf_decl_file) \
    USE(dwarf_diecu) \
    USE(dwarf_dieoffset) \
    USE(dwarf_end) \
    USE(dwarf_filesrc) \
    USE(dwarf_formref_die) \
    USE(dwarf_formstring) \
    USE(dwarf_formudata) \
    USE(dwarf_getabbrev) \
    USE(dwarf_getabbrevattr) \
    USE(dwarf_getabbrevtag) \
    USE(dwarf_get_units) \
    USE(dwarf_getsrcfiles) \
    USE(dwarf_getsrclines) \
    USE(dwarf_haspc) \
    USE(dwarf_lineaddr) \
    USE(dwarf_linecol) \
    USE(dwarf_lineendsequence) \
    USE(dwarf_lineno) \
    USE(dwarf_linesrc) \
    USE(dwarf_onesrcline) \
    USE(dwarf_ranges) \
    USE(dwarf_setalt) \
    USE(dwarf_siblingof) \
    USE(dwarf_tag) \
    USE(dwelf_dwarf_gnu_debugaltlink)

/// A pointer to each, by its name.
typedef struct HFLibdw {
#define HF_LIBDW_FIELD(name) __typeof__(name) *_Nonnull name;
    HF_LIBDW_FUNCTIONS(HF_LIBDW_FIELD)
#undef HF_LIBDW_FIELD
} HFLibdw;

/// Loads libdw. Not safe to call from a signal handler: allocates, and takes the dynamic linker's lock. Must not be called by two
/// threads at once.
///
/// Returns the functions, for ever, or NULL if the library or one of them is not there; then `problem` says why (dlerror(3)), until the
/// thread's next call of the dynamic linker.
const HFLibdw *_Nullable hf_libdw_load(const char *_Nullable *_Nonnull problem);

#endif
