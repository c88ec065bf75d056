// SPDX-License-Identifier: Apache-2.0
#include "peer.h"

long calls;
long wanted;

int main(int argc, char **argv) {
    static const Row rows[] = {
        {"pass", measure_pass, true},
        {"poll", measure_poll, true},
        {"slice", measure_slice, true},
        {"signal", measure_signal, true},
        {"blocks", measure_blocks, true},
        {"own-block", measure_own_blocks, true},
        {"port", measure_port, true},
        {"descriptors", measure_descriptors, false},
        {"trip", measure_trip, true},
        {"add", measure_add, false},
        {"cancel", measure_cancel, false},
        {"fire", measure_fire, false},
        {"life", measure_life, true},
        {"due", measure_due, true},
        {"lateness", measure_lateness, false},
        {"idle", stay_idle, false},
        {0},
    };
    return run_rows(argc, argv, rows);
}
