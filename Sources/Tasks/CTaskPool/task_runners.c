// The functions of the runtime through which a job of a scope runs: between the job's own function and its recovery point.
//
// They have no names that a program could look up. So a job notes their return addresses once, and a fault's walk compares.

#include "task_pool.h"

#include <stdatomic.h>

#include "job_state.h"
#include "swift_job.h"
#include "task_memory.h"

enum { runner_count = 2 };

static _Atomic(uint64_t) runners[runner_count];

bool hf_task_pool_note_runners(void) {
    const HFRecoveryPoint *point = hf_recovery_current();
    if (point == NULL) {
        return false;
    }
    // By frame pointers, which the runtime's libraries have. What is found is checked: the job's function was called by the first runner,
    // that by the second, and that by the recovery point.
    const uintptr_t *frame = __builtin_frame_address(0);
    uint64_t addresses[8];
    int count = 0;
    for (; count < 8; count += 1) {
        if ((uintptr_t)frame < point->stack->low || (uintptr_t)frame + 16 > point->stack->high) {
            return false;
        }
        addresses[count] = frame[1];
        if (addresses[count] >= hf_recovery_switch_start_address() &&
            addresses[count] < hf_recovery_switch_end_address()) {
            break;
        }
        frame = (const uintptr_t *)frame[0];
    }
    if (count < runner_count || count == 8) {
        return false;
    }
    uint64_t outer = addresses[count - 1];
    uint64_t function = (uint64_t)(uintptr_t)swift_job_run_on_task_executor;
    // The function has 143 bytes in Swift 6.3.
    if (outer <= function || outer - function > 4096) {
        return false;
    }
    const HFTaskScope *scope = hf_task_pool_current_scope();
    if (scope == NULL || !hf_job_state_find(scope->executor)) {
        return false;
    }
    hf_task_memory_try();
    atomic_store(&runners[0], addresses[count - 2]);
    atomic_store(&runners[1], outer);
    return true;
}

bool hf_task_pool_is_runner(uint64_t address) {
    return address != 0 && (address == atomic_load_explicit(&runners[0], memory_order_relaxed) ||
                            address == atomic_load_explicit(&runners[1], memory_order_relaxed));
}

// The section of task_pool.c's WORKER_CODE; its ends are the linker's.
extern const char __start_hf_task_worker_code[];
extern const char __stop_hf_task_worker_code[];

bool hf_task_pool_is_worker_code(uint64_t address) {
    return address >= (uint64_t)(uintptr_t)__start_hf_task_worker_code &&
           address < (uint64_t)(uintptr_t)__stop_hf_task_worker_code;
}
