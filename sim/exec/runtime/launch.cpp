// The scheduler: one threadgroup after the other in the order of the seed, a fiber
// per thread. The threads of a simdgroup run one after the other up to the next
// place where they wait for each other; a place that some of them miss is a fault.
#include "launch.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "check.h"
#include "copies.h"
#include "fiber.h"
#include "memory.h"

launch_state launch;

namespace {
enum place : uint8_t { running, at_simdgroup, at_threadgroup, finished };

struct fiber {
  void *stack;
  size_t site; // call_path of the place
  int memory;  // what a barrier orders
  place where;
};

fiber fibers[max_threads];
void *scheduler;
uint from, to;           // the simdgroup that runs
uint meetings;           // of the threads of any simdgroup, to alternate boards
alignas(32) char boards[2][msl_board_bytes];

constexpr size_t stack_bytes = 256 << 10, guard_bytes = 64 << 10; // guard: the largest page size
char *stacks;

const char *rule_of(place p) { return p == at_simdgroup ? "simd-divergence" : "barrier-divergence"; }

const char *describe(place p) {
  switch (p) {
  case at_simdgroup: return "waits for its simdgroup";
  case at_threadgroup: return "waits at a threadgroup_barrier";
  default: return "has finished";
  }
}

// Goes on with the next thread of the simdgroup, after the last with the scheduler.
void yield() {
  fiber &me = fibers[launch.current];
  if (launch.current + 1 < to && !launch.failed) {
    ++launch.current;
    msl_switch(&me.stack, fibers[launch.current].stack);
  } else {
    launch.in_thread = false;
    msl_switch(&me.stack, scheduler);
  }
}

void wait(place where, size_t site, int memory) {
  fiber &me = fibers[launch.current];
  me.where = where;
  me.site = site;
  me.memory = memory;
  yield();
}

void run_thread() {
  const msl_launch *l = launch.request;
  const uint i = launch.current;
  const uint3 threads = {l->threads[0], l->threads[1], l->threads[2]};
  const msl_thread t = {
      launch.group, uint3{l->groups[0], l->groups[1], l->groups[2]},
      uint3{i % threads.x, i / threads.x % threads.y, i / (threads.x * threads.y)}, threads, i};
  launch.entry(l, t);
  wait(finished, 0, msl_no_memory);
}

char *stack_of(uint thread) { return stacks + thread * (stack_bytes + guard_bytes) + guard_bytes; }

void start(uint thread) {
  // Stacks at the same distance would compete for the same cache lines.
  fibers[thread].stack = fiber_prepare(stack_of(thread) + stack_bytes - thread % 61 * 64, run_thread);
  fibers[thread].where = running;
}

// Faults unless threads a and b are at the same place.
bool same_place(uint a, uint b) {
  const fiber &x = fibers[a], &y = fibers[b];
  if (x.where == y.where && x.site == y.site) return true;
  const place worst = x.where == at_simdgroup || y.where == at_simdgroup ? at_simdgroup : at_threadgroup;
  if (x.where == y.where) {
    fault(rule_of(worst), "threads %u and %u %s, but at different places of the source", a, b, describe(x.where));
  } else {
    fault(rule_of(worst), "thread %u %s while thread %u %s", b, describe(y.where), a, describe(x.where));
  }
  return false;
}

// Runs the threads of a simdgroup until each waits for the threadgroup or is done.
bool run_simdgroup(uint first, uint end) {
  from = first;
  to = end;
  do {
    ++meetings;
    launch.current = from;
    launch.in_thread = true;
    msl_switch(&scheduler, fibers[from].stack);
    for (uint i = from + 1; i < to && !launch.failed; ++i) same_place(from, i);
    if (launch.failed) return false;
    if (fibers[from].where == at_simdgroup) check_simdgroup_meeting(from / msl_simd_width, fibers[from].memory);
  } while (fibers[from].where == at_simdgroup);
  return true;
}

bool run_threadgroup() {
  const uint n = launch.threads;
  memory_begin_threadgroup();
  check_begin_threadgroup();
  copies_begin_threadgroup();
  for (uint i = 0; i < n; ++i) start(i);
  do {
    for (uint i = 0; i < n; i += msl_simd_width) {
      if (!run_simdgroup(i, i + msl_simd_width < n ? i + msl_simd_width : n) || !same_place(0, i)) return false;
    }
    check_threadgroup_meeting(fibers[0].memory);
  } while (fibers[0].where != finished);
  check_end_threadgroup();
  copies_end_threadgroup();
  return !launch.failed;
}

// The order in which threadgroups run: a random permutation, by Fisher and Yates.
uint *order_of(uint n, uint64_t seed) {
  uint *order = static_cast<uint *>(malloc(n * sizeof *order));
  for (uint i = 0; i < n; ++i) order[i] = i;
  for (uint i = n; seed && i > 1; --i) {
    seed += 0x9e3779b97f4a7c15; // splitmix64
    uint64_t z = seed;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    const uint j = uint((z ^ z >> 31) % i), other = order[j];
    order[j] = order[i - 1];
    order[i - 1] = other;
  }
  return order;
}

bool valid(const msl_launch *l, const msl_kernel *k) {
  uint64_t threads = 1, groups = 1;
  for (int i = 0; i < 3; ++i) {
    threads *= l->threads[i] <= max_threads ? l->threads[i] : max_threads + 1;
    groups *= l->groups[i];
    if (groups > 1u << 31) groups = 1u << 31 | 1;
  }
  if (threads < 1 || threads > k->max_threads) {
    fault("launch", "%llu threads per threadgroup; expected 1 to %u", (unsigned long long)threads, k->max_threads);
  } else if (groups < 1 || groups > 1u << 31) {
    fault("launch", "%u × %u × %u threadgroups", l->groups[0], l->groups[1], l->groups[2]);
  } else if (l->flags & MSL_STORE_DELAY && !k->checked) {
    fault("launch", "store delay needs a checked build");
  }
  for (uint i = 0; i < MSL_MAX_BUFFERS && !launch.failed; ++i) {
    if (k->buffers >> i & 1 && !l->buffers[i]) fault("launch", "nothing is bound to buffer(%u)", i);
  }
  return !launch.failed;
}

void run_grid() {
  const msl_launch *l = launch.request;
  launch.threads = l->threads[0] * l->threads[1] * l->threads[2];
  const uint groups = l->groups[0] * l->groups[1] * l->groups[2];
  uint *order = order_of(groups, l->seed);
  check_begin_launch();
  for (uint i = 0; i < groups && !launch.failed; ++i) {
    const uint g = launch.group_index = order[i];
    launch.group = uint3{g % l->groups[0], g / l->groups[0] % l->groups[1], g / (l->groups[0] * l->groups[1])};
    run_threadgroup();
  }
  check_end_launch();
  free(order);
}

void reserve_stacks() {
  const size_t size = (stack_bytes + guard_bytes) * max_threads;
  stacks = static_cast<char *>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (stacks == MAP_FAILED) abort();
  for (uint i = 0; i < max_threads; ++i) {
    if (mprotect(stack_of(i), stack_bytes, PROT_READ | PROT_WRITE)) abort();
  }
}

pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
}

