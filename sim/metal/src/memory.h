// The memory of buffers. It is filled with poison when allocated, lies between guard pages, and
// stays inaccessible after its release. An access outside of live memory aborts with a rule.
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

// The operating system's mapping of a range of addresses.
enum class Mapping { None, ReadOnly, Writable };
Mapping mappingOf(const void *p, uint64_t bytes);

// Returns whether p is in Go's heap. Its arenas have 64 MiB, are aligned to their size, and have no
// neighbours. Other mappings hardly ever look like that.
bool isGoHeap(const void *p);

// Declares a range as read-only for kernels. A store to it aborts.
void noteReadOnly(const void *p, uint64_t bytes);

}  // namespace metalsim::memory
