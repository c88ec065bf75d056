// What a thread has beside its stack: the processor's flags, and its signal mask.

#include "fault_function.h"
#include "state_injection.h"

#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// Intel's manual, volume 1, 3.4.3: TF is bit 8, DF bit 10, AC bit 18.

HF_FAULT_FUNCTION void trapByTrapFlag(void) {
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tnop" ::: "memory", "cc");
}

HF_FAULT_FUNCTION void trapWithAlignmentChecks(void) {
    __asm__ volatile("pushfq\n\torq $0x40400, (%%rsp)\n\tpopfq\n\tud2" ::: "memory", "cc");
}

HF_FAULT_FUNCTION unsigned long processorFlags(void) {
    unsigned long flags;
    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags)::"memory");
    return flags;
}

// What `TaskLocal.withValue` calls (swift/stdlib/public/Concurrency/TaskLocal.cpp). In a debug build that is a function of the library,
// whose frame denies. Weak: not every program that faults on purpose has the library.
extern void swift_task_localValuePush(const void *key, void *value, const void *type)
    __attribute__((weak, swiftcall));

void bindTaskLocal(const void *key, void *value, const void *type) {
    if (swift_task_localValuePush != NULL) {
        swift_task_localValuePush(key, value, type);
    }
}

void waitWithSignalMask(const void *mask) {
    struct timespec limit = {.tv_sec = 10, .tv_nsec = 0};
    ppoll(NULL, 0, &limit, mask);
}

void waitByEpollWithSignalMask(const void *mask) {
    struct epoll_event event;
    struct timespec limit = {.tv_sec = 10, .tv_nsec = 0};
    epoll_pwait2(epoll_create1(EPOLL_CLOEXEC), &event, 1, &limit, mask);
}

// Programs use them still.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
void blockSignalsByOldCalls(void) {
    sigblock(-1);
    sigsetmask(-1);
    sighold(SIGSEGV);
    sigset(SIGSEGV, SIG_HOLD);
}
#pragma clang diagnostic pop

void blockSignalsByKernel(void) {
    uint64_t all = ~0ULL;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
}

bool blocksFaultSignals(void) {
    static const int faults[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i += 1) {
        if ((mask & 1ULL << (faults[i] - 1)) != 0) {
            return true;
        }
    }
    return false;
}

static int callFunction(void *function) {
    ((void (*)(void))function)();
    return 0;
}

void callOnThreadOfC11(void (*function)(void)) {
    thrd_t thread;
    thrd_create(&thread, callFunction, (void *)function);
}

static void callValue(union sigval value) { ((void (*)(void))value.sival_ptr)(); }

void callOnThreadOfTimer(void (*function)(void)) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = callValue};
    event.sigev_value.sival_ptr = (void *)function;
    timer_t timer;
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
        timer_settime(timer, 0, &soon, NULL);
    }
}

bool beginProcessNamespace(void) { return syscall(SYS_unshare, CLONE_NEWPID) == 0; }
