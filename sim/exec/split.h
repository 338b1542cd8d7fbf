// Where the declarations of a Metal source begin and end.
#pragma once
#include <string>
#include <vector>

namespace msl {

// A part of the source: a declaration, a preprocessor line outside of declarations, or all
// from an #if to its #endif.
struct Declaration {
  size_t begin = 0, end = 0;       // in the source
  int line = 0;                    // where it begins
  int opens = 0;                   // 1: it opens a namespace, -1: it closes one
  std::vector<std::string> names;  // declared; none: it belongs to every kernel that has what it takes
  std::vector<std::string> takes;  // structs of the source that it has as parameters
  std::vector<std::string> words;  // what occurs in it, each once
  std::vector<std::string> kernels;
  std::string text;                // without comments, and with one space between words
};

std::vector<Declaration> split(const std::string &source);

}  // namespace msl
