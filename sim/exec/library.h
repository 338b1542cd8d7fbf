// Metal source to kernels that this machine can run. What was compiled is kept (store.h) by
// kernel: by the text of its declaration and of all that it uses.
#pragma once

#include <string>
#include <vector>

#include "msl.h"

namespace msl {

struct KernelTable {
  const msl_kernel *first = nullptr;
  uint32_t count = 0;
  std::vector<std::string> compiled;  // the names of kernels that no earlier program had left
};

// Where the sources are that objects are made with.
struct Places {
  std::string exec;    // the folder of this file
  std::string strict;  // the strict metal_stdlib (gen/msl/frontend/include); "": no
                       // strict parse, for sources that were parsed before
};

// Compiles and loads source text; flags are those of build.h. On failure it returns
// no kernels and says why.
KernelTable compile(const std::string &source, const Places &places, unsigned flags, std::string &error);

// Loads an object that compile has left.
KernelTable load(const std::string &path, const Places &places, std::string &error);

}  // namespace msl
