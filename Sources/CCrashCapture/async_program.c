// Looks at the program that a restart is about to execute: execve(2) takes one whose end is missing, as while it is being installed,
// and the process dies of it.

#include "async_program.h"

#include "async_syscalls.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#if defined(__x86_64__)
enum { own_machine = EM_X86_64 };
#else
#error "the machine of ELF files is not known here"
#endif

/// More than any program has (the kernel takes one page of them: fs/binfmt_elf.c).
enum { most_segments = 4096 / sizeof(Elf64_Phdr) };

/// Whether a part of a file lies within it.
static bool is_within(uint64_t offset, uint64_t length, uint64_t size) { return offset <= size && length <= size - offset; }

static bool has_magic(const Elf64_Ehdr *header) {
    return header->e_ident[EI_MAG0] == ELFMAG0 && header->e_ident[EI_MAG1] == ELFMAG1 &&
           header->e_ident[EI_MAG2] == ELFMAG2 && header->e_ident[EI_MAG3] == ELFMAG3;
}

static bool has_all_segments(int file, const Elf64_Ehdr *header, uint64_t size) {
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum > most_segments) {
        return false;
    }
    for (uint32_t i = 0; i < header->e_phnum; i += 1) {
        Elf64_Phdr segment;
        uint64_t place = header->e_phoff + i * sizeof segment;
        if (HF_SYSCALL4(SYS_pread64, file, &segment, sizeof segment, place) != (long)sizeof segment ||
            !is_within(segment.p_offset, segment.p_filesz, size)) {
            return false;
        }
    }
    return true;
}

static bool is_complete(int file) {
    struct stat status;
    Elf64_Ehdr header;
    if (HF_SYSCALL2(SYS_fstat, file, &status) != 0) {
        return false;
    }
    long count = HF_SYSCALL4(SYS_pread64, file, &header, sizeof header, 0);
    // A script, or what somebody has told the kernel of (binfmt_misc).
    if (count < SELFMAG || !has_magic(&header)) {
        return count >= 0;
    }
    uint64_t size = (uint64_t)status.st_size;
    // The section headers come last in what linkers write.
    return count == (long)sizeof header && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == own_machine &&
           is_within(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, size) &&
           has_all_segments(file, &header, size);
}

bool hf_async_is_complete_program(const char *path) {
    long file = HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) {
        return false;
    }
    bool complete = is_complete((int)file);
    HF_SYSCALL1(SYS_close, file);
    return complete;
}
