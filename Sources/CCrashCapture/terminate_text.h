#ifndef HF_TERMINATE_TEXT_H
#define HF_TERMINATE_TEXT_H

/// Notes the type of the exception that ends the process, for the running thread's next record.
void hf_terminate_set_type(const char *text);

/// Notes what it says of itself.
void hf_terminate_set_message(const char *text);

#endif
