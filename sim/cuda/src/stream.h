// Streams and events. Work in a stream is made as late as the program allows: when
// it waits for it, or at random before; so a program that does not wait is wrong
// here every time.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "memory.h"
#include "object.h"

namespace cudasim {

struct Work {
  std::function<void()> run;
  std::vector<memory::Range> ranges;   // memory that it uses
  std::vector<const Object *> objects; // what it uses beside the stream
};

struct Stream : Named<Stream> {
  static constexpr const char *name_of_kind = "stream";
  std::deque<Work> work;
  uint64_t done = 0;  // pieces of work that were made

  void add(Work w);
  uint64_t added() const { return done + work.size(); }
  void runTo(uint64_t count);  // makes work until done is count
};

struct Event : Named<Event> {
  static constexpr const char *name_of_kind = "event";
  Stream *stream = nullptr;  // where it was recorded last, while that is not done
  uint64_t position = 0;
  bool recorded = false;
  double time = 0;  // seconds, of the last one passed
};

// Whether work in any stream uses a range.
bool busy(memory::Range r);

// Nothing in any stream may use this range, or object.
void requireIdle(memory::Range r, const char *what);
void requireIdle(const Object *o, const char *what);

}  // namespace cudasim
