#include "overlay.h"
#include <stdlib.h>
#include <string.h>
#include "order.h"

namespace {
constexpr size_t piece = 16;

struct record {
  char *at;
  uint32_t time, fenced; // fenced: when a fence came after it; 0: none did
  uint16_t thread, fencer;
  uint8_t size;
  char bytes[piece]; // before the store; of delayed stores, after it
};

struct list {
  record *records = nullptr;
  size_t count = 0, room = 0;
  record *add() {
    if (count == room) {
      room = room ? 2 * room : 1024;
      records = static_cast<record *>(realloc(records, room * sizeof *records));
      if (!records) abort();
    }
    return &records[count++];
  }
};

list running; // unpublished stores of the threadgroup that runs
list delayed; // of those that ran
}

void overlay_begin_launch() { running.count = delayed.count = 0; }

void overlay_before_store(char *at, size_t size) {
  for (size_t i = 0; i < size; i += piece) {
    record *r = running.add();
    *r = record{at + i, order.now, 0, uint16_t(launch.current), 0, uint8_t(size - i < piece ? size - i : piece), {}};
    memcpy(r->bytes, r->at, r->size);
  }
}

void overlay_fence() {
  for (size_t i = 0; i < running.count; ++i) {
    record &r = running.records[i];
    if (r.fenced || !ordered(device_memory, r.time, r.thread)) continue;
    r.fenced = order.now;
    r.fencer = uint16_t(launch.current);
  }
}

void overlay_publish(void (*f)(const char *, size_t)) {
  size_t kept = 0;
  for (size_t i = 0; i < running.count; ++i) {
    const record &r = running.records[i];
    if (r.fenced && ordered(device_memory, r.fenced, r.fencer)) f(r.at, r.size);
    else running.records[kept++] = r;
  }
  running.count = kept;
}

void overlay_end_threadgroup(bool delay) {
  const size_t first = delayed.count;
  for (size_t i = 0; delay && i < running.count; ++i) {
    record *r = delayed.add();
    *r = running.records[i];
    memcpy(r->bytes, r->at, r->size);
  }
  for (size_t i = delayed.count; i-- > first;) {
    const record &r = running.records[i - first];
    memcpy(r.at, r.bytes, r.size);
  }
  running.count = 0;
}

void overlay_end_launch() {
  for (size_t i = 0; i < delayed.count; ++i) memcpy(delayed.records[i].at, delayed.records[i].bytes, delayed.records[i].size);
}
