// Copies and fills, in the order of a stream.
#include <cinttypes>
#include <cstring>

#include "stream.h"

using namespace cudasim;
using namespace cudasim::memory;

namespace {

Range rangeOf(const void *p, uint64_t bytes) {
  const auto at = reinterpret_cast<uint64_t>(p);
  return {at, at + bytes};
}

}  // namespace

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, uint64_t bytes, CUhandle stream) {
  ENTER(Context);
  auto *s = get<Stream>(stream);
  requirePinned(from, bytes, __func__);
  Block *b = device(to, bytes, __func__);
  const auto *source = static_cast<const uint8_t *>(from);
  // The copy runs later. The source must then have the same contents as at the call.
  const std::vector<uint8_t> then(source, source + bytes);
  s->add({[=] {
            REQUIRE(!memcmp(then.data(), source, bytes), Rule::EditInFlight, "%" PRIu64 " bytes at %p", bytes, from);
            memcpy(b->at(to), source, bytes);
            b->wrote(to - b->base, to - b->base + bytes);
          },
          {{to, to + bytes}, rangeOf(from, bytes)},
          {}});
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, uint64_t bytes, CUhandle stream) {
  ENTER(Context);
  auto *s = get<Stream>(stream);
  requirePinned(to, bytes, __func__);
  const Block *b = device(from, bytes, __func__);
  if (!busy(rangeOf(to, bytes))) memset(to, poison, bytes);  // so that a program that reads too early gets NaN
  s->add({[=] {
            REQUIRE(config().kernels != Kernels::Run || b->holds(from - b->base, from - b->base + bytes), Rule::Uninitialised,
                    "a copy to the host of %" PRIu64 " bytes at %#" PRIx64, bytes, from);
            memcpy(to, b->at(from), bytes);
          },
          {{from, from + bytes}, rangeOf(to, bytes)},
          {}});
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUhandle stream) {
  ENTER(Context);
  auto *s = get<Stream>(stream);
  Block *a = device(to, bytes, __func__);
  const Block *b = device(from, bytes, __func__);
  REQUIRE(to + bytes <= from || from + bytes <= to, Rule::BadValue, "%s: the ranges overlap", __func__);
  s->add({[=] {
            memcpy(a->at(to), b->at(from), bytes);
            a->copyState(*b, from - b->base, to - a->base, bytes);
          },
          {{from, from + bytes}, {to, to + bytes}},
          {}});
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, uint64_t bytes, CUhandle stream) {
  ENTER(Context);
  auto *s = get<Stream>(stream);
  Block *b = device(to, bytes, __func__);
  s->add({[=] {
            memset(b->at(to), value, bytes);
            b->wrote(to - b->base, to - b->base + bytes);
          },
          {{to, to + bytes}},
          {}});
  return CUDA_SUCCESS;
}
