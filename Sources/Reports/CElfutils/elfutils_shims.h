#ifndef HF_ELFUTILS_SHIMS_H
#define HF_ELFUTILS_SHIMS_H
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libelf.h>
#endif
