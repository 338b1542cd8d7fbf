// Shadow memory: for each byte that a kernel may store to, who loaded and stored it
// last. What the rules mean is said in msl.h. Read-only buffers need no shadow, only
// their bounds.
#include "check.h"
#include <stdio.h>
#include <string.h>
#include "memory.h"
#include "order.h"
#include "overlay.h"
#include "pages.h"
#include "touched.h"

order_state order;

namespace {
// Atomic operations of one kind on a byte. Threadgroups run one after the other: what
// happened since the launch but before the running one began, another one did.
struct uses {
  uint32_t last, last_elsewhere; // when
  bool elsewhere() const { return last_elsewhere >= order.launch || (last >= order.launch && last < order.group); }
  void note() {
    if (last < order.group) last_elsewhere = last;
    last = order.now;
  }
};

struct cell {
  uint32_t stored, loaded;   // when; older than the launch: not yet
  uint32_t loaded_elsewhere; // by another threadgroup
  uint16_t writer, reader;
  uses atomic_loads, atomic_stores;
  bool stored_elsewhere() const { return stored >= order.launch && stored < order.group; }
  bool read_elsewhere() const { return loaded_elsewhere >= order.launch || (loaded >= order.launch && loaded < order.group); }
};
constexpr uint16_t published = 0x8000; // in writer: a fence and an atomic store came after the store

struct range {
  const char *begin, *end;
  uint index; // of the buffer
  bool shadowed;
};

page_map<cell[4096]> shadow;
range ranges[MSL_MAX_BUFFERS];
uint range_count, last_range;

// The last event of a kind in the threadgroup.
struct event {
  uint32_t time; // 0: none
  uint16_t thread;
  bool before_now() const { return time && ordered(device_memory, time, thread); }
};
event atomic, acquired; // acquired: a device fence after an atomic operation

cell *cell_of(const char *at) {
  const uintptr_t a = reinterpret_cast<uintptr_t>(at);
  return &(*shadow.at(a))[a & 4095];
}

const char *name_of(memory_kind kind) { return kind == device_memory ? "device" : "threadgroup"; }

bool delaying() { return launch.request->flags & MSL_STORE_DELAY; }

void race(memory_kind kind, const char *at, const char *what, const char *before, uint16_t other) {
  char who[64];
  if (other == many) snprintf(who, sizeof who, "threads of several simdgroups");
  else if (other & several) snprintf(who, sizeof who, "threads of simdgroup %u", other & ~several);
  else snprintf(who, sizeof who, "thread %u", other);
  fault("threadgroup-race", "%s %s memory at %p that %s %s, with no barrier for that memory between them", what,
        name_of(kind), static_cast<const void *>(at), who, before);
}

// Checks against an earlier store to the byte.
void after_store(memory_kind kind, const char *at, const cell &c, bool store) {
  const uint16_t writer = c.writer & ~published;
  if (c.stored >= order.group) {
    if (!ordered(kind, c.stored, writer)) race(kind, at, store ? "stores to" : "loads", "stored", writer);
  } else if (kind == threadgroup_memory) {
    if (!store) fault("uninitialised", "loads threadgroup memory that nothing was stored to");
  } else if (c.stored_elsewhere() && !(c.writer & published && acquired.before_now())) {
    if (store) fault("store-conflict", "stores to device memory at %p that another threadgroup stored", static_cast<const void *>(at));
    else if (!delaying()) fault("device-race", "loads device memory at %p that another threadgroup stored", static_cast<const void *>(at));
  }
}

// Checks a store against earlier loads of the byte.
void after_load(memory_kind kind, const char *at, const cell &c) {
  if (c.loaded >= order.group && !ordered(kind, c.loaded, c.reader)) race(kind, at, "stores to", "loaded", c.reader);
  if (kind != device_memory || delaying() || acquired.before_now()) return;
  if (c.read_elsewhere()) fault("device-race", "stores to device memory at %p that another threadgroup loads", static_cast<const void *>(at));
}

// Checks an ordinary access against earlier atomic operations of other threadgroups.
void after_atomics(const char *at, const cell &c, bool store) {
  if (delaying() || acquired.before_now()) return;
  if (c.atomic_stores.elsewhere() || (store && c.atomic_loads.elsewhere())) {
    fault("device-race", "%s device memory at %p that another threadgroup uses with atomic operations", store ? "stores to" : "loads",
          static_cast<const void *>(at));
  }
}

// Checks an atomic operation against earlier ordinary accesses of other threadgroups.
void atomic_after(const char *at, const cell &c, bool store) {
  if (delaying() || acquired.before_now()) return;
  if (c.stored_elsewhere() || (store && c.read_elsewhere())) {
    fault("device-race", "an atomic operation on device memory at %p that another threadgroup %s without one", static_cast<const void *>(at),
          c.stored_elsewhere() ? "stored to" : "loads");
  }
}

void note_load(memory_kind kind, cell &c) {
  const uint16_t me = uint16_t(launch.current), mine = several | uint16_t(me / msl_simd_width);
  if (c.loaded < order.group) {
    c.loaded_elsewhere = c.loaded;
    c.reader = me;
  } else if (ordered(kind, c.loaded, c.reader)) {
    c.reader = me;
  } else {
    const uint16_t other = c.reader & several ? c.reader : uint16_t(several | c.reader / msl_simd_width);
    c.reader = other == mine ? mine : many;
  }
  c.loaded = order.now;
}

void note(memory_kind kind, const char *at, cell &c, bool store) {
  after_store(kind, at, c, store);
  if (kind == device_memory) after_atomics(at, c, store);
  if (store) {
    after_load(kind, at, c);
    c = cell{order.now, 0, 0, uint16_t(launch.current), 0, {}, {}};
  } else {
    note_load(kind, c);
  }
}

void note(memory_kind kind, const char *at, size_t size, bool store) {
  cell *c = cell_of(at);
  for (size_t i = 0; i < size; ++i, ++c) {
    if (i && !(reinterpret_cast<uintptr_t>(at + i) & 4095)) c = cell_of(at + i); // on the next page
    note(kind, at + i, *c, store);
  }
}

// The buffer that holds [at, at+size), or null.
const range *buffer_of(const char *at, size_t size) {
  for (uint i = 0, r = last_range; i < range_count; ++i, r = r + 1 == range_count ? 0 : r + 1) {
    if (at >= ranges[r].begin && size <= size_t(ranges[r].end - at) && at < ranges[r].end) {
      last_range = r;
      return &ranges[r];
    }
  }
  return nullptr;
}

// Names the buffer that ends closest before at.
void out_of_bounds(const char *at, size_t size, bool store) {
  const range *close = nullptr;
  for (uint i = 0; i < range_count; ++i) {
    if (ranges[i].begin <= at && (!close || ranges[i].end > close->end)) close = &ranges[i];
  }
  const char *verb = store ? "stores" : "loads";
  if (!close) fault("out-of-bounds", "%s %zu bytes at %p, which is in no buffer", verb, size, static_cast<const void *>(at));
  fault("out-of-bounds", "%s %zu bytes at offset %zu of buffer(%u), which has %zu", verb, size, size_t(at - close->begin),
        close->index, size_t(close->end - close->begin));
}

// Memory of a kernel is in one place only; what is found soonest is asked first.
void access(const char *at, size_t size, bool store) {
  if (!size || stack_holds(at, size)) return;
  if (threadgroup_holds(at, size)) {
    note(threadgroup_memory, at, size, store);
  } else if (const range *r = buffer_of(at, size)) {
    if (launch.request->touched) touch(at, size, store);
    if (!r->shadowed) return;
    note(device_memory, at, size, store);
    if (store) overlay_before_store(const_cast<char *>(at), size);
  } else if (!(at >= launch.kernel->begin && at + size <= launch.kernel->end && !store)) {
    out_of_bounds(at, size, store);
  }
}

// The hooks by size are for types that are aligned to it; packed ones take those
// without.
void aligned_access(const char *at, size_t size, bool store) {
  if (reinterpret_cast<uintptr_t>(at) % size) {
    fault("misaligned", "%s %zu bytes at %p, which is no multiple of that", store ? "stores" : "loads", size, static_cast<const void *>(at));
  }
  access(at, size, store);
}
}

