// Compiles Metal source text into a shared object as described in msl.h.
#pragma once
#include <string>
#include <vector>

namespace msl {

// How a source is built.
enum : unsigned {
  buildFast = 1,      // no checks of loads and stores
  buildSanitize = 2,  // AddressSanitizer and UBSan; implies buildFast. The process that
                      // loads the object must be linked with them.
  buildSmall = 4,     // kernels run for moments: less time to compile, more to run
};

// Runs clang for the sources of one program.
class Compiler {
 public:
  //   exec      the folder of this file (headers and run time)
  //   language  __METAL_VERSION__; see languageOf
  Compiler(std::string exec, const char *language, unsigned flags);

  // All that objects depend on but their sources: compiler, target and flags.
  std::string name() const;

  // Each returns false with a message in error, and writes nothing but files in the
  // folder work. parse holds the source to the strict metal_stdlib in a folder.
  bool parse(const std::string &source, const std::string &strict, const std::string &work, std::string &error) const;
  bool kernels(const std::string &source, const std::string &work, const std::string &object, std::string &error) const;
  bool runTime(const std::string &work, const std::string &object, std::string &error) const;

 private:
  bool clang(const std::vector<std::string> &arguments, const std::string &work, const char *what, std::string &error) const;

  std::string exec_, language_, clang_;
  unsigned flags_;
};

// 310, or the version that the source asks for.
const char *languageOf(const std::string &source);

}  // namespace msl
