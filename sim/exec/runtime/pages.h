// A map from addresses to records kept per page of 4096 bytes.
#pragma once
#include <stdint.h>
#include <stdlib.h>

template <typename Record>
class page_map {
public:
  // The record of the page of at, zeroed when it is new.
  Record *at(uintptr_t at) {
    const uintptr_t page = at >> 12;
    if (page == last_page_ && last_) return last_;
    if (2 * (used_ + 1) > slots_) grow();
    slot *s = find(page);
    if (!s->record) {
      *s = slot{page, static_cast<Record *>(calloc(1, sizeof(Record)))};
      if (!s->record) abort();
      ++used_;
    }
    last_page_ = page;
    return last_ = s->record;
  }

  // Calls f(page, record) in ascending order of pages.
  template <typename F>
  void each(F f) {
    slot *sorted = static_cast<slot *>(malloc((used_ + 1) * sizeof(slot)));
    size_t n = 0;
    for (size_t i = 0; i < slots_; ++i) {
      if (table_[i].record) sorted[n++] = table_[i];
    }
    qsort(sorted, n, sizeof(slot), [](const void *a, const void *b) {
      const uintptr_t x = static_cast<const slot *>(a)->page, y = static_cast<const slot *>(b)->page;
      return x < y ? -1 : x > y ? 1 : 0;
    });
    for (size_t i = 0; i < n; ++i) f(sorted[i].page, *sorted[i].record);
    free(sorted);
  }

  void clear() {
    for (size_t i = 0; i < slots_; ++i) free(table_[i].record);
    free(table_);
    *this = page_map{};
  }

private:
  struct slot {
    uintptr_t page;
    Record *record;
  };

  slot *find(uintptr_t page) {
    size_t i = page * 0x9e3779b97f4a7c15 & (slots_ - 1);
    while (table_[i].record && table_[i].page != page) i = (i + 1) & (slots_ - 1);
    return &table_[i];
  }

  void grow() {
    slot *old = table_;
    const size_t n = slots_;
    slots_ = n ? 2 * n : 64;
    table_ = static_cast<slot *>(calloc(slots_, sizeof(slot)));
    if (!table_) abort();
    for (size_t i = 0; i < n; ++i) {
      if (old[i].record) *find(old[i].page) = old[i];
    }
    free(old);
  }

  slot *table_ = nullptr;
  size_t slots_ = 0, used_ = 0; // slots_ is a power of two
  uintptr_t last_page_ = 0;
  Record *last_ = nullptr;
};
