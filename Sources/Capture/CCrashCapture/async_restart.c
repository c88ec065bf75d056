// A fresh process in the place of this one: same pid, same arguments, kept descriptors, and no signal lost in between.

#include "async_restart.h"
#include "async_old_memory.h"
#include "async_sample.h"
#include "async_scheduling.h"
#include "async_signals.h"
#include "async_spool.h"
#include "async_state.h"
#include "async_syscalls.h"
#include "kept_table.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>

// MARK: The program

// execve(2) accepts a truncated program, as while it is being installed, and the process dies of it.

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
    // A script, or another format that the kernel was told of (binfmt_misc).
    if (count < SELFMAG || !has_magic(&header)) {
        return count >= 0;
    }
    uint64_t size = (uint64_t)status.st_size;
    // The section headers come last in what linkers write.
    return count == (long)sizeof header && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64 &&
           is_within(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, size) &&
           has_all_segments(file, &header, size);
}

/// Whether a program can be read, is for this machine, and is complete as far as its headers tell. A file that is not ELF passes: the
/// kernel decides about it.
static bool is_complete_program(const char *path) {
    long file = HF_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) {
        return false;
    }
    bool complete = is_complete((int)file);
    HF_SYSCALL1(SYS_close, file);
    return complete;
}

// MARK: The restart

/// Sets the fault signals to be ignored that were ignored before capture, because execve(2) keeps that; returns the former actions.
static void ignore_as_before(HFKernelAction ours[HF_REPORTED_SIGNAL_COUNT]) {
    HFKernelAction ignore = {.handler = (uintptr_t)SIG_IGN};
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        bool ignored = hf_capture_state.previous[i].sa_handler == SIG_IGN;
        HF_SYSCALL4(
            SYS_rt_sigaction, hf_async_fault_signals[i], ignored ? &ignore : NULL, &ours[i], HF_KERNEL_SIGSET_SIZE);
    }
}

static void take_back(const HFKernelAction ours[HF_REPORTED_SIGNAL_COUNT]) {
    for (int i = 0; i < HF_REPORTED_SIGNAL_COUNT; i += 1) {
        HF_SYSCALL4(SYS_rt_sigaction, hf_async_fault_signals[i], &ours[i], 0, HF_KERNEL_SIGSET_SIZE);
    }
}

void hf_async_restart(void) {
    const HFCaptureConfiguration *configuration = &hf_capture_state.configuration;
    if (configuration->executable == NULL || configuration->arguments == NULL || hf_async_is_exiting()) {
        return;
    }
    // A handler may interrupt a change of the plan: the change is made or not, by one instruction or one system call, so the handler goes
    // on. It may not interrupt a restart.
    bool is_free = hf_async_begin_restart();
    if (!is_free && hf_async_is_restarting()) {
        return;
    }
    const HFRestartPlan *plan = hf_async_restart_plan();
    if (plan == NULL) {
        hf_async_finish_restart(is_free);
        return;
    }
    // From here on the handler of an observed signal waits for the restart (hf_async_await_restart): on this thread, for ever.
    uint64_t observed = atomic_load_explicit(&hf_signal_state.observed, memory_order_relaxed);
    uint64_t before = 0;
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, &observed, &before, HF_KERNEL_SIGSET_SIZE);
    hf_async_set_restarting(true);
    // One may have come since the restart was decided.
    int order = hf_async_own_order();
    if (order != 0) {
        hf_async_end_by_order(order);
    }
    // In this order: what is in the table is among the descriptors that this thread has then.
    hf_async_freeze_kept_table(plan->kept_table);
    hf_async_close_all_on_exec();
    hf_async_keep_descriptors(plan->kept_table, true);
    hf_async_hand_spool_over(true);
    hf_async_hold_signals();
    HFKernelAction faults[HF_REPORTED_SIGNAL_COUNT];
    ignore_as_before(faults);
    hf_async_suspend_sampling();
    // execve(2) keeps the signal mask. A process that begins with the fault signals blocked would die unreported, so they are not. The
    // observed ones stay blocked until it has handlers for them again (hf_signal_release): now it would die of a SIGHUP by default.
    uint64_t mask = hf_capture_state.initial_mask |
                    atomic_load_explicit(&hf_signal_state.observed, memory_order_relaxed);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    // It may be a thread that gives way to others.
    hf_async_schedule_as_before();
    // execve(2) keeps whether it dies with its parent, which only the thread has that has asked for it (kernel/fork.c, copy_process).
    if (hf_capture_state.parent_death_signal != 0) {
        HF_SYSCALL2(SYS_prctl, PR_SET_PDEATHSIG, hf_capture_state.parent_death_signal);
    }
    hf_async_check_spool();
    hf_async_leave_memory(plan);
    // Before execve(2): what comes after it is the next process.
    __atomic_store_n(&configuration->spool->end, HF_END_RESTARTED, __ATOMIC_RELAXED);
    if (is_complete_program(configuration->executable)) {
        HF_SYSCALL3(SYS_execve, configuration->executable, configuration->arguments, plan->environment);
    }
    if (configuration->fallback_executable != NULL) {
        HF_SYSCALL3(SYS_execve, configuration->fallback_executable, configuration->arguments, plan->environment);
    }
    __atomic_store_n(&configuration->spool->end, HF_END_NONE, __ATOMIC_RELAXED);
    hf_async_keep_memory();
    hf_async_continue_sampling();
    take_back(faults);
    hf_async_unhold_signals();
    // The restart failed: children that are started from now on are not meant to have them.
    hf_async_keep_descriptors(plan->kept_table, false);
    hf_async_hand_spool_over(false);
    hf_async_set_restarting(false);
    hf_async_finish_restart(is_free);
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, HF_KERNEL_SIGSET_SIZE);
}
