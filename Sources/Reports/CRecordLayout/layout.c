// The layout is headers alone. SwiftPM asks for a source file, and here their static assertions are checked by themselves.

#include "crash_context_layout.h"
#include "crash_record.h"
#include "crash_sections.h"
#include "loop_event_layout.h"
