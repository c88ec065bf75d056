// Who frees the memory of a process that restarts in place: another process, while the next one starts.
//
// execve(2) frees it before the new program runs (fs/exec.c, exec_mmap): 4 ms for 60 MiB, 32 for 500. But only the last process to leave
// a memory frees it (kernel/fork.c, mmput). So another process shares it, lets go of everything else, and ends when execve(2) was done.

#include "async_old_memory.h"
#include "async_proc.h"
#include "async_scheduling.h"
#include "async_state.h"
#include "async_syscalls.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

/// Of one restart, as no two are under way (hf_async_begin_restart).
static struct {
    _Alignas(16) char stack[8192];
    /// The end of the pipe that it reads: the other one closes on execve(2).
    int pipe[2];
    /// Whether it has closed its copies of the descriptors: what the next process closes must be closed then.
    _Atomic uint32_t has_let_go;
    /// Whether execve(2) has failed, so that this process still uses the memory.
    _Atomic bool has_failed;
    /// Its pid, 0 if there is none.
    long pid;
} holder;

/// The process that holds the memory of the one before this one, 0 if there is none.
static _Atomic int32_t left;

void hf_capture_set_memory_holder(int32_t pid) { atomic_store_explicit(&left, pid, memory_order_relaxed); }

/// It sends no signal when it ends, and only those who ask for such children see it (waitpid(2), __WCLONE).
static void await_end(long pid) {
    while (HF_SYSCALL4(SYS_wait4, pid, 0, __WCLONE, 0) == -EINTR) {
    }
}

void hf_capture_reap_memory_holder(void) {
    int32_t pid = atomic_load_explicit(&left, memory_order_relaxed);
    if (pid > 0) {
        await_end(pid);
        atomic_store_explicit(&left, 0, memory_order_relaxed);
    }
}

// MARK: The other process

static _Noreturn void end(void) {
    for (;;) {
        HF_SYSCALL1(SYS_exit_group, 0);
    }
}

/// How long the next process has the processors for its start.
static const struct timespec start_time = {.tv_nsec = 20 * 1000 * 1000};

/// Lets the next process start first. The kernel wakes this one beside it, on the same processor, and does not interrupt it while it frees:
/// 3 ms for 60 MiB, while another processor was idle (in a virtual machine, kernel/sched, vcpu_is_preempted).
static void give_way(void) {
    hf_async_give_way(hf_async_way_of_end());
    if (hf_async_is_memory_small()) {
        HF_SYSCALL2(SYS_nanosleep, &start_time, 0);
    }
}

static _Noreturn void hold(void) {
    unsigned keeps = (unsigned)holder.pipe[0];
    bool let_go = HF_SYSCALL3(SYS_close_range, keeps + 1, UINT_MAX, 0) == 0 &&
                  (keeps == 0 || HF_SYSCALL3(SYS_close_range, 0, keeps - 1, 0) == 0);
    atomic_store_explicit(&holder.has_let_go, 1, memory_order_release);
    hf_async_wake_one(&holder.has_let_go);
    char byte;
    // All signals are blocked. Nobody writes: this ends when the other end is closed.
    if (let_go && HF_SYSCALL3(SYS_read, keeps, &byte, sizeof byte) == 0 &&
        !atomic_load_explicit(&holder.has_failed, memory_order_acquire)) {
        // A mapped file is open: a lock of it (flock(2)) would be held until all memory is freed, and the next process may want it.
        hf_async_unmap_shared();
        give_way();
    }
    end();
}

/// Makes a process on a stack of its own, in the same memory. No signal tells of its end.
static long make_process(void) {
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register void (*r9)(void) __asm__("r9") = hold;
    long result;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r9\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(CLONE_VM | CLONE_UNTRACED), "S"(holder.stack + sizeof holder.stack), "d"(0),
                       "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

// MARK: This process

/// Writes a number over the digits that are there.
static void write_number(char *digits, uint32_t number) {
    size_t count = 0;
    while (digits[count] >= '0' && digits[count] <= '9') {
        count += 1;
    }
    for (; count > 0; count -= 1, number /= 10) {
        digits[count - 1] = (char)('0' + number % 10);
    }
}

void hf_async_leave_memory(const HFRestartPlan *plan) {
    holder.pid = 0;
    char *digits = plan->memory_holder;
    int32_t before = atomic_load_explicit(&left, memory_order_relaxed);
    write_number(digits, (uint32_t)before);
    // The next process waits for one of them.
    if (before > 0 && HF_SYSCALL4(SYS_wait4, before, 0, __WCLONE | WNOHANG, 0) == 0) {
        return;
    }
    write_number(digits, 0);
    if (HF_SYSCALL2(SYS_pipe2, holder.pipe, O_CLOEXEC) != 0) {
        return;
    }
    atomic_store_explicit(&holder.has_let_go, 0, memory_order_relaxed);
    atomic_store_explicit(&holder.has_failed, false, memory_order_relaxed);
    // A handler of the program would run in both processes, in the same memory.
    uint64_t all = UINT64_MAX;
    uint64_t mask = 0;
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, HF_KERNEL_SIGSET_SIZE);
    holder.pid = make_process();
    HF_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, HF_KERNEL_SIGSET_SIZE);
    if (holder.pid <= 0) {
        hf_async_keep_memory();
        return;
    }
    write_number(digits, (uint32_t)holder.pid);
    // Takes 0.1 ms. If there is no processor for it, the next process may have to wait until a connection that it closes is closed.
    uint64_t limit = hf_async_monotonic_nanoseconds() + 20 * 1000 * 1000;
    while (atomic_load_explicit(&holder.has_let_go, memory_order_acquire) == 0 &&
           hf_async_sleep_while(&holder.has_let_go, 0, limit)) {
    }
}

void hf_async_keep_memory(void) {
    atomic_store_explicit(&holder.has_failed, true, memory_order_release);
    if (holder.pid != 0) {
        HF_SYSCALL1(SYS_close, holder.pipe[0]);
        HF_SYSCALL1(SYS_close, holder.pipe[1]);
    }
    if (holder.pid > 0) {
        await_end(holder.pid);
    }
    holder.pid = 0;
}
