// Copies that a kernel begins and that arrive as late as they may: what a thread has begun waits here until
// it asks for it. See land_copies in <metal_stdlib>. Kernels are linked without C++'s library.
#include "copies.h"
#include <stdlib.h>
#include "launch.h"

namespace {
struct entry {
  msl_copy copy;
  bool group; // the end of a group, no copy
};

struct queue {
  entry *entries;
  uint begin, end, room;
};
queue queues[max_threads]; // by thread

void push(const entry &e) {
  queue &q = queues[launch.current];
  if (q.end == q.room) {
    q.room = q.room ? 2 * q.room : 64;
    q.entries = static_cast<entry *>(realloc(q.entries, q.room * sizeof(entry)));
    if (!q.entries) abort();
  }
  q.entries[q.end++] = e;
}

uint groups_of(const queue &q) {
  uint n = 0;
  for (uint i = q.begin; i < q.end; ++i) n += q.entries[i].group;
  return n;
}
}

void msl_begin_copy(const msl_copy &c) { push({c, false}); }
void msl_end_group() { push({{}, true}); }

bool msl_next_copy(msl_copy *c, int but) {
  queue &q = queues[launch.current];
  // The first copy belongs to the first group that ends after it. Those of no group arrive with all others.
  while (q.begin < q.end && (but < 0 || groups_of(q) > uint(but))) {
    const entry &first = q.entries[q.begin++];
    if (first.group) continue;
    *c = first.copy;
    return true;
  }
  if (q.begin == q.end) q.begin = q.end = 0;
  return false;
}

void copies_begin_threadgroup() {
  for (uint i = 0; i < launch.threads; ++i) queues[i].begin = queues[i].end = 0;
}

void copies_end_threadgroup() {
  for (uint i = 0; i < launch.threads; ++i) {
    for (uint k = queues[i].begin; k < queues[i].end; ++k) {
      if (queues[i].entries[k].group) continue;
      fault("copy-pending", "thread %u never asked for a copy that it began", i);
      return;
    }
  }
}
