// Device memory and page-locked host memory. Device addresses are no addresses of
// the process: whoever follows one on the host crashes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../common/access.h"
#include "driver.h"

namespace cudasim::memory {

constexpr int takenLate = 16;     // launches: the host may take what a kernel wrote to it before that many others
constexpr uint8_t poison = 0xFF;  // as float, half and bfloat: NaN

// One allocation on the device, or page-locked memory that kernels reach by an address of its own.
struct Block {
  CUdeviceptr base;
  uint64_t bytes;
  uint8_t *host;                    // where its contents are
  bool mapped;                      // page-locked
  simcommon::Intervals written;      // offsets that hold something
  std::vector<uint32_t> seen;       // if mapped: its words at a launch
  std::vector<int> launches;        // for how many launches each of them has not changed

  uint8_t *at(CUdeviceptr p) const { return host + (p - base); }
  void wrote(uint64_t from, uint64_t to) { written.add(from + 1, to + 1); }  // 0 is no address to Intervals
  bool holds(uint64_t from, uint64_t to) const;
  void copyState(const Block &source, uint64_t from, uint64_t to, uint64_t bytes);
};

// The block that has all of [p, p+bytes); anything else breaks a rule.
Block *device(CUdeviceptr p, uint64_t bytes, const char *what);
// What kernels are to write to mapped memory is not there yet: poison for those who look too early.
void expect(Block *b);
// Whether [p, p+bytes) is page-locked; anything else breaks a rule.
void requirePinned(const void *p, uint64_t bytes, const char *what);

// A range that work in a stream uses, on the device or on the host.
struct Range {
  uint64_t begin, end;
};

int leaks();

}  // namespace cudasim::memory
