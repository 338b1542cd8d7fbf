// Streams and events. Work in a stream runs as late as the program allows: when the program waits
// for it, or at random times before. So a program that forgets to wait gets wrong results here.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "memory.h"
#include "object.h"

namespace cudasim {

struct Work {
  std::function<void()> run;
  std::vector<memory::Range> ranges;   // memory that the work uses
  std::vector<const Object *> objects; // objects that the work uses besides the stream
};

struct Stream : Named<Stream> {
  static constexpr const char *name_of_kind = "stream";
  std::deque<Work> work;
  uint64_t done = 0;  // number of pieces of work that have run

  void add(Work w);
  uint64_t added() const { return done + work.size(); }
  void runTo(uint64_t count);  // runs work until done is count
};

struct Event : Named<Event> {
  static constexpr const char *name_of_kind = "event";
  Stream *stream = nullptr;  // the stream of the last record, until that record has passed
  uint64_t position = 0;
  bool recorded = false;
  double time = 0;  // time in seconds of the last record that has passed
};

// Returns whether pending work in any stream uses a range.
bool busy(memory::Range r);

// Checks the rule that no pending work uses the range or the object.
void requireIdle(memory::Range r, const char *what);
void requireIdle(const Object *o, const char *what);

}  // namespace cudasim
