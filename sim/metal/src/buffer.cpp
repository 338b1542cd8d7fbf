#include "buffer.h"

#include <cinttypes>

#include "config.h"
#include "foundation.h"
#include "memory.h"
#include "protocol.h"

namespace metalsim {
namespace {

uint64_t total;  // bytes of living buffers

// Bits of MTLResourceOptions: CPU cache mode, storage mode, hazard tracking.
constexpr uint64_t cacheBits = 0xF, storageBits = 0xF0, trackingBits = 0x300;
constexpr uint64_t storageShared = 0, storagePrivate = 32;

void checkLength(uint64_t length) {
  REQUIRE(length > 0 && length <= config().maxBuffer, Rule::MaxBufferLength,
          "%" PRIu64 " bytes; maxBufferLength is %" PRIu64, length, config().maxBuffer);
  REQUIRE(total + length <= config().workingSet, Rule::WorkingSet,
          "%" PRIu64 " bytes more than the %" PRIu64 " in use; the limit is %" PRIu64, length, total,
          config().workingSet);
}

}  // namespace

bool isPrivate(uint64_t options) {
  const uint64_t storage = options & storageBits;
  REQUIRE(!(options & ~(cacheBits | storageBits | trackingBits)) && (options & cacheBits) <= 1 &&
              (storage == storageShared || storage == storagePrivate),
          Rule::StorageMode, "options %#" PRIx64, options);
  return storage == storagePrivate;
}

Buffer *newBuffer(uint64_t length, uint64_t options) {
  checkLength(length);
  const bool priv = isPrivate(options);
  if (faultNow(Fault::Alloc)) return nullptr;
  uint8_t *memory = memory::allocate(length);
  if (!memory) return nullptr;
  total += length;
  return make<Buffer>(memory, length, priv, true);
}

Buffer *newBufferNoCopy(void *p, uint64_t length, uint64_t options, Object *deallocator) {
  REQUIRE(!deallocator, Rule::Deallocator, "newBufferWithBytesNoCopy:length:options:deallocator:");
  REQUIRE(p && reinterpret_cast<uintptr_t>(p) % memory::pageSize == 0 && length % memory::pageSize == 0,
          Rule::PageAlignment, "%p, %" PRIu64 " bytes", p, length);
  checkLength(length);
  REQUIRE(!isPrivate(options), Rule::StorageMode, "no-copy memory is shared");
  REQUIRE(!memory::isGoHeap(p), Rule::NoCopyMemory, "%p lies in the Go heap", p);
  const memory::Mapping mapping = memory::mappingOf(p, length);
  REQUIRE(mapping != memory::Mapping::None, Rule::NoCopyMemory, "%p, %" PRIu64 " bytes are not mapped as a whole", p, length);
  if (faultNow(Fault::Alloc)) return nullptr;
  if (mapping == memory::Mapping::ReadOnly) memory::noteReadOnly(p, length);
  total += length;
  return make<Buffer>(static_cast<uint8_t *>(p), length, false, false);
}

uint64_t allocatedBytes() { return total; }

void Buffer::dealloc() {
  total -= bytes;
  if (isOwn) memory::release(memory, bytes);
}

void *Buffer::contents() {
  REQUIRE(!isPrivate, Rule::StorageMode, "contents of %s, which is private", nameOf(this).c_str());
  return memory;
}

void defineBuffer() {
  defineProtocol("MTLAllocation", "15.0");
  Class *allocation = classOf<Allocation> = defineClass("MTLAllocation", classOf<Object>, "10.13", true);
  method<&Allocation::allocatedSize>(allocation, "allocatedSize", "10.13");
  Class *buffer = classOf<Buffer> = defineClass("MTLBuffer", allocation, "10.11", true);
  conform(buffer, "MTLAllocation", "15.0");
  method<&Buffer::contents>(buffer, "contents", "10.11");
  method<&Buffer::length>(buffer, "length", "10.11");
  method<&Object::setLabel>(buffer, "setLabel:", "10.11");
}

}  // namespace metalsim