// The hooks: calls that clang inserts before every load and store.
#pragma GCC visibility push(default)
#define HOOK(n) \
  extern "C" void msl_load##n##_noabort(const char *at) { aligned_access(at, n, false); } \
  extern "C" void msl_store##n##_noabort(const char *at) { aligned_access(at, n, true); }
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
#undef HOOK
extern "C" void msl_loadN_noabort(const char *at, size_t size) { access(at, size, false); }
extern "C" void msl_storeN_noabort(const char *at, size_t size) { access(at, size, true); }

// What clang makes of copying loops and structs.
extern "C" void *msl_memcpy(void *to, const void *from, size_t size) {
  access(static_cast<const char *>(from), size, false);
  access(static_cast<const char *>(to), size, true);
  return memmove(to, from, size);
}
extern "C" void *msl_memmove(void *to, const void *from, size_t size) { return msl_memcpy(to, from, size); }
extern "C" void *msl_memset(void *to, int value, size_t size) {
  access(static_cast<const char *>(to), size, true);
  return memset(to, value, size);
}
#pragma GCC visibility pop

void msl_atomic(const volatile void *pointer, size_t size, bool store) {
  const char *at = const_cast<const char *>(static_cast<const volatile char *>(pointer));
  if (!launch.kernel->checked || threadgroup_holds(at, size)) return;
  const range *r = buffer_of(at, size);
  if (!r) out_of_bounds(at, size, store);
  if (launch.request->touched) touch(at, size, store);
  for (size_t i = 0; r->shadowed && i < size; ++i) {
    cell &c = *cell_of(at + i);
    atomic_after(at + i, c, store);
    (store ? c.atomic_stores : c.atomic_loads).note();
  }
  atomic = event{order.now, uint16_t(launch.current)};
  if (!store) return;
  overlay_publish([](const char *stored, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) cell_of(stored + i)->writer |= published;
  });
}

