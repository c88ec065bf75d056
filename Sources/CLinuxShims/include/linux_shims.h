#ifndef HF_LINUX_SHIMS_H
#define HF_LINUX_SHIMS_H
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif
