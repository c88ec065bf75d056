#ifndef HF_ASYNC_SPOOL_H
#define HF_ASYNC_SPOOL_H

#include <signal.h>
#include <stdbool.h>

/// Notes which file the spool is mapped from. Once, when the capture state is filled in.
void hf_async_note_spool(void);

/// Makes the spool whole again if somebody has cut its file. Safe to call from a signal handler.
void hf_async_check_spool(void);

/// Makes the spool whole again after an access to it has failed, so that the access can be repeated. Returns false if the signal means
/// something else. Safe to call from a signal handler.
bool hf_async_mend_spool(int signal, const siginfo_t *info);

/// Makes the copy of the spool's description of the process, with which forked children leave records of their own faults. Called once,
/// when the capture state is filled in.
void hf_make_spool_copy(void);

/// Makes the copy anew, because the spool's description has changed.
void hf_copy_spool(void);

/// Makes the copy before fork(2), and holds it until that is over. Ordinary code.
void hf_before_fork(void);
void hf_after_fork(void);
void hf_after_fork_in_child(void);

/// Leaves the descriptor of a spool in memory open across execve(2), or not. Safe to call from a signal handler.
void hf_async_hand_spool_over(bool hands_over);

#endif
