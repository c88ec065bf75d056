#include "fork_test_support.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int hf_test_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        // Should it hang, it must not outlive the test.
        alarm(30);
    }
    return child;
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
