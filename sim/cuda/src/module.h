// Modules. PTX is only parsed for its entries. A launch runs the kernel of the Metal source from
// which the PTX was compiled.
#pragma once

#include <map>

#include "../../exec/msl.h"
#include "object.h"

namespace cudasim {

// The shared memory that every kernel may use without setting an attribute.
constexpr uint32_t plainShared = 48 << 10;

struct Function : Named<Function> {
  static constexpr const char *name_of_kind = "function";
  std::string entry;
  uint32_t params = 0;
  uint32_t dynamic = 0;            // bytes of shared memory that a launch must ask for, from the PTX
  uint32_t allowed = plainShared;  // bytes that a launch may ask for
  const msl_kernel *kernel = nullptr;
};

struct Module : Named<Module> {
  static constexpr const char *name_of_kind = "module";
  std::map<std::string, Function *> functions;
};

}  // namespace cudasim
