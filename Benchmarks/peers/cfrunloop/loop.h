// SPDX-License-Identifier: Apache-2.0
// The toolchain's CFRunLoop, which is in libFoundation.
#pragma once

#include <CoreFoundation/CFRunLoop.h>

#include "peer.h"

#define MODE kCFRunLoopDefaultMode
#define FOREVER 1e10

extern CFRunLoopRef loop;

CFRunLoopTimerRef make_timer(CFAbsoluteTime date, double interval, CFRunLoopTimerCallBack callback);
void drop_timer(CFRunLoopTimerRef timer);
void ignore_timer(CFRunLoopTimerRef timer, void *info);
// Adds a timer that does not fire during the measurement.
CFRunLoopTimerRef add_far_timer(void);

CFRunLoopSourceRef add_source(CFRunLoopRef to, void (*perform)(void *), void *info);
void drop_source(CFRunLoopSourceRef source);
void ignore(void *info);
