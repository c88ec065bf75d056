#include "fault_injection.h"
