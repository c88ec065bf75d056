#ifndef HF_FORK_MIRROR_H
#define HF_FORK_MIRROR_H

/// Makes forked children able to leave records of their own faults. Once, when the capture state is filled in.
void hf_prepare_for_fork(void);

/// Copies what the spool file says of the process, as it says something else now.
void hf_copy_spool(void);

#endif
