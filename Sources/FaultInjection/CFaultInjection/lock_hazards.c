// Faults while a lock is held that the next caller needs.

#include "fault_function.h"
#include "hazard_injection.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t readers_writer_lock = PTHREAD_RWLOCK_INITIALIZER;

HF_FAULT_FUNCTION void faultPthreadMutex(void) {
    pthread_mutex_lock(&mutex);
    __asm__ volatile("ud2");
    pthread_mutex_unlock(&mutex);
}

HF_FAULT_FUNCTION void faultPthreadRwlock(void) {
    pthread_rwlock_wrlock(&readers_writer_lock);
    __asm__ volatile("ud2");
    pthread_rwlock_unlock(&readers_writer_lock);
}

HF_FAULT_FUNCTION void faultStdioLock(void) {
    flockfile(stdout);
    __asm__ volatile("ud2");
    funlockfile(stdout);
}

/// Called with the loader's lock held: dl_iterate_phdr(3).
static HF_FAULT_FUNCTION int fault_at_first_object(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)info, (void)size, (void)argument;
    __asm__ volatile("ud2");
    return 1;
}

HF_FAULT_FUNCTION void faultLoaderLock(void) {
    dl_iterate_phdr(fault_at_first_object, NULL);
}
