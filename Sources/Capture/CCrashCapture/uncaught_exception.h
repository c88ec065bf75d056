// What is known of an uncaught C++ exception, for C and for C++: only C++ can look at its exceptions.

#ifndef HF_UNCAUGHT_EXCEPTION_H
#define HF_UNCAUGHT_EXCEPTION_H

#include "crash_record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The type and the message of the C++ exception that ends the process on the running thread; "" for none.
typedef struct HFUncaughtException {
    char type[HF_EXCEPTION_TYPE_SIZE];
    char message[HF_EXCEPTION_MESSAGE_SIZE];
} HFUncaughtException;

extern __thread HFUncaughtException hf_uncaught_exception __attribute__((tls_model("initial-exec")));

#ifdef __cplusplus
}
#endif

#endif
