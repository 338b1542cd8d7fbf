// The threads of a threadgroup as fibers of one CPU thread, which go on until all of a simdgroup, or of
// the threadgroup, have come to the same place.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <functional>
#include <vector>

namespace fibers {
typedef unsigned int uint;
constexpr uint MOST = 256;
inline uint count, current, group;
inline bool late; // copies are made when they have to be there; else when they begin
inline ucontext_t caller, contexts[MOST];
inline bool ended[MOST];
inline std::vector<char> stacks[MOST];
inline std::function<void()> body;

inline uint lane() { return current % 32; }

// Goes on with the next fiber that has not ended.
inline void yield() {
  const uint me = current;
  do current = (current + 1) % count;
  while (ended[current] && current != me);
  if (current == me) return;
  swapcontext(&contexts[me], &contexts[current]);
}

struct barrier {
  uint waiting, round;
};
inline barrier simdgroups[MOST / 32], threadgroup;
inline void wait(barrier &b, uint all) {
  const uint round = b.round;
  if (++b.waiting == all) {
    b.waiting = 0;
    ++b.round;
  }
  while (b.round == round) yield();
}

// What all lanes have for v; good until the next call but one.
template <typename T>
T *exchange(T v) {
  static char all[MOST / 32][2][32 * sizeof(T)];
  static uint turn[MOST];
  T *of = (T *)all[current / 32][turn[current]++ % 2];
  of[lane()] = v;
  wait(simdgroups[current / 32], 32);
  return of;
}

struct copy {
  void *to;
  const void *from;
  uint bytes;
};
inline std::vector<copy> copies[MOST];
inline void make(copy c) {
  memset(c.to, 0, 16);
  memcpy(c.to, c.from, c.bytes);
}
inline void begin(copy c) {
  if ((unsigned long)c.to % 16 || (unsigned long)c.from % 16) abort();
  if (!late) return make(c);
  memset(c.to, 0xff, 16); // NaN
  copies[current].push_back(c);
}
inline void land() {
  for (const copy &c : copies[current]) make(c);
  copies[current].clear();
}

inline void enter() {
  body();
  ended[current] = true;
  for (uint i = 1; i < count; ++i) {
    const uint next = (current + i) % count;
    if (ended[next]) continue;
    current = next;
    setcontext(&contexts[next]);
  }
  setcontext(&caller);
}

// Runs f as threadgroup number `of` of so many threads.
inline void run(uint threads, uint of, std::function<void()> f) {
  count = threads, group = of, body = f, current = 0;
  for (uint i = 0; i < count; ++i) {
    ended[i] = false;
    stacks[i].resize(1 << 18);
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i].data();
    contexts[i].uc_stack.ss_size = stacks[i].size();
    contexts[i].uc_link = nullptr;
    makecontext(&contexts[i], enter, 0);
  }
  swapcontext(&caller, &contexts[0]);
}
}
