#ifndef HF_SYSTEM_FAULTS_H
#define HF_SYSTEM_FAULTS_H

// Faults that the kernel raises for what a process asks of it, and a sandbox for tests. What is set here stays set until the process
// ends, across execve(2), too.

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes a system call that a seccomp filter answers with SIGSYS, SYS_SECCOMP.
void faultForbiddenCall(void);
/// Writes behind the limit of a file's size (RLIMIT_FSIZE, set to 1 GiB): SIGXFSZ.
void faultFileSize(void);
/// Has the processor time that a process may use be over (RLIMIT_CPU), and works until the kernel says so: SIGXCPU.
void faultProcessorTime(void);

/// Runs the instruction that stops a processor, which only the kernel may: SIGSEGV, SI_KERNEL.
void faultHalt(void);
/// Asks for an interrupt that programs may not use: SIGSEGV, SI_KERNEL.
void faultInterrupt(void);

/// Takes /proc away, in a mount namespace of the process's own. Returns whether it is gone.
bool hf_sandbox_hide_processes(void);

/// Has a system call fail with an `errno`, as a sandbox does that does not know it. Returns whether the kernel took the filter.
bool hf_sandbox_refuse(int number, int error);

/// Has a process that calls fcntl(2) with a descriptor of `first` or above be killed. Returns whether the kernel took the filter.
bool hf_sandbox_forbid_descriptors(unsigned first);

/// Becomes another user for good, who may still read the memory of this process. Returns whether it did.
bool hf_sandbox_become(unsigned user);

/// Has the kernel refuse new threads (RLIMIT_NPROC), or not any more; not for root. Returns whether the limit was set.
bool hf_sandbox_refuse_threads(bool refuse);

#ifdef __cplusplus
}
#endif

#endif
