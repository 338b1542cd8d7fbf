// The GPUs that can be simulated.
#pragma once

#include <cstdint>
#include <string>

namespace metalsim {

struct Gpu {
  const char *key;   // in METALSIM_GPU
  const char *name;  // as MTLDevice gives it
  const char *chip;  // the chip in runtime/device/chips/chips.tsv whose rates it has
  int appleFamily;   // the newest it belongs to, as 7 for MTLGPUFamilyApple7; 0: none
  bool isMac, isMetal3, isMetal4;  // Mac2; Metal3; Metal4 from macOS 26 on
  bool unifiedMemory;
  bool breaksIcbs;  // ICBs do not work on virtual GPUs
  uint64_t maxBuffer, workingSet;  // bytes
};

// The preset of a name, or null.
const Gpu *gpuNamed(const std::string &key);

// All names, for messages.
std::string gpuNames();

// Returns whether a GPU supports an MTLGPUFamily on a macOS version.
bool supportsFamily(const Gpu &gpu, int64_t family, int os);

}  // namespace metalsim
