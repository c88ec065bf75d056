// Circumstances in which a fault is hard to catch, or to look into.

#include "fault_function.h"
#include "hazard_injection.h"

#include <signal.h>

HF_FAULT_FUNCTION void faultMaskedSignals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    __asm__ volatile("ud2");
}

HF_FAULT_FUNCTION void faultUnreadableMemory(void) {
    if (hf_refuse_memory_reads() == 0) {
        __asm__ volatile("ud2");
    }
}
