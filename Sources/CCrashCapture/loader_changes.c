// Notices that a library was unloaded, by standing before dlclose(3): the next one may be mapped to its place, and the walk and the
// reports would take the one for the other. Ordinary code, called at any time.

#include "async_state.h"
#include "async_syscalls.h"
#include "next_function.h"

#include <link.h>
#include <linux/futex.h>

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static int count_removed(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_subs;
    return 1;
}

int dlclose(void *handle) {
    unsigned long long before = 0;
    unsigned long long after = 0;
    dl_iterate_phdr(count_removed, &before);
    int result = HF_NEXT(dlclose)(handle);
    dl_iterate_phdr(count_removed, &after);
    // Most calls only lower a count. The crash thread must not be listing images for nothing when somebody faults who holds the
    // loader's lock or the heap's: its verdict would come too late.
    if (after == before) {
        return result;
    }
    atomic_fetch_add_explicit(&hf_capture_state.unloads, 1, memory_order_acq_rel);
    // The crash thread lists the images again now: when somebody has faulted, he may hold the loader's lock.
    atomic_fetch_add_explicit(&hf_capture_state.pending, 1, memory_order_release);
    HF_SYSCALL3(SYS_futex, &hf_capture_state.pending, FUTEX_WAKE_PRIVATE, 1);
    return result;
}

#endif
