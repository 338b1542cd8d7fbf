// The state of the launch that runs, shared by scheduler and checks.
#pragma once
#include "thread.h"

constexpr uint max_threads = 1024;

struct launch_state {
  const msl_launch *request;
  const msl_kernel *kernel;
  msl_entry entry;
  uint3 group;      // threadgroup that runs
  uint group_index; // its number in the grid
  uint threads;     // per threadgroup
  uint current;     // thread that runs
  bool in_thread;   // false: the scheduler runs
  bool failed;      // a fault was reported; the launch ends
};
extern launch_state launch;

// Reports a fault and ends the launch; the text is printf's. Called by a thread, it
// does not return.
__attribute__((format(printf, 2, 3))) void fault(const char *rule, const char *format, ...);
