// The program as it is loaded: its images, its functions, its arguments. In C because Swift cannot reach dl_iterate_phdr(3) and ElfW().

#include "loaded_images.h"

#include "async_spool.h"
#include "async_verdict.h"
#include "interposition.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    HFLoadedImage *image = &snapshot->images[snapshot->count];
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

/// The bounds of the first function that a search with dlsym(3) finds.
static int bounds_of_found(void *search, const char *name, uint64_t *start, uint64_t *end) {
    void *address = dlsym(search, name);
    if (address == NULL) {
        return -1;
    }
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL || symbol->st_size == 0) {
        return -1;
    }
    *start = (uint64_t)address;
    *end = *start + symbol->st_size;
    return 0;
}

int hf_function_bounds(const char *name, uint64_t *start, uint64_t *end) {
    return bounds_of_found(RTLD_DEFAULT, name, start, end);
}

// MARK: A static standard library

extern void swift_retain(void *) __attribute__((weak));

bool hf_capture_runtime_is_dynamic(void) {
    Dl_info runtime;
    Dl_info program;
    return swift_retain != NULL && dladdr((const void *)swift_retain, &runtime) != 0 &&
           dladdr((const void *)hf_capture_runtime_is_dynamic, &program) != 0 && runtime.dli_fbase != program.dli_fbase;
}

/// Whether a part of a file that is mapped lies in it.
static bool is_inside(uint64_t offset, uint64_t size, uint64_t whole) { return offset <= whole && size <= whole - offset; }

/// Finds a function in the symbol table of an ELF file that is mapped; returns its value, or 0.
static uint64_t find_symbol(const char *file, uint64_t size, const char *name, uint64_t *length) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file;
    if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        !is_inside(header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)), size)) {
        return 0;
    }
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + header->e_shoff);
    size_t name_size = strlen(name) + 1;
    for (int i = 0; i < header->e_shnum; i += 1) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum || !is_inside(table->sh_offset, table->sh_size, size)) {
            continue;
        }
        const ElfW(Shdr) *texts = &sections[table->sh_link];
        if (!is_inside(texts->sh_offset, texts->sh_size, size)) {
            continue;
        }
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file + table->sh_offset);
        for (size_t j = 0; j < table->sh_size / sizeof *symbols; j += 1) {
            const ElfW(Sym) *symbol = &symbols[j];
            if (is_inside(symbol->st_name, name_size, texts->sh_size) && symbol->st_size > 0 &&
                memcmp(file + texts->sh_offset + symbol->st_name, name, name_size) == 0) {
                *length = symbol->st_size;
                return symbol->st_value;
            }
        }
    }
    return 0;
}

int hf_own_function_bounds(const char *name, uint64_t *start, uint64_t *end) {
    Dl_info program;
    struct stat status;
    int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return -1;
    }
    int result = -1;
    if (fstat(descriptor, &status) == 0 && dladdr((const void *)hf_own_function_bounds, &program) != 0) {
        const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file != MAP_FAILED) {
            uint64_t length = 0;
            uint64_t value = find_symbol(file, (uint64_t)status.st_size, name, &length);
            if (value != 0) {
                *start = (uint64_t)program.dli_fbase + value;
                *end = *start + length;
                result = 0;
            }
            munmap((void *)file, (size_t)status.st_size);
        }
    }
    close(descriptor);
    return result;
}

int hf_linked_function_bounds(const char *name, uint64_t *start, uint64_t *end) {
    // The library's own: this program may have a function that stands before it (task_switch.S).
    int result = bounds_of_found(RTLD_NEXT, name, start, end);
    return result == 0 || hf_capture_runtime_is_dynamic() ? result : hf_own_function_bounds(name, start, end);
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
