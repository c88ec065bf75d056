#ifndef HF_UNWIND_SHIMS_H
#define HF_UNWIND_SHIMS_H
#include <libunwind.h>
#endif
