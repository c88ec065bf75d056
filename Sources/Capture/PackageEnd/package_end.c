#include "package_end.h"

// Not merged with another function that does nothing.
void hf_package_end(void) { __asm__ volatile(""); }
