#include "access.h"

#include <algorithm>

namespace simcommon {

void Intervals::add(uintptr_t begin, uintptr_t end) {
  if (begin >= end) return;
  auto next = map_.upper_bound(begin);
  if (next != map_.begin()) {
    auto before = std::prev(next);
    if (before->second >= begin) {
      begin = before->first;
      end = std::max(end, before->second);
      next = map_.erase(before);
    }
  }
  while (next != map_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = map_.erase(next);
  }
  map_.emplace_hint(next, begin, end);
}

void Intervals::add(const Intervals &other) {
  for (const auto &[begin, end] : other.map_) add(begin, end);
}

uintptr_t Intervals::common(uintptr_t begin, uintptr_t end) const {
  auto next = map_.upper_bound(begin);
  if (next != map_.begin() && std::prev(next)->second > begin) return begin;
  return next != map_.end() && next->first < end ? next->first : 0;
}

uintptr_t Intervals::common(const Intervals &other) const {
  const bool fewer = map_.size() < other.map_.size();
  const Intervals &few = fewer ? *this : other, &many = fewer ? other : *this;
  for (const auto &[begin, end] : few.map_)
    if (const uintptr_t at = many.common(begin, end)) return at;
  return 0;
}

void Access::add(const Access &a) {
  reads.add(a.reads);
  writes.add(a.writes);
}

uintptr_t Access::conflict(const Access &other) const {
  if (const uintptr_t at = writes.common(other.writes)) return at;
  if (const uintptr_t at = writes.common(other.reads)) return at;
  return reads.common(other.writes);
}

}  // namespace simcommon
