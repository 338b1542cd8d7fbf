// Turns Metal source into C++ for sim/exec/include/metal_stdlib.
#pragma once
#include <string>

// Only two things change: arrays that a kernel declares in threadgroup memory come
// from the run time, and a table of the kernels, found by their attributes, is
// appended. Line numbers stay. On failure it returns "" and says why in error.
std::string translate(const std::string &source, std::string &error);
