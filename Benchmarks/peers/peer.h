// SPDX-License-Identifier: Apache-2.0
// What every program here has: one function for each row, and how it begins, counts and ends a measurement.
#pragma once

#include "benchmark.h"

// Callouts so far, and how many there are to be.
extern long calls;
extern long wanted;

// Makes `loop` ready for a measurement of so many callouts.
void begin(long count);
// Counts a callout, ends the run with the last, and says whether there are more to come.
bool goes_on(void);
// Runs until the last callout and reports the time of each.
void run_and_report(const char *name, long count);

void measure_pass(long count, long extra);
void measure_poll(long count, long extra);
void measure_slice(long count, long extra);
void measure_signal(long count, long extra);
void measure_blocks(long count, long extra);
void measure_own_blocks(long count, long extra);
void measure_port(long count, long extra);
void measure_descriptors(long count, long extra);
void measure_trip(long count, long extra);
void measure_add(long count, long extra);
void measure_cancel(long count, long extra);
void measure_fire(long count, long extra);
void measure_life(long count, long extra);
void measure_due(long count, long extra);
void measure_lateness(long count, long extra);
void stay_idle(long count, long extra);
