// Modules: PTX is read for its entries, and the kernels of the Metal source that it
// was compiled from stand for them.
#pragma once

#include <map>

#include "../../exec/msl.h"
#include "object.h"

namespace cudasim {

struct Function : Named<Function> {
  static constexpr const char *name_of_kind = "function";
  std::string entry;
  uint32_t params = 0;
  const msl_kernel *kernel = nullptr;
};

struct Module : Named<Module> {
  static constexpr const char *name_of_kind = "module";
  std::map<std::string, Function *> functions;
};

}  // namespace cudasim
