// Copies that a kernel begins and that land as late as they may: what a thread has begun waits here until
// it asks for it. See land_copies in <metal_stdlib>.
#include <deque>
#include <vector>
#include "copies.h"
#include "launch.h"

namespace {
struct entry {
  msl_copy copy;
  bool group; // the end of a group, no copy
};
std::vector<std::deque<entry>> pending(max_threads); // by thread

// How many groups end behind the first copy, of which there is one.
uint groups_behind(const std::deque<entry> &queue) {
  uint n = 0;
  for (const entry &e : queue) n += e.group;
  return n;
}
}

void msl_begin_copy(const msl_copy &c) { pending[launch.current].push_back({c, false}); }
void msl_end_group() { pending[launch.current].push_back({{}, true}); }

bool msl_next_copy(msl_copy *c, int but) {
  auto &queue = pending[launch.current];
  while (!queue.empty()) {
    // The copy belongs to the first group that ends behind it. Those of no group land with all others.
    if (but >= 0 && groups_behind(queue) <= uint(but)) return false;
    const entry first = queue.front();
    queue.pop_front();
    if (first.group) continue;
    *c = first.copy;
    return true;
  }
  return false;
}

void copies_begin_threadgroup() {
  for (uint i = 0; i < launch.threads; ++i) pending[i].clear();
}

void copies_end_threadgroup() {
  for (uint i = 0; i < launch.threads; ++i) {
    for (const entry &e : pending[i]) {
      if (!e.group) {
        fault("copy-pending", "thread %u never asked for a copy that it began", i);
        return;
      }
    }
  }
}
