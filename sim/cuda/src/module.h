// Modules: PTX is read for its entries, and the kernels of the Metal source that it
// was compiled from stand for them.
#pragma once

#include <map>

#include "../../exec/msl.h"
#include "object.h"

namespace cudasim {

// What every kernel may have of shared memory without a word about it.
constexpr uint32_t plainShared = 48 << 10;

struct Function : Named<Function> {
  static constexpr const char *name_of_kind = "function";
  std::string entry;
  uint32_t params = 0;
  uint32_t dynamic = 0;            // shared memory that a launch must ask for, by the PTX
  uint32_t allowed = plainShared;  // that a launch may ask for
  const msl_kernel *kernel = nullptr;
};

struct Module : Named<Module> {
  static constexpr const char *name_of_kind = "module";
  std::map<std::string, Function *> functions;
};

}  // namespace cudasim
