// Memory behind buffers: poisoned when fresh, between guard pages, and
// inaccessible for ever once released. Faults at such addresses abort by rule.
#pragma once

#include <cstdint>

namespace metalsim::memory {

constexpr uint64_t pageSize = 16384;  // of Apple Silicon
constexpr uint8_t poison = 0xFF;      // as float, half and bfloat: NaN

// Bytes between two guard pages, page-aligned and filled with poison (with zero if
// kernels do not run, as nothing would replace it); null if there is no memory.
uint8_t *allocate(uint64_t bytes);

// Checks that nothing wrote past the end, then makes the pages inaccessible.
void release(uint8_t *base, uint64_t bytes);

// What the kernel says about a range of addresses.
enum class Mapping { None, ReadOnly, Writable };
Mapping mappingOf(const void *p, uint64_t bytes);

// Go's heap is made of arenas of 64 MiB at multiples of their size, with nothing
// beside them; hardly any other mapping happens to begin and end there.
bool isGoHeap(const void *p);

// The range is mapped read-only for kernels: a store there aborts.
void noteReadOnly(const void *p, uint64_t bytes);

}  // namespace metalsim::memory
