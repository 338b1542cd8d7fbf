// MTLBuffer and what it shares with other allocations.
#pragma once

#include "objc.h"

namespace metalsim {

// What has an allocatedSize. A residency set can hold it only if it conforms to
// the protocol MTLAllocation, which pipelines do later than they answer that.
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

// MTLResourceOptions and the rules about sizes; null when the fault injector or
// the system refuses.
Buffer *newBuffer(uint64_t length, uint64_t options);
Buffer *newBufferNoCopy(void *memory, uint64_t length, uint64_t options, Object *deallocator);

// Tells whether MTLResourceOptions ask for private memory; fails if they ask for
// what no buffer can have.
bool isPrivate(uint64_t options);

// Bytes of all living buffers.
uint64_t allocatedBytes();

void defineBuffer();

}  // namespace metalsim
