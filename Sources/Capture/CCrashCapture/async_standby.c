// Another process that waits to serve in the place of this one. It is told here, and not by this one's end: the kernel tears the memory of
// a process down before it tells the parent, which takes 5 ms with 60 MiB and 34 ms with 500.

#include "async_standby.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "async_state.h"
#include "async_syscalls.h"
#include "async_verdict.h"
#include "crash_capture.h"
#include "standby_page.h"

static _Atomic(HFStandbyPage *) standby_page;
static _Atomic(int) standby_event = -1;

void hf_capture_set_standby(void *page, int event) {
    atomic_store(&standby_event, event);
    atomic_store(&standby_page, (HFStandbyPage *)page);
}

/// Whether this process has told another to serve: whoever ends it then, leaves.
static _Atomic(bool) has_released;

bool hf_async_release_standby(void) {
    if (atomic_load(&has_released)) {
        return true;
    }
    HFStandbyPage *page = atomic_load(&standby_page);
    if (page == NULL || !hf_standby_claim(page)) {
        // Another thread may have done so a moment ago: nobody else does while this process lives.
        return page != NULL && (hf_standby_state(page) == HF_STANDBY_RELEASED || atomic_load(&has_released));
    }
    atomic_store(&has_released, true);
    // If this fails, the supervisor does it when this process has ended.
    uint64_t one = 1;
    HF_SYSCALL3(SYS_write, atomic_load(&standby_event), &one, sizeof one);
    return true;
}

bool hf_capture_release_standby(void) { return hf_async_release_standby(); }

bool hf_capture_release_standby_for(uint32_t slot) {
    return hf_capture_state.configuration.restart_exit_code < 0 &&
           hf_async_waits_for_drain_alone(&hf_capture_state.slots[slot]) && hf_async_release_standby();
}
