// Metal source to kernels that this machine can run, kept in a folder between runs.
#pragma once

#include <string>

#include "msl.h"

namespace msl {

struct KernelTable {
  const msl_kernel *first = nullptr;
  uint32_t count = 0;
};

// Where things are.
struct Places {
  std::string root;   // the repository, with the headers and the run time
  std::string cache;  // keeps compiled sources, by their hash; "": nothing is kept
};

// Compiles and loads source text; flags are those of build.h. On failure it returns
// no kernels and says why.
KernelTable compile(const std::string &source, const Places &places, unsigned flags, std::string &error);

// Loads what compile made.
KernelTable load(const std::string &path, std::string &error);

}  // namespace msl
