// The environment variables that choose what is simulated. They are read once,
// when the library is loaded.
//
//   METALSIM_OS=13|14|15|26|27        macOS version (15); 26 calls itself 16 to programs, see
//                                     foundation.h
//   METALSIM_GPU=m1|m2|m3|m3max|m5|apple11|...      GPU (m3); paravirtual, as on CI runners, intel and amd
//                                     are those that a program has to treat otherwise: see gpu.cpp
//   METALSIM_SEED=n                   order of commands and threadgroups (1)
//   METALSIM_STORE_DELAY=1            device writes reach other threadgroups only at a device fence
//   METALSIM_FAULT=device:n|alloc:n|library:n|pipeline:n|queue:n|commands:n|encoder:n|residency:n|replay:n|lost:n
//                                     the nth request for the device fails (allocation, library,
//                                     pipeline, queue, command buffer, encoder, residency set); the nth
//                                     committed command buffer, or all from it on, end in an error
//   METALSIM_FAULT=wait-hang:n        the nth wait for a command buffer never returns
//   METALSIM_FAULT=icb-segv|icb-hang  the first setter of any command of an ICB ends the process
//                                     by a wild access, as some drivers do, or never returns
//   METALSIM_MAX_BUFFER=bytes         maxBufferLength, instead of the GPU's
//   METALSIM_WORKING_SET=bytes        recommendedMaxWorkingSetSize, likewise
//   METALSIM_MAX_THREADS=n            no pipeline allows more threads in a threadgroup, as where
//                                     kernels need many registers (1024)
//   METALSIM_MAX_THREADS_OF=f:n       likewise, of the pipeline of function f alone
//   METALSIM_REFUSE=library:f|pipeline:f|indirect:f   a library whose source has function f is not
//                                     compiled; no pipeline of f can be made; none for ICBs
//   METALSIM_WORK=file                what kernels do, for a model of time: see duration.h
//   METALSIM_SPEED=percent            of the speed that the model takes for usual (100), with a fraction
//   METALSIM_BUFFER_MS=n              a command buffer that takes longer by the model is ended (400)
//   METALSIM_DISPATCH_MS=n            so is one with a dispatch that takes longer (200)
//   METALSIM_KERNELS=run|fast|stub    fast: loads and stores of kernels are not checked;
//                                     stub: dispatches are checked but kernels do not run, and
//                                     fresh memory is zero
//   METALSIM_TRACE=1                  print every message
//   METALSIM_STRICT=1                 abort at the end if anything leaked
//   METALSIM_REPORT=file              keeps counts of what is alive in a file: see report.h
//   METALSIM_ROOT=dir                 the repository, for the compiler of Metal source
//
// Compiled kernels are kept in a folder that sim/exec/store.h names.
#pragma once

#include <cstdint>
#include <string>

#include "gpu.h"

namespace metalsim {

enum class Kernels { Run, Fast, Stub };
enum class Fault { None, Device, Alloc, Library, Pipeline, Queue, Commands, Encoder, Residency, Archive, Replay, Lost, IcbSegv, IcbHang, WaitHang, ArchiveSlow, Count };

struct Config {
  int os = 15;
  const Gpu *gpu = nullptr;
  uint64_t seed = 1;
  bool storeDelay = false;
  Fault fault = Fault::None;
  uint64_t faultAt = 0;
  uint64_t maxBuffer = 0, workingSet = 0;
  uint64_t maxThreads = 1024;
  std::string fewThreadsOf;  // a function that has fewThreads at most
  uint64_t fewThreads = 0;
  std::string refused, refusedFunction;  // METALSIM_REFUSE
  std::string work;
  double speed = 100;
  uint64_t bufferMs = 400, dispatchMs = 200;
  Kernels kernels = Kernels::Run;
  bool trace = false;
  bool strict = false;
  std::string root;
  std::string report;
};

const Config &config();

// Tells whether METALSIM_REFUSE is of this kind and function.
bool refused(const char *kind, const std::string &function);

// Counts one event of this kind and tells whether it is one to fail.
bool faultNow(Fault kind);

// The next number of the seeded generator (splitmix64).
uint64_t nextRandom();

}  // namespace metalsim
