#include "fork_test_support.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int hf_test_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        // Should it hang, it must not outlive the test. The threads of tests block signals.
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        sigprocmask(SIG_UNBLOCK, &alarms, NULL);
        alarm(30);
    }
    return child;
}

static void wait_for_ever(int signal) {
    (void)signal;
    for (;;) {
        pause();
    }
}

__attribute__((noinline)) static int raise_deep(volatile int depth) {
    int below = depth == 0 ? raise(SIGUSR1) : raise_deep(depth - 1);
    // Not a tail call.
    return below + depth;
}

void hf_test_wait_in_handler(void) {
    static char stack[65536];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&own, NULL);
    struct sigaction action = {.sa_handler = wait_for_ever, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    _exit(raise_deep(5));
}

int hf_test_wait(int child) {
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}
