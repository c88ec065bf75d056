// libunwind's generic x86-64 library, through pointers.
//
// Provided because the unw_* names are macros, and because the library must not be linked. Linking would bring libunwind.so.8 into the
// global scope, where its _Unwind_RaiseException stands before libgcc's and takes over every C++ exception. Loaded with RTLD_LOCAL it
// cannot. The archive is no alternative: Debian's libunwind-x86_64.a is not position-independent.

#ifndef HF_UNWIND_SHIMS_H
#define HF_UNWIND_SHIMS_H

#include <dlfcn.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/// The functions of libunwind that a walk needs.
typedef struct HFUnwindLibrary {
    unw_addr_space_t _Nullable local_address_space;
    unw_accessors_t *_Nonnull (*_Nullable get_accessors)(unw_addr_space_t _Nullable);
    int (*_Nullable init_local2)(unw_cursor_t *_Nonnull, unw_context_t *_Nonnull, int);
    int (*_Nullable step)(unw_cursor_t *_Nonnull);
    int (*_Nullable get_reg)(unw_cursor_t *_Nonnull, unw_regnum_t, unw_word_t *_Nonnull);
    int (*_Nullable set_caching_policy)(unw_addr_space_t _Nullable, unw_caching_policy_t);
    void (*_Nullable flush_cache)(unw_addr_space_t _Nullable, unw_word_t, unw_word_t);
    /// Not in libunwind.h, but exported for libunwind-ptrace and its like (include/dwarf.h).
    int (*_Nullable search_unwind_table)(
        unw_addr_space_t _Nullable, unw_word_t, unw_dyn_info_t *_Nonnull, unw_proc_info_t *_Nonnull, int,
        void *_Nullable);
} HFUnwindLibrary;

#define HF_UNWIND_FIND(field, name)                                              \
    library->field = (__typeof__(library->field))dlsym(handle, "_Ux86_64_" name); \
    if (library->field == NULL) {                                                \
        return false;                                                            \
    }

/// Loads libunwind; false if it or one of its functions is missing. Not safe to call from a signal handler.
static inline bool hf_unwind_load(HFUnwindLibrary *_Nonnull library) {
    void *handle = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return false;
    }
    unw_addr_space_t *local = (unw_addr_space_t *)dlsym(handle, "_Ux86_64_local_addr_space");
    if (local == NULL) {
        return false;
    }
    library->local_address_space = *local;
    HF_UNWIND_FIND(get_accessors, "get_accessors")
    HF_UNWIND_FIND(init_local2, "init_local2")
    HF_UNWIND_FIND(step, "step")
    HF_UNWIND_FIND(get_reg, "get_reg")
    HF_UNWIND_FIND(set_caching_policy, "set_caching_policy")
    HF_UNWIND_FIND(flush_cache, "flush_cache")
    HF_UNWIND_FIND(search_unwind_table, "dwarf_search_unwind_table")
    return true;
}

/// Captures the caller's own context. Provided because Swift does not import getcontext(3), which may return twice. Nobody resumes this
/// context, so it never does.
static inline void hf_unwind_capture(ucontext_t *_Nonnull context) {
    getcontext(context);
}

/// Begins a walk at a signal handler's context. Its program counter is exact, or a return address.
static inline int hf_unwind_begin(
    const HFUnwindLibrary *_Nonnull library, unw_cursor_t *_Nonnull cursor, ucontext_t *_Nonnull context, bool is_exact) {
    return library->init_local2(cursor, (unw_context_t *)context, is_exact ? UNW_INIT_SIGNAL_FRAME : 0);
}

// REG_RSP and REG_RIP of sys/ucontext.h, which declares them only with _GNU_SOURCE. Swift's importer does not define that.
enum { HF_UNWIND_GREG_RSP = 15, HF_UNWIND_GREG_RIP = 16 };

enum { HF_UNWIND_REGISTER_COUNT = 17 };

/// The indices of rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15 and rip in sys/ucontext.h.
static const unsigned char hf_unwind_gregs[HF_UNWIND_REGISTER_COUNT] = {
    13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16,
};

/// The registers of a context that a walk begins with.
static inline uint64_t hf_unwind_program_counter(const ucontext_t *_Nonnull context) {
    return (uint64_t)context->uc_mcontext.gregs[HF_UNWIND_GREG_RIP];
}

static inline uint64_t hf_unwind_stack_pointer(const ucontext_t *_Nonnull context) {
    return (uint64_t)context->uc_mcontext.gregs[HF_UNWIND_GREG_RSP];
}

/// Copies the registers of a context in the order of DWARF (System V ABI, AMD64 supplement, figure 3.36), then the program counter.
static inline void hf_unwind_get_registers(const ucontext_t *_Nonnull context, uint64_t *_Nonnull registers) {
    for (int i = 0; i < HF_UNWIND_REGISTER_COUNT; i += 1) {
        registers[i] = (uint64_t)context->uc_mcontext.gregs[hf_unwind_gregs[i]];
    }
}

/// Copies them back.
static inline void hf_unwind_set_registers(ucontext_t *_Nonnull context, const uint64_t *_Nonnull registers) {
    for (int i = 0; i < HF_UNWIND_REGISTER_COUNT; i += 1) {
        context->uc_mcontext.gregs[hf_unwind_gregs[i]] = (greg_t)registers[i];
    }
}

/// Undoes a call: sets the context to the caller, at the return address.
static inline void hf_unwind_undo_call(ucontext_t *_Nonnull context, uint64_t return_address) {
    context->uc_mcontext.gregs[HF_UNWIND_GREG_RIP] = (greg_t)return_address;
    context->uc_mcontext.gregs[HF_UNWIND_GREG_RSP] += 8;
}

/// Finds the unwind description of `ip` in an image whose .eh_frame_hdr has a binary search table at `table` with
/// `table_count` entries relative to `segment_base`.
static inline int hf_unwind_search(
    const HFUnwindLibrary *_Nonnull library, unw_addr_space_t _Nullable space, unw_word_t ip, unw_word_t start,
    unw_word_t end, unw_word_t segment_base, unw_word_t table, unw_word_t table_count,
    unw_proc_info_t *_Nonnull info, int need_unwind_info, void *_Nullable argument) {
    unw_dyn_info_t description;
    __builtin_memset(&description, 0, sizeof description);
    description.start_ip = start;
    description.end_ip = end;
    description.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    description.u.rti.segbase = segment_base;
    description.u.rti.table_data = table;
    // The length is in words; an entry is two 32-bit offsets.
    description.u.rti.table_len = table_count * 8 / sizeof(unw_word_t);
    return library->search_unwind_table(space, ip, &description, info, need_unwind_info, argument);
}

enum {
    HF_UNWIND_REGISTER_IP = UNW_X86_64_RIP,
    HF_UNWIND_REGISTER_SP = UNW_X86_64_RSP,
    HF_UNWIND_REGISTER_RBP = UNW_X86_64_RBP,
    HF_UNWIND_REGISTER_RBX = UNW_X86_64_RBX,
    HF_UNWIND_REGISTER_R12 = UNW_X86_64_R12,
    HF_UNWIND_REGISTER_R13 = UNW_X86_64_R13,
    HF_UNWIND_REGISTER_R14 = UNW_X86_64_R14,
    HF_UNWIND_REGISTER_R15 = UNW_X86_64_R15,
    HF_UNWIND_NO_INFORMATION = -UNW_ENOINFO,
    HF_UNWIND_INVALID = -UNW_EINVAL,
};

#endif
