// Compiles Metal source text into a shared object as described in msl.h.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// How a source is built.
enum {
  MSL_BUILD_FAST = 1,     // no checks of loads and stores
  MSL_BUILD_SANITIZE = 2, // AddressSanitizer and UBSan; implies FAST. The process
                          // that loads the object must be linked with them.
};

// Parses source strictly, translates its kernels and compiles them to so_path.
//   exec_dir    the folder of this file (headers and run time)
//   strict_dir  the strict metal_stdlib (gen/msl/frontend/include); null: no
//               strict parse, for sources that were parsed before
//   work_dir    an existing folder for intermediate files
//   run_time    where the run time's object, which all sources share, is or will be; null:
//               it is compiled for this source alone
// It returns 1, or 0 with a message in error. clang-19 (or clang) must be in PATH.
int msl_build(const char *source, const char *exec_dir, const char *strict_dir, const char *work_dir,
              const char *run_time, const char *so_path, unsigned flags, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif
