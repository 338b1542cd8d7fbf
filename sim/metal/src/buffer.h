// MTLBuffer, and its base class for all allocations.
#pragma once

#include "objc.h"

namespace metalsim {

// An object with an allocatedSize. A residency set can contain it only if it conforms to the
// protocol MTLAllocation. Pipelines conform only since a later macOS than the one that introduced
// their allocatedSize.
struct Allocation : Object {
  virtual uint64_t allocatedSize() = 0;
};

struct Buffer : Allocation {
  uint8_t *memory;
  uint64_t bytes;
  bool isPrivate, isOwn;  // isOwn: the simulator allocated the memory

  Buffer(uint8_t *memory, uint64_t bytes, bool isPrivate, bool isOwn)
      : memory(memory), bytes(bytes), isPrivate(isPrivate), isOwn(isOwn) {}
  void dealloc() override;
  void *contents();
  uint64_t length() { return bytes; }
  uint64_t allocatedSize() override { return bytes; }
};

// Creates a buffer and checks the rules about sizes and MTLResourceOptions. Returns null if the
// fault injector or the system refuses.
Buffer *newBuffer(uint64_t length, uint64_t options);
Buffer *newBufferNoCopy(void *memory, uint64_t length, uint64_t options, Object *deallocator);

// Returns whether MTLResourceOptions ask for private memory. Fails for options that no buffer can
// have.
bool isPrivate(uint64_t options);

// Bytes of all living buffers.
uint64_t allocatedBytes();

void defineBuffer();

}  // namespace metalsim
