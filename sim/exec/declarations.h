// Cuts a Metal source into its declarations, and finds what each kernel is made of.
//
// Nothing here understands Metal. A declaration counts as used if one of the names that
// it declares occurs as a word in what uses it. So a kernel gets rather too much than too
// little, and all overloads and specialisations of a name go together. Only those that
// take a struct of the source which nothing else of the kernel names are left out.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "split.h"

namespace msl {

class Declarations {
 public:
  explicit Declarations(const std::string &source);

  // The names of the kernels, in the order of the source.
  const std::vector<std::string> &kernels() const { return kernels_; }

  // Which declarations make up a kernel, by index.
  std::vector<bool> of(const std::string &kernel) const;

  std::vector<bool> all() const { return std::vector<bool>(list_.size(), true); }

  // What the compiler makes of the chosen declarations depends on this hash alone. With
  // lines it depends on the numbers of their lines too.
  std::string hash(const std::vector<bool> &chosen, bool lines) const;

  // The source with nothing but the chosen declarations, which keep their lines.
  std::string source(const std::vector<bool> &chosen) const;

 private:
  struct Links {
    std::vector<size_t> names, takes, words;  // numbers of words that are names
  };
  std::vector<size_t> numbers(const std::vector<std::string> &words) const;

  const std::string &source_;
  std::vector<Declaration> list_;
  std::vector<std::string> hashes_, kernels_;
  std::unordered_map<std::string, size_t> number_;
  std::vector<Links> links_;                // of each declaration
  std::vector<std::vector<size_t>> about_;  // the declarations that declare or take a name
  friend class Closure;
};

}  // namespace msl
