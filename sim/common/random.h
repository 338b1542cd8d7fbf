// The random number generator of both simulators.
#pragma once

#include <cstdint>

namespace simcommon {

// The next number of splitmix64. The state is a plain or an atomic number.
template <typename State>
uint64_t nextRandom(State &state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace simcommon
