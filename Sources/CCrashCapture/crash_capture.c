#include "crash_capture.h"
