// The bytes that commands read and write, as sets of address intervals.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace simcommon {

// A union of half-open intervals.
class Intervals {
 public:
  void add(uintptr_t begin, uintptr_t end);
  void add(const Intervals &other);
  bool empty() const { return map_.empty(); }
  // The first common address of the set and [begin, end), or 0.
  uintptr_t common(uintptr_t begin, uintptr_t end) const;
  uintptr_t common(const Intervals &other) const;
  const std::map<uintptr_t, uintptr_t> &list() const { return map_; }

 private:
  std::map<uintptr_t, uintptr_t> map_;  // begin -> end
};

// The bytes that one or more commands read and wrote.
struct Access {
  std::string who;
  Intervals reads, writes;
  void add(const Access &a);
  // The first address that both access and at least one writes, or 0.
  uintptr_t conflict(const Access &other) const;
};

}  // namespace simcommon
