// Metal source to kernels that this machine can run, through sim/exec.
#pragma once

#include <string>

#include "../../exec/msl.h"

namespace metalsim {

struct KernelTable {
  const msl_kernel *first = nullptr;
  uint32_t count = 0;
};

// Compiles and loads source text. On failure it returns no kernels and says why.
KernelTable compileSource(const std::string &source, std::string &error);

// Loads a compiled library, what a .metallib is to Metal.
KernelTable loadLibrary(const std::string &path, std::string &error);

}  // namespace metalsim
