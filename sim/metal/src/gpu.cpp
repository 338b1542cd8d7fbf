#include "gpu.h"

namespace metalsim {
namespace {

// MTLGPUFamily; the Apple families are apple1 and up, the Common ones common1 to 3.
constexpr int64_t apple1 = 1001, mac2 = 2002, common1 = 3001, common3 = 3003, metal3 = 5001, metal4 = 5002;

constexpr uint64_t MiB = 1 << 20, GiB = 1 << 30;

// Families are those of Apple's feature set tables; of the virtual GPU, and memory
// of AMD's, as llama.cpp prints them in public reports. The rest of the memory is
// made up.
constexpr Gpu gpus[] = {
    {"m1", "Apple M1 (simulated)", "M1", 7, true, true, true, true, false, 8 * GiB, 12 * GiB},
    {"m2", "Apple M2 (simulated)", "M2", 8, true, true, true, true, false, 8 * GiB, 12 * GiB},
    {"m3", "Apple M3 (simulated)", "M3", 9, true, true, true, true, false, 8 * GiB, 12 * GiB},
    {"m3max", "Apple M3 Max (simulated)", "M3 Max", 9, true, true, true, true, false, 24 * GiB, 36 * GiB},
    {"m5", "Apple M5 (simulated)", "M5", 10, true, true, true, true, false, 16 * GiB, 24 * GiB},
    // MTLGPUFamilyApple11 is in Apple's documentation of macOS 27; no chip has a name yet.
    {"apple11", "Apple GPU of family 11 (simulated)", "M5", 11, true, true, true, true, false, 16 * GiB, 24 * GiB},
    {"paravirtual", "Apple Paravirtual device", "M1", 5, true, false, false, true, true, 4 * GiB, 4 * GiB},
    {"intel", "Intel(R) UHD Graphics 630 (simulated)", "M1", 0, true, true, false, true, false, 2 * GiB, 1536 * MiB},
    {"amd", "AMD Radeon Pro 5500M (simulated)", "M1", 0, true, true, false, false, false, 3584 * MiB, 8176 * MiB},
};

}  // namespace

const Gpu *gpuNamed(const std::string &key) {
  for (const Gpu &g : gpus)
    if (key == g.key) return &g;
  return nullptr;
}

std::string gpuNames() {
  std::string s;
  for (const Gpu &g : gpus) s += std::string(s.empty() ? "" : ", ") + g.key;
  return s;
}

bool supportsFamily(const Gpu &gpu, int64_t family, int os) {
  switch (family) {
    case mac2: return gpu.isMac;
    case metal3: return gpu.isMetal3;
    case metal4: return gpu.isMetal4 && os >= 26;
  }
  if (family >= common1 && family <= common3) return true;
  if (family >= apple1 + 10 && os < 27) return false;
  return family >= apple1 && family < apple1 + gpu.appleFamily;
}

}  // namespace metalsim
