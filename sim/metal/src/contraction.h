// Finds out whether Metal's compiler may contract products and sums of a source to fused multiply-adds.
#pragma once

#include <string>

namespace metalsim {

// Returns whether a source, compiled in a version of the language (as in __METAL_VERSION__, 310 for
// 3.1), forbids contraction before all code: `#pragma METAL fp contract(off)` from 3.2 on, `#pragma
// clang fp contract(off)` below, where Metal's name is unknown.
bool forbidsContraction(const std::string &source, int version);

}  // namespace metalsim
