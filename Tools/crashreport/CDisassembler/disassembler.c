// Capstone by dlopen(3): its header is not needed to build, and the library not to run.

#include "disassembler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// capstone.h, the part that versions 4 and 5 have in common.
enum { ARCH_X86 = 3, MODE_64 = 1 << 3, MNEMONIC_SIZE = 32 };

typedef size_t capstone_handle;

// `cs_insn` of version 4 has room for 16 bytes of code, that of version 5 for 24. Only what comes before `detail` is read.
struct instruction_4 {
    unsigned int id;
    uint64_t address;
    uint16_t size;
    uint8_t bytes[16];
    char mnemonic[MNEMONIC_SIZE];
    char operands[160];
    void *detail;
};
struct instruction_5 {
    unsigned int id;
    uint64_t address;
    uint16_t size;
    uint8_t bytes[24];
    char mnemonic[MNEMONIC_SIZE];
    char operands[160];
    void *detail;
};

static struct {
    int major;
    int (*open)(int arch, int mode, capstone_handle *handle);
    int (*close)(capstone_handle *handle);
    size_t (*disassemble)(capstone_handle handle, const uint8_t *code, size_t size, uint64_t address, size_t count, void **result);
    void (*free)(void *instructions, size_t count);
} library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const names[] = {"libcapstone.so.5", "libcapstone.so.4"};
    void *file = NULL;
    for (size_t index = 0; index < sizeof names / sizeof *names && file == NULL; index++) {
        file = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    }
    if (file == NULL) return;
    unsigned int (*version)(int *major, int *minor) = (unsigned int (*)(int *, int *))dlsym(file, "cs_version");
    *(void **)&library.open = dlsym(file, "cs_open");
    *(void **)&library.close = dlsym(file, "cs_close");
    *(void **)&library.disassemble = dlsym(file, "cs_disasm");
    *(void **)&library.free = dlsym(file, "cs_free");
    int major = 0, minor = 0;
    if (version != NULL) version(&major, &minor);
    int is_whole = library.open != NULL && library.close != NULL && library.disassemble != NULL && library.free != NULL;
    // Never unloaded: the pointers stay good. Another version may lay out its instructions otherwise.
    if (is_whole && (major == 4 || major == 5)) library.major = major;
}

static void say(hf_instruction *to, uint64_t address, const char *mnemonic, const char *operands) {
    to->address = address;
    snprintf(to->text, sizeof to->text, "%.*s%s%.160s", MNEMONIC_SIZE, mnemonic, operands[0] == 0 ? "" : " ", operands);
}

size_t hf_disassemble(const uint8_t *bytes, size_t size, uint64_t address, hf_instruction *instructions, size_t capacity) {
    pthread_once(&once, load);
    // A count of zero would mean all of them.
    if (library.major == 0 || capacity == 0) return 0;
    capstone_handle handle = 0;
    if (library.open(ARCH_X86, MODE_64, &handle) != 0) return 0;
    void *found = NULL;
    size_t count = library.disassemble(handle, bytes, size, address, capacity, &found);
    if (count > capacity) count = capacity;
    for (size_t index = 0; index < count; index++) {
        if (library.major == 4) {
            const struct instruction_4 *instruction = (const struct instruction_4 *)found + index;
            say(&instructions[index], instruction->address, instruction->mnemonic, instruction->operands);
        } else {
            const struct instruction_5 *instruction = (const struct instruction_5 *)found + index;
            say(&instructions[index], instruction->address, instruction->mnemonic, instruction->operands);
        }
    }
    if (found != NULL) library.free(found, count);
    library.close(&handle);
    return count;
}
