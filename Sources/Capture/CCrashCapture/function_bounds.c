// The bounds of functions, by their symbols: of the program and of its libraries.

#include "function_bounds.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// MARK: What is loaded

/// A program or library, as it is mapped.
typedef struct Object {
    uintptr_t address;
    /// What is added to the addresses in its file.
    uintptr_t base;
    const ElfW(Dyn) *dynamic;
} Object;

static int is_object(struct dl_phdr_info *info, size_t size, void *result) {
    (void)size;
    Object *object = result;
    bool has_address = false;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i += 1) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        has_address = has_address ||
                      (header->p_type == PT_LOAD && object->address >= start && object->address - start < header->p_memsz);
        if (header->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        }
    }
    if (has_address) {
        object->base = info->dlpi_addr;
        object->dynamic = dynamic;
    }
    return has_address;
}

/// Finds the object that has an address. Unlike dladdr(3) it looks at no symbol: that looks at every one of the library (_dl_addr in glibc's
/// elf/dl-addr.c), which takes up to 0.3 ms.
static bool find_object(const void *address, Object *object) {
    *object = (Object){.address = (uintptr_t)address};
    return dl_iterate_phdr(is_object, object) != 0;
}

/// A table that the dynamic section names; the loader has made its address one of the process, but not in read-only sections
/// (glibc's elf/get-dynamic-info.h).
static const void *table(const Object *object, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry += 1) {
        if (entry->d_tag == tag) {
            uintptr_t value = entry->d_un.d_ptr;
            return (const void *)(value < object->base ? value + object->base : value);
        }
    }
    return NULL;
}

/// The size of an exported function, by the table in which the loader finds it, too (DT_GNU_HASH: binutils, bfd/elflink.c,
/// elf_gnu_hash_process_symidx). Returns 0 if the object has no function of this name at the address.
static uint64_t exported_size(const Object *object, const char *name) {
    const uint32_t *hashes = table(object, DT_GNU_HASH);
    const ElfW(Sym) *symbols = table(object, DT_SYMTAB);
    const char *names = table(object, DT_STRTAB);
    if (hashes == NULL || symbols == NULL || names == NULL || hashes[0] == 0) {
        return 0;
    }
    uint32_t hash = 5381;
    for (const unsigned char *next = (const unsigned char *)name; *next != 0; next += 1) {
        hash = hash * 33 + *next;
    }
    uint32_t bucket_count = hashes[0];
    uint32_t first_symbol = hashes[1];
    const uint32_t *buckets = hashes + 4 + (size_t)hashes[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first_symbol) {
        return 0;
    }
    for (;; index += 1) {
        const ElfW(Sym) *symbol = &symbols[index];
        uint32_t found = chains[index - first_symbol];
        // A name may be there for each of its versions.
        if ((found | 1) == (hash | 1) && object->base + symbol->st_value == object->address &&
            strcmp(names + symbol->st_name, name) == 0) {
            return symbol->st_size;
        }
        if ((found & 1) != 0) {
            return 0;
        }
    }
}

/// The bounds of the first function that a search with dlsym(3) finds.
static int bounds_of_found(void *search, const char *name, uint64_t *start, uint64_t *end) {
    void *address = dlsym(search, name);
    if (address == NULL) {
        return -1;
    }
    Object object;
    uint64_t size = find_object(address, &object) ? exported_size(&object, name) : 0;
    if (size == 0) {
        // A library without that table (ld(1), --hash-style=sysv), or a function that is found under another name.
        Dl_info info;
        const ElfW(Sym) *symbol = NULL;
        if (dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL || symbol->st_size == 0) {
            return -1;
        }
        size = symbol->st_size;
    }
    *start = (uint64_t)address;
    *end = *start + size;
    return 0;
}

int hf_function_bounds(const char *name, uint64_t *start, uint64_t *end) {
    return bounds_of_found(RTLD_DEFAULT, name, start, end);
}

// MARK: A static standard library

extern void swift_retain(void *) __attribute__((weak));

bool hf_capture_runtime_is_dynamic(void) {
    Object runtime;
    Object program;
    return swift_retain != NULL && find_object((const void *)swift_retain, &runtime) &&
           find_object((const void *)hf_capture_runtime_is_dynamic, &program) && runtime.base != program.base;
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
    Object program;
    struct stat status;
    int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return -1;
    }
    int result = -1;
    if (fstat(descriptor, &status) == 0 && find_object((const void *)hf_own_function_bounds, &program)) {
        const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file != MAP_FAILED) {
            uint64_t length = 0;
            uint64_t value = find_symbol(file, (uint64_t)status.st_size, name, &length);
            if (value != 0) {
                *start = program.base + value;
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