void msl_device_fence() {
  if (atomic.before_now()) acquired = event{order.now, uint16_t(launch.current)};
  overlay_fence();
}

void check_begin_launch() {
  const msl_launch *l = launch.request;
  const msl_kernel *k = launch.kernel;
  range_count = last_range = 0;
  if (order.now > 1u << 31) {
    shadow.clear();
    order = order_state{};
  }
  order.launch = ++order.now;
  for (uint i = 0; i < MSL_MAX_BUFFERS; ++i) {
    const char *at = static_cast<const char *>(l->buffers[i]);
    if (k->buffers >> i & 1) ranges[range_count++] = range{at, at + l->sizes[i], i, (k->writable >> i & 1) != 0};
  }
  // What can be stored through one buffer is shadowed in all.
  for (uint i = 0; i < range_count; ++i) {
    for (uint j = 0; j < range_count; ++j) {
      if (k->writable >> ranges[j].index & 1 && ranges[i].begin < ranges[j].end && ranges[j].begin < ranges[i].end) ranges[i].shadowed = true;
    }
  }
  overlay_begin_launch();
}

void check_begin_threadgroup() {
  order.group = ++order.now;
  memset(order.met, 0, sizeof order.met);
  memset(order.met_simd, 0, sizeof order.met_simd);
  atomic = acquired = event{};
}

void check_end_threadgroup() { overlay_end_threadgroup(delaying()); }

void check_end_launch() {
  overlay_end_launch();
  if (launch.request->touched) touched_report();
}

void check_simdgroup_meeting(uint simdgroup, int memory) {
  if (!memory) return;
  if (memory & msl_threadgroup) order.met_simd[threadgroup_memory][simdgroup] = order.now;
  if (memory & msl_device) order.met_simd[device_memory][simdgroup] = order.now;
  ++order.now;
}

void check_threadgroup_meeting(int memory) {
  if (memory & msl_threadgroup) order.met[threadgroup_memory] = order.now;
  if (memory & msl_device) order.met[device_memory] = order.now;
  ++order.now;
}
