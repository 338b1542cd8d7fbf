#include "touched.h"
#include "launch.h"
#include "pages.h"

namespace {
struct bits {
  uint64_t words[2][64]; // loaded, stored
};
page_map<bits> pages;

void mark(uintptr_t at, bool store) {
  const uintptr_t bit = at & 4095;
  pages.at(at)->words[store][bit / 64] |= uint64_t(1) << bit % 64;
}

// Runs of neighbouring bytes, handed over when they end.
struct run {
  uintptr_t begin = 0, end = 0;
  int store;
  void add(uintptr_t at) {
    if (at != end) {
      finish();
      begin = at;
    }
    end = at + 1;
  }
  void finish() const {
    const msl_launch *l = launch.request;
    if (begin < end) l->touched(l->context, reinterpret_cast<const void *>(begin), end - begin, store);
  }
};
}

void touch(const char *at, size_t size, bool store) {
  for (size_t i = 0; i < size; ++i) mark(reinterpret_cast<uintptr_t>(at) + i, store);
}

void touched_report() {
  for (int store = 0; store < 2; ++store) {
    run r{.store = store};
    pages.each([&](uintptr_t page, const bits &b) {
      for (uint i = 0; i < 4096; ++i) {
        if (b.words[store][i / 64] >> i % 64 & 1) r.add((page << 12) + i);
      }
    });
    r.finish();
  }
  pages.clear();
}
