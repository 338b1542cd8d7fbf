// Whether Metal's compiler would fuse products and sums of a source.
#pragma once

#include <string>

namespace metalsim {

// Whether a source, compiled in a version of the language (as in __METAL_VERSION__, 310 for
// 3.1), says before all code that nothing is contracted: `#pragma METAL fp contract(off)`
// from 3.2 on, `#pragma clang fp contract(off)` below, where Metal's name is unknown.
bool forbidsContraction(const std::string &source, int version);

}  // namespace metalsim
