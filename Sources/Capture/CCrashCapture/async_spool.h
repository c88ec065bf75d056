#ifndef HF_ASYNC_SPOOL_H
#define HF_ASYNC_SPOOL_H

#include <signal.h>
#include <stdbool.h>

/// Notes which file the spool is mapped from. Once, when the capture state is filled in.
void hf_async_note_spool(void);

/// Makes the spool whole again where somebody has cut its file. Safe to call from a signal handler.
void hf_async_check_spool(void);

/// Makes the spool whole again after an access to it that failed; false for a signal that tells of something else. The access can be
/// made again then. Safe to call from a signal handler.
bool hf_async_mend_spool(int signal, const siginfo_t *info);

/// Makes the copy of what the spool file says of the process, with which forked children leave records of their own faults. Once, when
/// the capture state is filled in.
void hf_make_spool_copy(void);

/// Copies it anew: the spool file says something else now.
void hf_copy_spool(void);

/// Leaves the descriptor of a spool in memory open across execve(2), or not. Safe to call from a signal handler.
void hf_async_hand_spool_over(bool hands_over);

#endif
