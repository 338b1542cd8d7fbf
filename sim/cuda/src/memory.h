// Device memory and page-locked host memory. Device addresses are no addresses of the process, so a
// host access to one crashes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../common/access.h"
#include "driver.h"

namespace cudasim::memory {

constexpr int takenLate = 16;     // launches: the host may read a result until that many other kernels were launched
constexpr uint8_t poison = 0xFF;  // as float, half and bfloat: NaN

// One allocation on the device, or page-locked memory with a device address.
struct Block {
  CUdeviceptr base;
  uint64_t bytes;
  uint8_t *host;                    // the contents
  bool mapped;                      // page-locked
  simcommon::Intervals written;      // offsets that were written
  std::vector<uint32_t> seen;       // if mapped: its words at a launch
  std::vector<int> launches;        // the number of launches since each word changed

  uint8_t *at(CUdeviceptr p) const { return host + (p - base); }
  void wrote(uint64_t from, uint64_t to) { written.add(from + 1, to + 1); }  // 0 is no address to Intervals
  bool holds(uint64_t from, uint64_t to) const;
  void copyState(const Block &source, uint64_t from, uint64_t to, uint64_t bytes);
};

// Returns the block that contains all of [p, p+bytes). It is a rule that there is one.
Block *device(CUdeviceptr p, uint64_t bytes, const char *what);
// Fills mapped memory that kernels are going to write with poison, so that a program that reads it
// too early gets NaN.
void expect(Block *b);
// Checks the rule that [p, p+bytes) is page-locked.
void requirePinned(const void *p, uint64_t bytes, const char *what);

// A range of device or host memory that work in a stream uses.
struct Range {
  uint64_t begin, end;
};

int leaks();

}  // namespace cudasim::memory
