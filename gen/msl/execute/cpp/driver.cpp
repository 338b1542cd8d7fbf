// Runs the kernels of kernels.cpp, one threadgroup after the other, a fiber per
// thread. Requests come on stdin, results go to stdout; see execute.go. A barrier
// that some threads miss, or meet in different places, ends the program.
#define _XOPEN_SOURCE 700 // macOS: ucontext
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <memory>
#include <string>
#include <vector>
#include "driver.h"

namespace {
enum state : uint8_t { running, at_simdgroup, at_threadgroup, done };

struct fiber {
  ucontext_t context;
  state where;
  void *site; // the call that waits
  std::unique_ptr<char[]> stack;
};

constexpr size_t stack_bytes = 64 << 10;
std::vector<fiber> fibers;
ucontext_t scheduler;
uint current;
char shown[1024][16];
std::vector<float> memory;
void (*entry)(void **, uint, uint, ushort, ushort);
void **arguments;
uint group;

[[noreturn]] void die(const char *what, uint thread_index) {
  fprintf(stderr, "threadgroup %u, thread %u: %s\n", group, thread_index, what);
  exit(1);
}

void wait(state where, void *site) {
  fibers[current].where = where;
  fibers[current].site = site;
  swapcontext(&fibers[current].context, &scheduler);
}

void run_fiber() {
  entry(arguments, group, current, current / 32, current % 32);
  wait(done, nullptr);
}

void start(uint i) {
  fiber &f = fibers[i];
  if (!f.stack) f.stack.reset(new char[stack_bytes]);
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = stack_bytes;
  f.context.uc_link = &scheduler;
  makecontext(&f.context, run_fiber, 0);
  f.where = running;
}

// Runs threads [from, to) until each waits; they must all wait for the same.
state run_to_meeting(uint from, uint to) {
  for (uint i = from; i < to; ++i) {
    current = i;
    swapcontext(&scheduler, &fibers[i].context);
    if (fibers[i].where != fibers[from].where || fibers[i].site != fibers[from].site) die("not where the rest of its simdgroup is", i);
  }
  return fibers[from].where;
}

void run_threadgroup(uint threads) {
  memory.clear();
  for (uint i = 0; i < threads; ++i) start(i);
  for (;;) {
    for (uint from = 0; from < threads; from += 32) {
      while (run_to_meeting(from, from + 32) == at_simdgroup) {
      }
      if (fibers[from].where != fibers[0].where || fibers[from].site != fibers[0].site) die("not where the rest of its threadgroup is", from);
    }
    if (fibers[0].where == done) return;
  }
}

template <typename T>
T receive() {
  T v;
  if (fread(&v, sizeof v, 1, stdin) != 1) exit(0);
  return v;
}
}

__attribute__((noinline)) void meet(meeting where) {
  wait(where == in_simdgroup ? at_simdgroup : at_threadgroup, __builtin_return_address(0));
}
void put(const void *v, size_t n) { memcpy(shown[current], v, n); }
void get(void *v, size_t n, uint lane) { memcpy(v, shown[current / 32 * 32 + lane], n); }
uint lane_index() { return current % 32; }

float *threadgroup_memory(size_t n) {
  if (memory.empty()) memory.assign(n, __builtin_nanf(""));
  return memory.data();
}

int main() {
  fibers.resize(1024);
  for (;;) {
    std::string name(receive<uint32_t>(), 0);
    if (fread(name.data(), 1, name.size(), stdin) != name.size()) return 1;
    const uint groups = receive<uint32_t>(), threads = receive<uint32_t>(), buffers = receive<uint32_t>();
    std::vector<std::vector<char>> data(buffers);
    std::vector<void *> pointers;
    for (auto &d : data) {
      d.resize(receive<uint64_t>());
      if (fread(d.data(), 1, d.size(), stdin) != d.size()) return 1;
      pointers.push_back(d.data());
    }
    entry = nullptr;
    for (const entry_point *e = entry_points; e->name; ++e) {
      if (name == e->name) entry = e->call;
    }
    if (!entry) die("no such kernel", 0);
    arguments = pointers.data();
    for (group = 0; group < groups; ++group) run_threadgroup(threads);
    for (const auto &d : data) fwrite(d.data(), 1, d.size(), stdout);
    fflush(stdout);
  }
}
