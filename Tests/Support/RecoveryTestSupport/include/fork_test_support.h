// Forking, which Swift does not import.

#ifndef HF_FORK_TEST_SUPPORT_H
#define HF_FORK_TEST_SUPPORT_H

#ifdef __cplusplus
extern "C" {
#endif

/// Forks, and returns 0 in the child, which is killed after half a minute.
int hf_test_fork(void);

/// Waits for ever in the handler of a signal, on a stack of its own, some calls deep.
void hf_test_wait_in_handler(void) __attribute__((noreturn));

/// Waits for a child; returns its exit status, or 256 and the number of the signal that ended it, or -1
/// when there is no such child.
int hf_test_wait(int child);

#ifdef __cplusplus
}
#endif

#endif
