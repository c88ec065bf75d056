// SPDX-License-Identifier: Apache-2.0
// What a peer finds before it says what its loop calls things; rows.h comes after that.
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include "benchmark.h"

// Callouts so far, and how many there are to be.
static long calls;
static long wanted;
// When timers are due, or how late they came.
static int64_t dates[MOST_TIMERS];

// Makes `loop` ready for a measurement of so many callouts.
static void begin(long count);
static void end(void);
// Counts a callout, ends the run with the last, and says whether there are more to come.
static bool goes_on(void);
// Runs until the last callout and reports the time of each.
static void run_and_report(const char *name, long count);
