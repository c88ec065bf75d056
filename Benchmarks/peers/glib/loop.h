// SPDX-License-Identifier: Apache-2.0
// GLib's main loop.
#pragma once

#include <glib-unix.h>
#include <glib.h>

#include "peer.h"

// Every measurement has a context of its own.
extern GMainContext *context;
extern GMainLoop *loop;

void end(void);
void attach(GSource *source, GSourceFunc callback, void *argument);
void drop(GSource *source);
gboolean ignore(void *argument);
// Attaches a timer that does not fire during the measurement.
GSource *add_far_timer(void);
// Counts a callout.
gboolean count_idle(void *argument);
gboolean count_call(void *argument);
// Attaches a source that other code makes ready by setting its ready time to 0.
GSource *add_source(GMainContext *to, GSourceFunc callback, void *argument);
