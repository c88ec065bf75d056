// The end of the package's code in a program with a static standard library.
//
// SwiftPM hands the linker the objects of a package by the names of their modules, and then the archives of the toolchain. So the function
// of the module with the last name has all code of the package before it, and all of the archives behind it. Whoever relies on that checks
// it by the program's symbols (FunctionOrigins).

#ifndef HF_PACKAGE_END_H
#define HF_PACKAGE_END_H

#ifdef __cplusplus
extern "C" {
#endif

/// Does nothing: its address counts.
void hf_package_end(void);

#ifdef __cplusplus
}
#endif

#endif
