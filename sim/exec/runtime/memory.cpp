// Each array ends where an inaccessible page begins, so that unchecked builds find
// a step over the end too. Poison is 0xff: NaN as a float or a half, and an index
// beyond every buffer as an integer.
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "launch.h"

namespace {
constexpr uint max_arrays = 32;
constexpr size_t room = 256 << 10; // more than any GPU gives a threadgroup (227 KiB), and whole pages

struct array {
  char *begin, *end; // equal: nobody asked for it yet
};
array arrays[max_arrays];
uint known; // arrays of the launch before this index may be in use
char *base;

void reserve() {
  base = static_cast<char *>(mmap(nullptr, 2 * room * max_arrays, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) abort();
  for (uint i = 0; i < max_arrays; ++i) {
    if (mprotect(base + 2 * room * i, room, PROT_READ | PROT_WRITE)) abort();
  }
}
}

void memory_begin_threadgroup() {
  for (uint i = 0; i < known; ++i) arrays[i] = array{};
  known = 0;
}

void *msl_threadgroup_array(uint index, size_t size) {
  if (index >= max_arrays || size > room) fault("launch", "asks for threadgroup array %u of %zu bytes", index, size);
  array &a = arrays[index];
  if (a.begin == a.end) {
    if (!base) reserve();
    a.end = base + 2 * room * index + room;
    a.begin = a.end - (size + 15) / 16 * 16;
    a.end = a.begin + size;
    memset(a.begin, 0xff, size);
    if (index >= known) known = index + 1;
  }
  return a.begin;
}

bool threadgroup_holds(const char *at, size_t size) {
  for (uint i = 0; i < known; ++i) {
    if (at >= arrays[i].begin && at + size <= arrays[i].end) return true;
  }
  return false;
}
