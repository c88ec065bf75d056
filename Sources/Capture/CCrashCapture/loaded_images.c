// The program as it is loaded: its images, its arguments. In C because Swift cannot reach dl_iterate_phdr(3) and ElfW().

#include "loaded_images.h"

#include "async_spool.h"
#include "async_verdict.h"
#include "interposition.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

typedef struct Snapshot {
    HFSpoolHeader *spool;
    HFLoadedImage *images;
    HFImage *table;
    uint32_t capacity;
    uint32_t count;
} Snapshot;

static const char *last_component(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static HFImageKind kind_of(const char *path, uint32_t index) {
    if (index == 0) {
        return HFImageKindApplication;
    }
    const char *name = last_component(path);
    // libswiftSwiftOnoneSupport has the standard library's generics as -Onone builds call them: the same code, specialised.
    if (strncmp(name, "libswiftCore.so", 15) == 0 || strncmp(name, "libswiftSwiftOnoneSupport.so", 28) == 0) {
        return HFImageKindSwiftCore;
    }
    if (strncmp(name, "libc.so", 7) == 0) {
        return HFImageKindC;
    }
    return HFImageKindOther;
}

static void copy_build_id(HFImage *entry, const char *note, size_t size) {
    // Elf64_Nhdr, then the name and the description, each padded to 4 bytes (elf(5)).
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)note;
        size_t name_size = ((size_t)header->n_namesz + 3) & ~(size_t)3;
        size_t description_size = ((size_t)header->n_descsz + 3) & ~(size_t)3;
        size_t whole = sizeof *header + name_size + description_size;
        if (whole > size) {
            return;
        }
        const char *name = note + sizeof *header;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            size_t length = header->n_descsz < HF_BUILD_ID_SIZE ? header->n_descsz : HF_BUILD_ID_SIZE;
            memcpy(entry->build_id, name + name_size, length);
            entry->build_id_length = (uint32_t)length;
            return;
        }
        note += whole;
        size -= whole;
    }
}

static int add_image(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    Snapshot *snapshot = argument;
    if (snapshot->count == snapshot->capacity) {
        return 1;
    }
    HFLoadedImage unwanted;
    HFLoadedImage *image = snapshot->images != NULL ? &snapshot->images[snapshot->count] : &unwanted;
    HFImage *entry = &snapshot->table[snapshot->count];
    memset(image, 0, sizeof *image);
    memset(entry, 0, sizeof *entry);
    uint64_t low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i += 1) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD) {
            uint64_t end = start + header->p_memsz;
            low = start < low ? start : low;
            image->end = end > image->end ? end : image->end;
            if ((header->p_flags & PF_X) != 0) {
                image->code[0] = start;
                image->code[1] = end;
            }
            if ((header->p_flags & (PF_R | PF_W)) == PF_R && image->segment_count < HF_MAXIMUM_SEGMENTS) {
                image->segments[image->segment_count][0] = start;
                image->segments[image->segment_count][1] = end;
                image->segment_count += 1;
            }
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            image->unwind_table = start;
        } else if (header->p_type == PT_NOTE) {
            copy_build_id(entry, (const char *)start, header->p_memsz);
        }
    }
    if (low == UINT64_MAX) {
        return 0;
    }
    image->base = low;
    const char *path = info->dlpi_name == NULL ? "" : info->dlpi_name;
    if (snapshot->count == 0 && path[0] == 0) {
        // The first entry is the executable, without a name (dl_iterate_phdr(3)).
        path = snapshot->spool->executable;
    } else if (path[0] == 0) {
        path = "[vdso]";
    }
    image->kind = kind_of(path, snapshot->count);
    entry->base = image->base;
    entry->end = image->end;
    strncpy(entry->path, path, sizeof entry->path - 1);
    snapshot->count += 1;
    return 0;
}

static _Atomic(uint32_t) version;

uint32_t hf_loaded_images_version(void) { return atomic_load_explicit(&version, memory_order_acquire); }

uint32_t hf_loaded_images_snapshot(HFSpoolHeader *spool, HFLoadedImage *images, uint32_t capacity) {
    capacity = capacity < spool->image_capacity ? capacity : spool->image_capacity;
    HFImage *fresh = calloc(capacity, sizeof *fresh);
    if (fresh == NULL) {
        return 0;
    }
    Snapshot snapshot = {.spool = spool, .images = images, .table = fresh, .capacity = capacity};
    dl_iterate_phdr(add_image, &snapshot);
    // Entry by entry, and only those that changed: somebody may be reading the table, or the process may die meanwhile.
    HFImage *table = (HFImage *)((char *)spool + spool->image_offset);
    bool has_changed = spool->image_count != snapshot.count;
    for (uint32_t i = 0; i < snapshot.count; i += 1) {
        if (memcmp(&table[i], &fresh[i], sizeof *fresh) != 0) {
            table[i] = fresh[i];
            has_changed = true;
        }
    }
    __atomic_store_n(&spool->image_count, snapshot.count, __ATOMIC_RELEASE);
    if (has_changed) {
        atomic_fetch_add_explicit(&version, 1, memory_order_acq_rel);
        hf_copy_spool();
    }
    free(fresh);
    return snapshot.count;
}

// MARK: Unloading

// dlclose(3) is interposed: the next library may be mapped to the place of one that was unloaded, and the walk and the reports would
// confuse the two. Called at any time.

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static int count_removed(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_subs;
    return 1;
}

int dlclose(void *handle) {
    unsigned long long before = 0;
    unsigned long long after = 0;
    dl_iterate_phdr(count_removed, &before);
    int result = HF_NEXT(dlclose)(handle);
    dl_iterate_phdr(count_removed, &after);
    // Most calls only lower a count. Then nothing is done: if a thread faulted that holds the loader's lock or the heap's while the crash
    // thread lists images, its verdict would come too late.
    if (after == before) {
        return result;
    }
    // The crash thread lists the images now. After a fault would be too late: the thread that faulted may hold the loader's lock.
    hf_async_note_unload();
    return result;
}

#endif

// MARK: The program

uint64_t hf_program_without_interpreter(void) {
    // The kernel's AT_BASE is that of PT_INTERP (create_elf_tables in fs/binfmt_elf.c). The loader has corrected AT_PHDR
    // (rtld_is_main in glibc's elf/rtld.c).
    return getauxval(AT_BASE) != 0 ? 0 : getauxval(AT_PHDR);
}

const char *hf_program_name_at_start(void) { return (const char *)getauxval(AT_EXECFN); }

static int kept_count;
static char **kept_arguments;

/// Kept for later, when proc(5) may not be there. glibc passes the arguments of main to the constructors of a program, too (elf/dl-init.c,
/// call_init; csu/libc-start.c).
__attribute__((constructor)) static void keep(int count, char **arguments) {
    kept_count = arguments != NULL ? count : 0;
    kept_arguments = arguments;
}

int hf_program_argument_count(void) { return kept_count; }

const char *hf_program_argument(int index) {
    return index >= 0 && index < kept_count ? kept_arguments[index] : NULL;
}
