// Another process, looked at from outside: ptrace(2), which Swift does not import, and its memory.

#ifndef HF_TRACE_SHIMS_H
#define HF_TRACE_SHIMS_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

/// The registers of a thread, by the numbers that DWARF gives them on x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and the
/// instruction pointer in place of the return address.
#define HF_TRACED_REGISTERS 17

/// Attaches to a thread, and has it stand still: PTRACE_SEIZE, PTRACE_INTERRUPT. Nothing of it changes, and it sees no signal.
///
/// Waits for at most `milliseconds`. Returns its registers, or -1 with `errno` set: EPERM, ESRCH, ETIMEDOUT. The caller detaches only from a
/// thread that stands still.
int hf_trace_stop(int thread, int milliseconds, uint64_t registers[_Nonnull HF_TRACED_REGISTERS]);

/// Lets a thread go on that stands still.
void hf_trace_detach(int thread);

/// Reads memory of a process: process_vm_readv(2). Returns how many bytes were read, or -1 with `errno` set.
ssize_t hf_process_read(int pid, uint64_t address, void *bytes, size_t count);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
