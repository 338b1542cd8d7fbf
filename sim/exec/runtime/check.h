// Checks of every load and store, and the bookkeeping that they need. In unchecked
// builds the compiler does not call the hooks, and all of this finds nothing.
#pragma once
#include "thread.h"

void check_begin_launch();
void check_begin_threadgroup();
void check_end_threadgroup();
void check_end_launch(); // also reports what was touched

// All threads of a simdgroup or threadgroup have come to a barrier that orders memory.
void check_simdgroup_meeting(uint simdgroup, int memory);
void check_threadgroup_meeting(int memory);

// Whether [at, at+size) is on the running thread's stack.
bool stack_holds(const char *at, size_t size);