void fault(const char *rule, const char *format, ...) {
  char text[512];
  int n = snprintf(text, sizeof text, "kernel %s, threadgroup %u: ", launch.kernel->name, launch.group_index);
  if (launch.in_thread) n += snprintf(text + n, sizeof text - n, "thread %u ", launch.current);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + n, sizeof text - n, format, arguments);
  va_end(arguments);
  if (!launch.request->fault) {
    fprintf(stderr, "%s: %s\n", rule, text);
    abort();
  }
  launch.request->fault(launch.request->context, rule, text);
  launch.failed = true;
  if (launch.in_thread) yield(); // never resumed
}

void msl_run(const msl_launch *l, const msl_kernel *k, msl_entry entry) {
  pthread_mutex_lock(&turn);
  launch = launch_state{};
  launch.request = l;
  launch.kernel = k;
  launch.entry = entry;
  if (!stacks) reserve_stacks();
  if (valid(l, k)) run_grid();
  pthread_mutex_unlock(&turn);
}

__attribute__((noinline)) void msl_threadgroup_barrier(int memory) { wait(at_threadgroup, call_path(), memory); }
__attribute__((noinline)) void msl_simdgroup_barrier(int memory) { wait(at_simdgroup, call_path(), memory); }

__attribute__((noinline)) void msl_whole_simdgroup() {
  wait(at_simdgroup, call_path(), msl_no_memory);
  if (msl_lanes() < msl_simd_width) fault("simd-divergence", "uses a matrix in a simdgroup of %u threads", msl_lanes());
}

void *msl_board() { return boards[meetings & 1]; }
__attribute__((noinline)) void msl_show() { wait(at_simdgroup, call_path(), msl_no_memory); }

uint msl_lane() { return launch.current - from; }
uint msl_lanes() { return to - from; }

bool stack_holds(const char *at, size_t size) {
  const char *stack = stack_of(launch.current);
  return at >= stack && at + size <= stack + stack_bytes;
}
