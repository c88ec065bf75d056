// SPDX-License-Identifier: Apache-2.0
// libuv.
#pragma once

#include <uv.h>

#include "peer.h"

// Every measurement has a loop of its own.
extern uv_loop_t *loop;

// Closes all handles and the loop.
void end(void);
void ignore_timer(uv_timer_t *timer);
// Starts a timer that does not fire during the measurement.
void add_far_timer(uv_timer_t *timer);
// Counts a callout.
void count_async(uv_async_t *async);
