// The environment variables that choose what is simulated. They are read once.
//
//   CUDASIM_METAL=FILE             the Metal source that PTX was compiled from; its kernels run
//   CUDASIM_DRIVER=n               what cuDriverGetVersion gives (13000)
//   CUDASIM_DEVICES=n              devices (1)
//   CUDASIM_CAPABILITY=n           compute capability, 90 for 9.0 (90)
//   CUDASIM_MEMORY=bytes           device memory (4 GiB)
//   CUDASIM_L2=bytes               level-2 cache (1 MiB)
//   CUDASIM_SHARED=bytes           shared memory that a block may have (227 KiB)
//   CUDASIM_SEED=n                 order of nodes, threadgroups and streams (1)
//   CUDASIM_FAULT=FUNCTION:N:CODE  the Nth call of a function returns CODE; with a + after
//                                  it all later calls do too, as after a kernel's failure
//   CUDASIM_FLIP=KERNEL:N          the Nth run of kernels whose names begin so leaves the lowest
//                                  bit of the last byte that it wrote wrong; needs KERNELS=run
//   CUDASIM_KERNELS=run|fast|stub  fast: loads and stores of kernels are not checked; stub:
//                                  launches are checked but kernels do not run, and without
//                                  CUDASIM_METAL any PTX is loaded
//   CUDASIM_ROOT=dir               the repository, for the compiler of Metal source
//
// Compiled kernels are kept in a folder that sim/exec/store.h names.
#pragma once

#include <cstdint>
#include <string>

namespace cudasim {

enum class Kernels { Run, Fast, Stub };

struct Config {
  std::string metal;
  int driver = 13000, devices = 1, capability = 90;
  uint64_t memory = 4ull << 30, l2 = 1 << 20, shared = 227 << 10, seed = 1;
  std::string faultCall;  // ""; none
  uint64_t faultAt = 0;
  int faultCode = 0;
  bool faultStays = false;
  std::string flipKernel;  // ""; none
  uint64_t flipAt = 0;
  Kernels kernels = Kernels::Run;
  std::string root;
};

const Config &config();

// The next number of the seeded generator (splitmix64).
uint64_t nextRandom();

}  // namespace cudasim
