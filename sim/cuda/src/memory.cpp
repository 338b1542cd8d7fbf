#include "memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "stream.h"

namespace cudasim::memory {
namespace {

// A non-canonical address on every supported machine, so it is never an address of the process.
constexpr CUdeviceptr firstAddress = 0x0020'0000'0000'0000;
constexpr uint64_t step = 512;  // addresses are odd multiples of 256, the alignment that is promised

std::map<CUdeviceptr, Block> &blocks() {
  static auto &m = *new std::map<CUdeviceptr, Block>;
  return m;
}

struct Pinned {
  uint64_t bytes;
  bool mappable;
  CUdeviceptr mapped;  // the device address of its block; 0: none
};

std::map<uint64_t, Pinned> &pinned() {  // by address
  static auto &m = *new std::map<uint64_t, Pinned>;
  return m;
}

uint64_t usedBytes() {
  uint64_t n = 0;
  for (const auto &[base, b] : blocks()) n += b.mapped ? 0 : b.bytes;
  return n;
}

// The address of a new block.
CUdeviceptr place(uint64_t bytes, uint8_t *host, bool mapped) {
  static CUdeviceptr next = firstAddress + step / 2;
  const CUdeviceptr base = next;
  next += (bytes + 2 * step - 1) / step * step;  // addresses are not reused, and there is a gap between blocks
  blocks().emplace(base, Block{base, bytes, host, mapped, {}, {}, {}});
  return base;
}

}  // namespace

bool Block::holds(uint64_t from, uint64_t to) const {
  from++, to++;
  auto next = written.list().upper_bound(from);
  return from >= to || (next != written.list().begin() && std::prev(next)->second >= to);
}

void Block::copyState(const Block &source, uint64_t from, uint64_t to, uint64_t bytes) {
  for (const auto &[a, b] : source.written.list()) {
    const uint64_t begin = std::max(a - 1, from), end = std::min(b - 1, from + bytes);
    if (begin < end) wrote(begin - from + to, end - from + to);
  }
}

Block *device(CUdeviceptr p, uint64_t bytes, const char *what) {
  auto next = blocks().upper_bound(p);
  Block *b = next == blocks().begin() ? nullptr : &std::prev(next)->second;
  REQUIRE(b && p - b->base < b->bytes && bytes <= b->bytes - (p - b->base), Rule::NotDevice,
          "%s: %" PRIu64 " bytes at %#" PRIx64, what, bytes, p);
  return b;
}

void requirePinned(const void *p, uint64_t bytes, const char *what) {
  const auto at = reinterpret_cast<uint64_t>(p);
  auto next = pinned().upper_bound(at);
  const bool ok = next != pinned().begin() && at - std::prev(next)->first <= std::prev(next)->second.bytes &&
                  bytes <= std::prev(next)->second.bytes - (at - std::prev(next)->first);
  REQUIRE(ok, Rule::NotPinned, "%s: %" PRIu64 " bytes at %#" PRIx64, what, bytes, at);
}

void expect(Block *b) {
  if (!b->mapped) return;
  if (busy({b->base, b->base + b->bytes})) return;
  auto *now = reinterpret_cast<uint32_t *>(b->host);
  const size_t words = b->bytes / 4;
  if (b->seen.empty()) {
    b->seen.assign(now, now + words);
    b->launches.assign(words, takenLate);
  }
  // The host may read results up to takenLate launches after they were written, because it may start
  // other launches first. Words that have not changed for longer are poisoned.
  for (size_t i = 0; i < words; ++i) {
    b->launches[i] = now[i] == b->seen[i] ? b->launches[i] + 1 : 0;
    if (b->launches[i] > takenLate) {
      now[i] = ~0u;  // poison
      b->launches[i] = takenLate;
    }
    b->seen[i] = now[i];
  }
  b->written = {};
}

int leaks() {
  int n = 0;
  for (const auto &[base, b] : blocks()) {
    if (b.mapped) continue;
    fprintf(stderr, "[cudasim] leaked: %" PRIu64 " bytes of device memory\n", b.bytes);
    n++;
  }
  for (const auto &[at, p] : pinned()) fprintf(stderr, "[cudasim] leaked: %" PRIu64 " bytes of page-locked memory\n", p.bytes);
  return n + static_cast<int>(pinned().size());
}

}  // namespace cudasim::memory

using namespace cudasim;
using namespace cudasim::memory;

EXPORT CUresult cuMemGetInfo_v2(uint64_t *free, uint64_t *total) {
  ENTER(Context);
  REQUIRE(free && total, Rule::BadPointer, "%s", __func__);
  *total = config().memory;
  *free = config().memory - usedBytes();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, uint64_t bytes) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > config().memory - usedBytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto *host = new uint8_t[bytes];
  memset(host, poison, bytes);
  *out = place(bytes, host, false);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr p) {
  ENTER(Context);
  const auto b = blocks().find(p);
  REQUIRE(b != blocks().end() && !b->second.mapped, Rule::NotDevice, "%s: no allocation begins at %#" PRIx64, __func__, p);
  requireIdle({p, p + b->second.bytes}, __func__);
  delete[] b->second.host;
  blocks().erase(b);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostAlloc(void **out, uint64_t bytes, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (bytes == 0 || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
  memset(*out, poison, bytes);
  pinned()[reinterpret_cast<uint64_t>(*out)] = {bytes, (flags & 2) != 0, 0};
  return CUDA_SUCCESS;
}

// The runtime uses such memory only for results of kernels, never for their inputs.
EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  const auto found = pinned().find(reinterpret_cast<uint64_t>(p));
  REQUIRE(found != pinned().end() && found->second.mappable, Rule::NotPinned, "%s: no mapped allocation begins at %p", __func__, p);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  Pinned &m = found->second;
  if (!m.mapped) m.mapped = place(m.bytes, static_cast<uint8_t *>(p), true);
  *out = m.mapped;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeHost(void *p) {
  ENTER(Context);
  const auto at = reinterpret_cast<uint64_t>(p);
  const auto found = pinned().find(at);
  REQUIRE(found != pinned().end(), Rule::NotPinned, "%s: no allocation begins at %#" PRIx64, __func__, at);
  const Pinned m = found->second;
  requireIdle({at, at + m.bytes}, __func__);
  if (m.mapped) requireIdle({m.mapped, m.mapped + m.bytes}, __func__);
  blocks().erase(m.mapped);
  free(p);
  pinned().erase(found);
  return CUDA_SUCCESS;
}
