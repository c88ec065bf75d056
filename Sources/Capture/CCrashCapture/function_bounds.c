// The bounds of functions, by their symbols: of the program and of its libraries.

#include "function_bounds.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

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

// The linker finds these in the program; weak, it takes nothing into the program for them. Where the standard library is not a part of the
// program, they are imported, or null.

#define LINKED(function, symbol) extern void function(void) __attribute__((weak)) __asm__(symbol)

LINKED(job_run, "swift_job_run");
LINKED(job_run_on_task_executor, "swift_job_run_on_task_executor");
LINKED(job_run_on_both_executors, "swift_job_run_on_serial_and_task_executor");
LINKED(task_switch, "swift_task_switch");
LINKED(condition_lock, HF_CONDITION_LOCK);
LINKED(condition_lock_when, HF_CONDITION_LOCK_WHEN);

/// A function of the program, by its symbol; null if it has none.
static const void *linked_function(const char *name) {
    const struct {
        const char *name;
        const void *function;
    } functions[] = {
        {"swift_job_run", (const void *)job_run},
        {"swift_job_run_on_task_executor", (const void *)job_run_on_task_executor},
        {"swift_job_run_on_serial_and_task_executor", (const void *)job_run_on_both_executors},
        {"swift_task_switch", (const void *)task_switch},
        {HF_CONDITION_LOCK, (const void *)condition_lock},
        {HF_CONDITION_LOCK_WHEN, (const void *)condition_lock_when},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i += 1) {
        if (strcmp(functions[i].name, name) == 0) {
            return functions[i].function;
        }
    }
    return NULL;
}

/// What an exception's way up asks about a function (libgcc, unwind-dw2-fde.h).
struct dwarf_eh_bases {
    void *text;
    void *data;
    void *function;
};

extern const void *_Unwind_Find_FDE(void *address, struct dwarf_eh_bases *bases) __attribute__((weak));

/// The size of a function, by its unwind information; 0 if it has none. Its symbol would have to be looked for among all of the program's, in its
/// file.
static uint64_t unwound_size(const void *function) {
    struct dwarf_eh_bases bases;
    const char *entry = _Unwind_Find_FDE == NULL ? NULL : _Unwind_Find_FDE((void *)function, &bases);
    if (entry == NULL || bases.function != function) {
        return 0;
    }
    // Behind the entry's length and its way to the common part, which says how addresses are written; by every linker here as a distance of 32 bits
    // (LSB Core, 10.6.1.1.2).
    const char *place = entry + 2 * sizeof(uint32_t);
    int32_t distance;
    uint32_t size;
    memcpy(&distance, place, sizeof distance);
    memcpy(&size, place + sizeof distance, sizeof size);
    return place + distance == (const char *)function ? size : 0;
}

int hf_linked_function_bounds(const char *name, uint64_t *start, uint64_t *end) {
    // The library's own: this program may have a function that stands before it (task_switch.S).
    int result = bounds_of_found(RTLD_NEXT, name, start, end);
    if (result == 0 || hf_capture_runtime_is_dynamic()) {
        return result;
    }
    const void *function = linked_function(name);
    uint64_t size = function == NULL ? 0 : unwound_size(function);
    if (size == 0) {
        return -1;
    }
    *start = (uint64_t)function;
    *end = *start + size;
    return 0;
}
