// A dispatch with its bindings, in an ICB or encoded directly.
#pragma once

#include <array>
#include <string>

#include "buffer.h"
#include "library.h"

namespace metalsim {

struct Binding {
  Buffer *buffer = nullptr;
  uint64_t offset = 0;
  bool isBytes = false;  // of setBytes, which kernels must not write
};

struct Command {
  Pipeline *pipeline = nullptr;
  std::array<Binding, MSL_MAX_BUFFERS> bindings;
  Size groups{}, threads{};
  bool barrier = false;  // wait for all commands before it
  bool encoded = false;  // a dispatch was encoded

  // "k (command 3)"
  std::string describe(uint64_t index) const;
};

// Checks the rules of every binding. i is the argument index.
void checkBinding(const Buffer *b, uint64_t offset, uint64_t i);

// Checks the pipeline, its arguments and the grid of a complete command.
void checkDispatch(const Command &c);

}  // namespace metalsim
